-- The tables are read from the catalog: a table with tenant columns, or one that hangs on node, is covered on the day it is made.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.erase_subject(p_org_id text, p_user_id text default '', p_dry_run boolean default true,
  p_by text default null, out receipt_id uuid, out subject_hash text, out dry_run boolean, out total bigint, out counts jsonb,
  out erased_at timestamptz)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_org    text := coalesce(pgmem.clean_key(p_org_id, 'org_id'), '');
  v_user   text := coalesce(pgmem.clean_key(p_user_id, 'user_id'), '');
  v_table  record;
  v_count  bigint;
begin
  perform pgmem.require_reviewer('erase_subject');
  if v_org = '' and v_user = '' then
    raise exception using errcode = 'PM001', message = 'Name the subject: org_id, user_id or both.';
  end if;
  dry_run := p_dry_run;
  subject_hash := encode(sha256(convert_to(v_org || e'\x1f' || v_user, 'UTF8')), 'hex');
  erased_at := pgmem.now();
  counts := '{}';
  total := 0;
  -- Count first: what hangs on a node goes with it.
  for v_table in select * from pgmem.subject_tables() loop
    execute format('select count(*) from pgmem.%I t where %s', v_table.name, v_table.condition) using v_org, v_user into v_count;
    counts := counts || jsonb_build_object(v_table.name, v_count);
    total := total + v_count;
  end loop;
  if p_dry_run then
    return;
  end if;
  if coalesce(pgmem.clean_key(p_by, 'by'), '') = '' then
    raise exception using errcode = 'PM001', message = 'by must not be empty; send who erases.';
  end if;
  for v_table in select * from pgmem.subject_tables() where own order by name = 'node' desc loop
    execute format('delete from pgmem.%I t where %s', v_table.name, v_table.condition) using v_org, v_user;
  end loop;
  insert into pgmem.erasure (subject_hash, erased_by, counts, erased_at)
  values (subject_hash, pgmem.clean_key(p_by, 'by'), counts, erased_at) returning id into receipt_id;
end;
$$;
comment on function pgmem.erase_subject is
  'Remove a user, or an organisation with all its users, from every table and the graph; a dry run counts, an erasure leaves a receipt.';
