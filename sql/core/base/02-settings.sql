-- Clock and settings
--
-- Every rule about time reads pgmem.now(), and every recorded time is taken from pgmem.clock(). Both obey the setting
-- pgmem.now only in a store whose owner put test_clock = true in pgmem.setting: any client can set a setting, and a
-- moved clock would keep a token alive or falsify history.
--
-- The thresholds and limits of a store are rows of pgmem.setting. Its constraints refuse values that do not fit. Only
-- the owner writes them: an agent never sets its own thresholds.
--
-- Locks: the row of the setting.


-- Apart from now(), so that now() has no subquery and is inlined where it is used.
create or replace function pgmem.test_clock() returns timestamptz
language sql stable parallel safe
begin atomic
  select current_setting('pgmem.now')::timestamptz from pgmem.setting where name = 'test_clock' and value = 'true';
end;
comment on function pgmem.test_clock is
  'The time a test has set; null in every store whose owner has not put test_clock = true.';


create or replace function pgmem.now() returns timestamptz
language sql stable parallel safe
begin atomic
  select case when coalesce(current_setting('pgmem.now', true), '') = '' then transaction_timestamp()
              else coalesce(pgmem.test_clock(), transaction_timestamp()) end;
end;
comment on function pgmem.now is
  'The time of this transaction; in a store with test_clock = true, the setting pgmem.now.';


-- Transaction time runs backwards behind a lock, so a state is stamped with the real time of its writing, under the
-- row's lock.
create or replace function pgmem.clock() returns timestamptz
language sql volatile
begin atomic
  select case when coalesce(current_setting('pgmem.now', true), '') = '' then clock_timestamp()
              else coalesce(pgmem.test_clock(), clock_timestamp()) end;
end;
comment on function pgmem.clock is
  'The time of this moment, for recorded times; tests move it as they move pgmem.now().';


-- In plpgsql, which keeps the plan: a function of SQL with a query in it is planned in each transaction.
create or replace function pgmem.setting_text(p_name text) returns text
language plpgsql stable parallel safe as $$
begin
  return (select value from pgmem.setting where name = p_name);
end;
$$;
comment on function pgmem.setting_text is 'The value of a row of pgmem.setting; null when there is none.';


create or replace function pgmem.setting_int(p_name text) returns integer
language plpgsql stable parallel safe as $$
begin
  return (select value::integer from pgmem.setting where name = p_name);
end;
$$;
comment on function pgmem.setting_int is 'A row of pgmem.setting as a whole number.';


create or replace function pgmem.setting_float(p_name text) returns float8
language plpgsql stable parallel safe as $$
begin
  return (select value::float8 from pgmem.setting where name = p_name);
end;
$$;
comment on function pgmem.setting_float is 'A row of pgmem.setting as a number.';


select pgmem.declare_answer('setting_answer', $$
A threshold or limit of the store.

class Setting
name text, value text, description text
$$);

-- The comment of a constraint is what set_setting says of the values that it takes. Token prefixes kept for near-duplicate
-- search are exact for a Jaccard of 0.5 and above.
comment on constraint dedup_thresholds_in_range on pgmem.setting is 'a number from 0.5 to 1';
comment on constraint limits_leave_room on pgmem.setting is 'a whole number from 100';
comment on constraint counts_are_whole_numbers on pgmem.setting is 'a whole number from 0 to 999999999';
comment on constraint shares_are_numbers on pgmem.setting is 'a number from 0 to 1';
comment on constraint confidence_is_a_share on pgmem.setting is 'a number from 0 to 1';
comment on constraint decay_rate_is_a_number on pgmem.setting is 'a number from 0 to 100';
comment on constraint decay_never_grows on pgmem.setting is 'a number from 0';
comment on constraint text_config_exists on pgmem.setting is 'the name of a text search configuration of the server, such as simple';
comment on constraint flags_are_boolean on pgmem.setting is 'true or false';
comment on constraint approval_known on pgmem.setting is 'self, client or person';
comment on constraint recall_in_range on pgmem.setting is 'a whole number from 0 to 3650';
comment on constraint open_reviews_in_range on pgmem.setting is 'a whole number from 1 to 100000';
comment on constraint weights_in_range on pgmem.setting is
  'for a threshold or an alpha a number from 0 to 1, for another weight a number from 0 to 1000000, for hybrid_fusion linear or rrf, '
  'for agent_token_limit a whole number from 100 to 1000000';


create or replace function pgmem.set_setting(
  p_name text,
  p_value text
) returns pgmem.setting_answer
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.setting_answer;
  v_rule   name;
begin
  -- A cast to boolean would be tried at planning, for every row.
  update pgmem.setting s
  set value = case when s.value not in ('true', 'false') then p_value
                   when lower(p_value) in ('true', 't', 'yes', 'y', 'on', '1') then 'true'
                   when lower(p_value) in ('false', 'f', 'no', 'n', 'off', '0') then 'false'
                   else p_value end
  where s.name = p_name
  returning s.name, s.value, s.description into v_answer;
  if v_answer.name is null then
    raise exception using errcode = 'PM001', message = format('Unknown setting %s. %s', quote_literal(left(p_name, 80)),
      pgmem.did_you_mean(left(p_name, 80), array(select s.name from pgmem.setting s), (
        select 'Known: ' || string_agg(s.name, ', ' order by s.name) || '.' from pgmem.setting s where s.name <> 'test_clock')));
  end if;
  return v_answer;
exception when check_violation or invalid_text_representation or numeric_value_out_of_range or undefined_object
  or syntax_error or invalid_name then
  get stacked diagnostics v_rule = constraint_name;
  raise exception using errcode = 'PM001', message = (
    select format('%s cannot be %s; it means: %s Send %s.', p_name, quote_literal(left(p_value, 80)), s.description,
      coalesce(obj_description(c.oid, 'pg_constraint'), 'a value like ' || quote_literal(s.value)))
    from pgmem.setting s
    left join pg_constraint c on c.conrelid = 'pgmem.setting'::regclass and c.conname = v_rule
    where s.name = p_name);
end;
$$;
comment on function pgmem.set_setting is $$
Change a threshold or limit for every caller; the owner's right alone.

name: The name of the setting, as list_settings shows it.
value: The new value, as a text.

InvalidArgument: No such setting exists, or the value does not fit; the message has the meaning of the setting.
$$;
select pgmem.declare_verb('set_setting', p_rights => 'owner', p_effect => 'repeat', p_answer => 'Setting',
  p_reach => 'every');


create or replace function pgmem.list_settings() returns setof pgmem.setting_answer
language sql stable security definer set search_path = pgmem, pg_temp as $$
  select s.name, s.value, s.description from pgmem.setting s order by s.name;
$$;
comment on function pgmem.list_settings is $$
List the thresholds and limits of this store: name, value, description.
$$;
select pgmem.declare_verb('list_settings', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Setting]');
