-- Reads node itself: scope_key holds the tenant.
create or replace function pgmem.card_counts(p_keys bigint[]) returns jsonb
language sql stable
set search_path = pgmem, pg_temp
as $$
  with counted as (
    select n.props ->> 'record_type' as type, n.status, count(*) as count from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (p_keys) group by 1, 2
  )
  select jsonb_build_object(
    'records', (select coalesce(sum(count), 0) from counted),
    'records_by_type', (select coalesce(jsonb_object_agg(type, count), '{}') from (select type, sum(count) as count from counted group by 1) t),
    'records_by_status', (select coalesce(jsonb_object_agg(status, count), '{}') from (select status, sum(count) as count from counted group by 1) s),
    'capacity', jsonb_build_object('max_candidates', pgmem.setting_int('max_candidates'), 'max_records', pgmem.setting_int('max_records')));
$$;
comment on function pgmem.card_counts(bigint[]) is 'The cards of a project in numbers: by type, by status, and how many fit.';
