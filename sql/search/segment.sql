create or replace function pgmem.segment(p_text text) returns text
language plpgsql immutable strict parallel safe
set search_path = pgmem, pg_temp
as $$
declare
  v_run  text;
  v_text text := p_text;
begin
  -- Chinese, Japanese and Korean are written without blanks: a run of them is searched by its pairs of neighbours.
  if p_text !~ '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]' then
    return p_text;
  end if;
  for v_run in select distinct m[1] from regexp_matches(p_text, '([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,})', 'g') m
               order by 1 desc loop
    v_text := replace(v_text, v_run, ' ' || (select string_agg(substr(v_run, i, 2), ' ' order by i)
      from generate_series(1, length(v_run) - 1) i) || ' ');
  end loop;
  return v_text;
end;
$$;
comment on function pgmem.segment(text) is 'A text as the parser can take it: runs of CJK characters become overlapping pairs.';
