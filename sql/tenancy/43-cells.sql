-- Cells
--
-- A cell is one of several stores behind a front (pgmem cells). It has a number, and the numbers of its rows are that
-- number modulo 256, so that the rows of an organisation keep theirs in whatever cell they are. What a front asks is in
-- pgmem.verb.reach; what a mover reads and writes is here: tables by tenant (subject_tables in 42-tenants), gates, and
-- what follows from rows that have arrived.
--
-- A gate (pgmem.away) is read by caller() and require_writer(). A statement that began before a gate was committed does
-- not see it, so a mover waits until the last of them has ended (is_drained).
--
-- Locks: number_cell: the tables it numbers, against readers too, in the transaction of an install.


create or replace function pgmem.numbered_columns() returns table (table_name regclass, sequence regclass)
language sql stable set search_path = pgmem, pg_temp as $$
  select a.attrelid::regclass, pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'pgmem'::regnamespace and a.attname = 'seq' and a.attidentity <> '' and not a.attisdropped
  order by 1;
$$;
comment on function pgmem.numbered_columns is 'The tables whose column seq numbers their rows, with its sequence.';


-- Rows of a store from before it had a number lie below 2^40, so that no later row of another cell meets one of them.
create or replace function pgmem.number_cell(p_cell integer) returns integer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_cell  integer := (select v.cell from pgmem.schema_version v);
  v_table record;
  v_start bigint;
begin
  perform pgmem.integer_between('cell', p_cell, 0, 255);
  if v_cell <> p_cell then
    raise exception using errcode = 'PM001',
      message = format('This store is cell %s: its rows carry that number, so it cannot become cell %s.', v_cell, p_cell);
  end if;
  for v_table in
    select n.table_name, n.sequence from pgmem.numbered_columns() n
    join pg_sequence s on s.seqrelid = n.sequence where s.seqincrement <> 256
  loop
    execute format('select (greatest(coalesce(max(t.seq), 0), 2^40::bigint) / 256 + 1) * 256 + $1 from %s t',
                   v_table.table_name) using p_cell into v_start;
    execute format('alter table %s alter column seq set increment by 256 set start %s restart %2$s',
                   v_table.table_name, v_start);
  end loop;
  update pgmem.schema_version v set cell = p_cell where v.cell is null;
  return p_cell;
end;
$$;
comment on function pgmem.number_cell is $$
Give the store its number among the cells behind a front, 0 to 255: new rows are numbered by it, modulo 256.

Rows that exist keep their numbers. Called again, it numbers the tables that are new.
$$;


create or replace function pgmem.set_away(p_org_id text, p_state text, p_version bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if exists (select from pgmem.away a where a.org_id = p_org_id and a.version > p_version) then
    raise exception using errcode = 'PM001',
      message = format('A later move of %s is on record in this cell.', quote_literal(left(p_org_id, 80)));
  end if;
  if p_state is null then
    delete from pgmem.away a where a.org_id = p_org_id;
  else
    insert into pgmem.away (org_id, state, version) values (p_org_id, p_state, p_version)
    on conflict (org_id) do update set state = excluded.state, version = excluded.version;
  end if;
  return pg_current_xact_id()::text::bigint;
end;
$$;
comment on function pgmem.set_away is $$
Set the gate of an organisation in this cell, or remove it (a null state); the transaction, for is_drained.

An error where the gate is of a later move.
$$;


-- A snapshot from before the gate does not see it; a transaction that has an id from before it may go on to write.
create or replace function pgmem.is_drained(p_transaction bigint) returns boolean
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_age integer := age((p_transaction & x'ffffffff'::bigint)::text::xid);
begin
  -- To any other login the transactions of others look as if there were none.
  if not pg_has_role('pg_read_all_stats', 'usage') then
    raise exception using errcode = 'PM004',
      message = format('%s may not see the transactions of other logins: grant pg_read_all_stats to it.', current_user);
  end if;
  return not exists (
      select from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid()
        and (age(a.backend_xmin) >= v_age or age(a.backend_xid) >= v_age))
    and not exists (select from pg_prepared_xacts x
                    where x.database = current_database() and age(x.transaction) >= v_age);
end;
$$;
comment on function pgmem.is_drained is $$
Whether every statement that may not have seen a gate has ended: none is older than the gate's transaction.

NotPermitted: the login may not see the transactions of others.
$$;
