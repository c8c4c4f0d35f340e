"""Times that every program can read, as domains: finite, from year 1 to 9999."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261126_times", "20261126_orders"


def upgrade() -> None:
    run(op.get_bind(), DOMAINS + COLUMNS + REPAIR)


# Without their rule at first: a column gets a domain without one as it is, and is written anew for one with a rule.
DOMAINS = """
create domain pgmem.moment as timestamptz;
comment on domain pgmem.moment is
  'A point in time that programs can read in every time zone: from 0001-01-02 to 9999-12-30 in UTC.';
create domain pgmem.moment_or_end as timestamptz;
comment on domain pgmem.moment_or_end is
  'A moment; infinity: not yet, as of a state that none has replaced; -infinity: never, as of one that is restated.';
"""

COLUMNS = """
alter table pgmem.node
  alter valid_from type pgmem.moment, alter valid_to type pgmem.moment, alter begins_at type pgmem.moment,
  alter turns_at type pgmem.moment, alter created_at type pgmem.moment, alter updated_at type pgmem.moment,
  alter recorded_at type pgmem.moment;
alter table pgmem.node_version
  alter valid_from type pgmem.moment, alter valid_to type pgmem.moment, alter begins_at type pgmem.moment,
  alter created_at type pgmem.moment, alter ingested_at type pgmem.moment,
  alter ends_at type pgmem.moment_or_end, alter replaced_at type pgmem.moment_or_end;
alter table pgmem.edge alter created_at type pgmem.moment;
alter table pgmem.change alter at type pgmem.moment;
alter table pgmem.tombstone alter purged_at type pgmem.moment;
alter table pgmem.save_attempt alter created_at type pgmem.moment, alter updated_at type pgmem.moment;
alter table pgmem.governance_token
  alter issued_at type pgmem.moment, alter expires_at type pgmem.moment, alter used_at type pgmem.moment;
alter table pgmem.api_token
  alter created_at type pgmem.moment, alter expires_at type pgmem.moment, alter revoked_at type pgmem.moment;
alter table pgmem.card_evidence alter created_at type pgmem.moment;
alter table pgmem.card_revision alter created_at type pgmem.moment;
alter table pgmem.card_run alter created_at type pgmem.moment;
alter table pgmem.card_intent alter declared_at type pgmem.moment, alter finished_at type pgmem.moment;
alter table pgmem.card_commit alter at type pgmem.moment;
alter table pgmem.recall_event alter at type pgmem.moment;
"""

# The rule reads each column once. Only where a row breaks it are the rows looked for.
REPAIR = """
create function pgmem.readable(p_time timestamptz, p_may_end boolean) returns timestamptz language sql immutable
begin atomic
  select case when p_may_end and p_time in ('infinity', '-infinity') then p_time
    else least(greatest(p_time, '0001-01-02 00:00:00+00'), '9999-12-30 23:59:59.999999+00') end;
end;
do $repair$
declare
  v_rule  constant text := $$value between '0001-01-02 00:00:00+00' and '9999-12-30 23:59:59.999999+00'$$;
  v_table record;
  v_row   record;
begin
  alter table pgmem.node disable trigger user;
  alter table pgmem.edge disable trigger user;
  alter table pgmem.save_attempt disable trigger user;
  for v_round in 1 .. 2 loop
    begin
      execute format('alter domain pgmem.moment add constraint time_in_range check (%s)', v_rule);
      execute format('alter domain pgmem.moment_or_end add constraint time_in_range check '
        '(%s or value in (''infinity'', ''-infinity''))', v_rule);
      exit;
    exception when check_violation then
      if v_round = 2 then
        raise;
      end if;
    end;
    for v_table in
      select a.attrelid::regclass as name, array_agg(a.attname) as columns,
        string_agg(format('%1$I = %2$s', a.attname, case when a.attname = 'replaced_at'
          then format('greatest(%s, pgmem.readable(o.ingested_at, false) + interval ''1 microsecond'')', f.value)
          else f.value end), ', ') as changed,
        string_agg(format('o.%I <> %s', a.attname, f.value), ' or ') as broken
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      cross join lateral format('pgmem.readable(o.%I, %L)', a.attname, a.atttypid = 'pgmem.moment_or_end'::regtype) f(value)
      where a.atttypid in ('pgmem.moment'::regtype, 'pgmem.moment_or_end'::regtype) and c.relkind = 'r' and not a.attisdropped
      group by 1
    loop
      for v_row in execute format(
          'with fixed as (update %1$s t set %2$s from %1$s o where o.ctid = t.ctid and (%3$s) '
          'returning to_jsonb(o) as was, to_jsonb(t) as now) '
          'select coalesce(f.was ->> ''id'', f.was ->> ''save_id'', f.was ->> ''node_seq'', f.was ->> ''seq'') as id, c.name, '
          'f.was ->> c.name as was, f.now ->> c.name as now from fixed f cross join unnest(%4$L::text[]) c(name) '
          'where f.was ->> c.name <> f.now ->> c.name', v_table.name, v_table.changed, v_table.broken, v_table.columns) loop
        raise warning '%: % of % was % and is % now, as programs read times from year 1 to 9999.',
          v_table.name, v_row.name, v_row.id, v_row.was, v_row.now;
      end loop;
    end loop;
  end loop;
  alter table pgmem.node enable trigger user;
  alter table pgmem.edge enable trigger user;
  alter table pgmem.save_attempt enable trigger user;
end;
$repair$;
drop function pgmem.readable;
"""
