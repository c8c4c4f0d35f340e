create or replace function pgmem.cypher_columns(p_query text) returns text[]
language plpgsql immutable
set search_path = pgmem, pg_temp
as $$
declare
  -- Strings, comments and back-quoted names are blanked out first, so that a word inside them is no clause.
  v_plain  text := regexp_replace(p_query, e'\'(?:[^\'\\\\]|\\\\.)*\'|"(?:[^"\\\\]|\\\\.)*"|//[^\n]*|/\\*.*?\\*/', '''''', 'g');
  v_return text := (regexp_match(v_plain, '(?:^|.*\W)return\s+(?:distinct\s+)?(.*)$', 'i'))[1];
  v_items  text[] := '{}';
  v_item   text := '';
  v_depth  integer := 0;
  v_char   text;
begin
  if v_return is null then
    raise exception using errcode = 'PM001', message = 'A Cypher query here must end in RETURN …; it is read only.';
  end if;
  v_return := regexp_replace(v_return, '\s+(order\s+by|skip|limit)\s.*$', '', 'i');
  foreach v_char in array regexp_split_to_array(v_return, '') loop
    v_depth := v_depth + case when v_char in ('(', '[', '{') then 1 when v_char in (')', ']', '}') then -1 else 0 end;
    if v_char = ',' and v_depth = 0 then
      v_items := v_items || v_item;
      v_item := '';
    else
      v_item := v_item || v_char;
    end if;
  end loop;
  return array(select coalesce((regexp_match(item, '\sas\s+`?(\w+)`?\s*;?\s*$', 'i'))[1],
                               nullif(btrim(regexp_replace(item, '\W+', '_', 'g'), '_'), ''), 'column_' || place)
               from unnest(v_items || v_item) with ordinality as i(item, place) order by place);
end;
$$;
comment on function pgmem.cypher_columns(text) is 'The names of the columns a Cypher query returns.';
