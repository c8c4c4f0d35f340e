-- A memory reads better between its neighbours: the sessions of the best candidates are scored as a whole (session) and each of
-- their memories together with the one before and after it (window). The same BM25, over the sums of word counts and lengths;
-- words are as rare as they are among the memories of these sessions.
create or replace function pgmem.session_candidates(p_lexemes text[], p_sessions text[], p_tenants text[], p_as_of timestamptz)
returns table (seq bigint, window_score float8, session_score float8)
language plpgsql stable rows 100
set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_k1 float8 := pgmem.setting_float('bm25_k1');
  v_b  float8 := pgmem.setting_float('bm25_b');
begin
  if cardinality(p_sessions) = 0 or cardinality(p_lexemes) = 0 then
    return;
  end if;
  return query
  with member as materialized (
    select n.seq, n.session_id, n.text_length, n.tsv,
           lag(n.seq) over line as before_seq, lead(n.seq) over line as after_seq,
           n.text_length + coalesce(lag(n.text_length) over line, 0) + coalesce(lead(n.text_length) over line, 0) as window_length
    from pgmem.node n
    where n.session_id = any (p_sessions) and n.tenant = any (p_tenants) and n.label <> 'Session' and pgmem.is_memory(n.label)
      and pgmem.is_true_at(n.status, n.valid_from, n.valid_to, n.created_at, p_as_of)
    window line as (partition by n.session_id order by n.seq)
  ), word as materialized (
    select m.seq, m.session_id, u.lexeme, cardinality(u.positions) as tf, m.before_seq, m.after_seq
    from member m cross join lateral unnest(m.tsv) as u(lexeme, positions, weights) where u.lexeme = any (p_lexemes)
  ), size as (
    select count(*)::float8 as members, avg(window_length)::float8 as mean_window, count(distinct session_id)::float8 as sessions,
           sum(text_length)::float8 / count(distinct session_id) as mean_session from member
  ), frequency as (
    select w.lexeme, ln(1 + (greatest(s.members - count(*), 0) + 0.5) / (count(*) + 0.5)) as idf,
           ln(1 + (greatest(s.sessions - count(distinct w.session_id), 0) + 0.5) / (count(distinct w.session_id) + 0.5)) as session_idf
    from word w, size s group by w.lexeme, s.members, s.sessions
  ), spread as (
    select w.seq, w.lexeme, w.tf from word w
    union all select w.before_seq, w.lexeme, w.tf from word w where w.before_seq is not null
    union all select w.after_seq, w.lexeme, w.tf from word w where w.after_seq is not null
  ), in_window as (
    select t.seq, sum(f.idf * t.tf * (v_k1 + 1) / (t.tf + v_k1 * (1 - v_b + v_b * m.window_length / s.mean_window))) as score
    from (select seq, lexeme, sum(tf)::float8 as tf from spread group by seq, lexeme) t
    join member m on m.seq = t.seq join frequency f using (lexeme) cross join size s group by t.seq
  ), in_session as (
    select t.session_id, sum(f.session_idf * t.tf * (v_k1 + 1) / (t.tf + v_k1 * (1 - v_b + v_b * l.length / s.mean_session))) as score
    from (select session_id, lexeme, sum(tf)::float8 as tf from word group by session_id, lexeme) t
    join (select session_id, sum(text_length)::float8 as length from member group by session_id) l using (session_id)
    join frequency f using (lexeme) cross join size s group by t.session_id
  )
  select m.seq, w.score::float8, s.score::float8
  from member m left join in_window w on w.seq = m.seq left join in_session s on s.session_id = m.session_id;
end;
$$;
comment on function pgmem.session_candidates(text[], text[], text[], timestamptz) is
  'The memories of some sessions with the BM25 of their window and of their whole session.';
