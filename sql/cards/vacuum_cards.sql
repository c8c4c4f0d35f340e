-- One bounded batch; the caller goes on while some are left. security definer: clients hold no rights on tables.
create or replace function pgmem.vacuum_cards(p_project_id text, p_dry_run boolean default false, p_limit integer default 500,
  out removed jsonb, out remaining integer, out receipts integer)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller pgmem.caller := pgmem.require_writer();
  v_scope  pgmem.scope_state;
  v_key    bigint;
  v_days   integer := pgmem.setting_int('card_days_receipt');
  v_due    bigint[];
begin
  perform pgmem.require_reviewer('vacuum_cards');
  if coalesce(p_limit, 0) not between 1 and 10000 then
    raise exception using errcode = 'PM001', message = 'limit is a whole number from 1 to 10000.';
  end if;
  v_scope := pgmem.card_scope(v_caller, p_project_id);
  foreach v_key in array array(select k from unnest(pgmem.card_keys(v_caller, v_scope.project_seq)) k order by k) loop
    perform pgmem.lock_scope(v_key);
  end loop;
  select coalesce(array_agg(n.seq order by n.updated_at), '{}') into v_due
  from pgmem.setting s
  join pgmem.visible_node n on n.label = 'Card' and n.scope_key = any (pgmem.card_keys(v_caller, v_scope.project_seq))
    and n.status = substr(s.name, length('card_days_') + 1)
  where s.name like 'card\_days\_%' and s.name <> 'card_days_receipt' and s.value::integer >= 0
    and n.updated_at < pgmem.now() - make_interval(days => s.value::integer);
  remaining := greatest(0, cardinality(v_due) - case when p_dry_run then 0 else p_limit end);
  select coalesce(jsonb_object_agg(status, count), '{}') into removed from (
    select n.status, count(*) from pgmem.visible_node n
    where n.seq = any (case when p_dry_run then v_due else v_due[1 : p_limit] end) group by n.status) c;
  if not p_dry_run then
    perform pgmem.delete_node(seq) from unnest(v_due[1 : p_limit]) as seq;
  end if;
  receipts := 0;
  if v_days >= 0 then
    if p_dry_run then
      receipts := (select count(*) from pgmem.card_intent i where i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants)
        and i.finished_at < pgmem.now() - make_interval(days => v_days));
    else
      delete from pgmem.card_intent i where i.project_seq = v_scope.project_seq and i.tenant = any (v_caller.tenants)
        and i.finished_at < pgmem.now() - make_interval(days => v_days);
      get diagnostics receipts = row_count;
      delete from pgmem.card_run r where r.project_seq = v_scope.project_seq and r.tenant = any (v_caller.tenants)
        and r.created_at < pgmem.now() - make_interval(days => v_days)
        and exists (select from pgmem.card_run newer where newer.tenant = r.tenant and newer.project_seq = r.project_seq and newer.created_at > r.created_at);
    end if;
  end if;
end;
$$;
comment on function pgmem.vacuum_cards(text, boolean, integer) is
  'Remove cards whose days in their state are over (card_days_*), at most limit of them, and old receipts.';
