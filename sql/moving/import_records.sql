-- One batch of lines in one transaction: whoever is killed between two batches runs again, and what is here is left as it is.
-- Locks: the scopes of the batch's nodes sorted, in a statement before the reads that they guard; projects first, then focus areas,
-- as every save does. A person's verb: it writes times, history and trust as the file tells them.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.import_records(p_records jsonb, p_first_line bigint default 1, p_vectors boolean default true,
  p_all_tenants boolean default false, out taken bigint, out present bigint, out merged bigint)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_keeper('import_records');
  v_kind    text;
  v_line    record;
  v_done    text;
  v_owner   pgmem.caller;
  v_node    pgmem.node;
  v_nodes   pgmem.node[];
  v_key     bigint;
  v_place   integer := 0;
begin
  if not p_all_tenants then
    perform pgmem.require_writer();
  end if;
  if jsonb_typeof(p_records) is distinct from 'array' then
    raise exception using errcode = 'PM001', message = 'records must be a list; send the lines of an export.';
  end if;
  taken := 0;
  present := 0;
  merged := 0;
  foreach v_kind in array '{vocabulary,Project,FocusArea,node,edge,rest}'::text[] loop
    if v_kind in ('Project', 'FocusArea', 'node') then
      -- Where each belongs, then all locks in one order, then the writing.
      v_nodes := '{}';
      for v_line in select * from pgmem.import_lines(p_records, v_kind) loop
        v_place := v_line.place;
        v_nodes[v_line.number] := pgmem.import_place(v_line.record, pgmem.import_owner(v_line.record, v_caller, p_all_tenants));
      end loop;
      for v_key in select distinct n.scope_key from unnest(v_nodes) n order by 1 loop
        perform pgmem.lock_scope(v_key);
      end loop;
    end if;
    for v_line in select * from pgmem.import_lines(p_records, v_kind) loop
      v_place := v_line.place;
      v_owner := pgmem.import_owner(v_line.record, v_caller, p_all_tenants);
      case v_line.record ->> 'type'
      when 'node' then
        v_done := pgmem.import_node(v_nodes[v_line.number], v_line.record, v_owner, p_vectors);
      when 'edge' then
        v_done := pgmem.import_edge(v_line.record, v_caller, p_all_tenants);
      when 'run', 'files', 'intent' then
        v_done := pgmem.import_work(v_line.record, v_owner);
      when 'save' then
        v_done := pgmem.import_save(v_line.record, v_owner);
      when 'label', 'relation', 'model' then
        v_done := pgmem.import_word(v_line.record);
      else
        raise exception using errcode = 'PM001', message = format('its type %s is not known to this release; upgrade pgmem',
          coalesce(quote_literal(left(v_line.record ->> 'type', 80)), 'is missing and so'));
      end case;
      taken := taken + (v_done = 'taken')::integer;
      present := present + (v_done = 'present')::integer;
      merged := merged + (v_done = 'merged')::integer;
    end loop;
  end loop;
exception when integrity_constraint_violation or data_exception or sqlstate 'PM001' or sqlstate 'PM002' then
  if v_place = 0 then
    raise;
  end if;
  raise exception using errcode = 'PM001', message = format('Line %s cannot be taken: %s. Nothing from line %s on is here: mend it and run the import again.',
    p_first_line + v_place - 1, rtrim(sqlerrm, '.'), p_first_line);
end;
$$;
comment on function pgmem.import_records is
  'Take a batch of the lines of an export: what is here already (present) or whose name or content is (merged) stays as it is.';
