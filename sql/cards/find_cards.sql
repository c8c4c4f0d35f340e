-- Reads node itself: scope_key holds the tenant.
create or replace function pgmem.find_cards(p_mode text, p_tenants text[], p_scope pgmem.scope_state, p_path text, p_symbol text, p_query text,
  p_match_mode text, p_statuses text[]) returns table (node_seq bigint, score float8)
language plpgsql stable
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_keys  bigint[] := (select array_agg(pgmem.scope_key(t, p_scope.project_seq::text, 'Card')) from unnest(p_tenants) t);
  v_query tsquery;
begin
  if p_mode = 'for_path' then
    return query select m.node_seq, m.score from pgmem.card_match(p_tenants, p_scope.project_seq, array[p_path], '{}', p_statuses) m;
  elsif p_mode = 'for_symbol' then
    return query select m.node_seq, m.score from pgmem.card_match(p_tenants, p_scope.project_seq, '{}', array[p_symbol], p_statuses) m;
  elsif p_mode = 'search' then
    v_query := pgmem.any_word(p_query, p_scope.text_config);
    if p_match_mode = 'all' then
      v_query := replace(v_query::text, ' | ', ' & ')::tsquery;
    end if;
    if v_query is null then
      return;
    end if;
    return query
    select n.seq, ts_rank(n.tsv, v_query, 1)::float8 from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (v_keys) and n.status = any (p_statuses)
      and n.tsv @@ (v_query && pgmem.lexeme_query('@p' || p_scope.project_seq));
  else
    return query
    select n.seq, extract(epoch from n.updated_at)::float8 from pgmem.node n
    where n.label = 'Card' and n.scope_key = any (v_keys) and n.status = any (p_statuses)
      and (p_path is null or n.props ->> 'path' = p_path);
  end if;
end;
$$;
comment on function pgmem.find_cards is 'The cards a query mode asks for, each with what it is ranked by.';
