create or replace function pgmem.subject_tables() returns table (name text, own boolean, condition text)
language sql stable
set search_path = pgmem, pg_temp
as $$
  -- $1 is the organisation, $2 the user; no user means all of the organisation.
  with base as (
    select c.oid, c.relname::text as name,
           exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped) as has_tenant,
           (select count(*) = 2 from pg_attribute a where a.attrelid = c.oid and a.attname in ('org_id', 'user_id') and not a.attisdropped) as has_ids
    from pg_class c where c.relnamespace = 'pgmem'::regnamespace and c.relkind in ('r', 'p')
  )
  select b.name, true, case when b.has_ids then 't.org_id = $1 and ($2 = '''' or t.user_id = $2)'
    else 'split_part(t.tenant, e''\x1f'', 1) = $1 and ($2 = '''' or split_part(t.tenant, e''\x1f'', 2) = $2)' end
  from base b where b.has_ids or b.has_tenant
  union all
  select b.name, false, string_agg(format('t.%I in (select n.seq from pgmem.node n where n.org_id = $1 and ($2 = '''' or n.user_id = $2))', a.attname), ' or ' order by a.attname)
  from base b
  join pg_constraint f on f.conrelid = b.oid and f.contype = 'f' and f.confrelid = 'pgmem.node'::regclass and f.confdeltype = 'c'
  join pg_attribute a on a.attrelid = b.oid and a.attnum = f.conkey[1]
  where not b.has_ids and not b.has_tenant
  group by b.name
  union all
  -- Goes by a trigger on node, not by a foreign key.
  select 'dedup_token', false, 't.node_seq in (select n.seq from pgmem.node n where n.org_id = $1 and ($2 = '''' or n.user_id = $2))'
  order by 1;
$$;
comment on function pgmem.subject_tables() is
  'The tables that hold rows of a tenant, and which rows: by their own tenant columns (own), or because they hang on a node and go with it.';
