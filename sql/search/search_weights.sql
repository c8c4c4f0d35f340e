create or replace function pgmem.search_weights(p_weights jsonb) returns jsonb
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
declare
  v_kept jsonb := (select jsonb_object_agg(s.name, s.value) from pgmem.setting s
                   where s.name like 'hybrid%' or s.name like 'decay%' or s.name = 'rrf_k');
begin
  if p_weights is null then
    return v_kept;
  end if;
  -- In cases: none is evaluated on what the one before refuses.
  if (case when jsonb_typeof(p_weights) <> 'object' then true else exists (
      select from jsonb_each(p_weights) as w(name, value)
      where case when w.name not like 'hybrid%' and w.name <> 'rrf_k' or not v_kept ? w.name then true
                 when w.name = 'hybrid_fusion' then jsonb_typeof(w.value) <> 'string'
                 when jsonb_typeof(w.value) <> 'number' then true
                 when w.name = 'hybrid_alpha' then w.value::numeric not between 0 and 1
                 when w.name = 'hybrid_arm_limit' then w.value::numeric not between 1 and 1000 or w.value::numeric % 1 <> 0
                 else w.value::numeric not between 0 and 1000000 end) end) then
    raise exception using errcode = 'PM001', message = format(
      'weights is an object of numbers from 0: hybrid_alpha up to 1, hybrid_arm_limit whole from 1 to 1000, hybrid_fusion linear or rrf; known: %s.',
      (select string_agg(name, ', ' order by name) from jsonb_object_keys(v_kept) as k(name) where name not like 'decay%'));
  end if;
  return v_kept || p_weights;
end;
$$;
comment on function pgmem.search_weights(jsonb) is 'The weights of the ranking: the settings of the store, some of them replaced for one search.';
