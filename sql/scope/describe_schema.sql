-- security definer: the registry is for everyone to read.
create or replace function pgmem.describe_schema(out labels jsonb, out relations jsonb)
language sql stable security definer
set search_path = pgmem, pg_temp
as $$
  select (select jsonb_agg(jsonb_build_object('name', name, 'key_field', key_field, 'text_fields', text_fields, 'dedup', dedup,
            'written_by', coalesce(verb, 'remember')) order by name) from pgmem.label),
         (select jsonb_agg(jsonb_build_object('name', name, 'from', from_labels, 'to', to_labels,
            'made_by', case when by_verb then 'verbs' else 'relate' end) order by name) from pgmem.relation);
$$;
comment on function pgmem.describe_schema() is 'The labels and relations a memory can have.';
