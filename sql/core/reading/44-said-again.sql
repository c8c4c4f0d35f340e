-- The same said again
--
-- A memory that was wrong was often said more than once: in another project, by another agent, in other words. Whoever
-- forgets one, or names it wrong, is shown the others, and takes them in the same call (forget, feedback: also). The
-- candidates are those of a search with the statement of the memory, by words and by its vector; one says the same if
-- its vector is near, it shares half of its words, and the two differ neither in a number, a denial nor an object
-- (title_difference). Where one of the two has no vector, words alone decide, and nearly all must be shared.
--
-- The memories that rest on it are named too: those derived from it, and those that cite it.
--
-- Locks: none.


select pgmem.declare_answer('said_again', $$
Another memory that says the same, and its state after the call.

id uuid, label text, title text, project text?, likeness float8
by person|agent?: Who said it; agent: also a program or a file.
status text: Its state; failed: a person decides whether it goes too.
in_vault boolean = false: A note of a vault says it as well, which the next pgmem vault sync brings to the same state.
$$);

select pgmem.declare_answer('resting_memory', $$
A memory that rests on another: derived from it, or citing it.

id uuid, label text, title text, project text?, how derived|cites, status text
by person|agent?: Who said it; agent: also a program or a file.
$$);


create or replace function pgmem.main_statement(p_label text, p_title text, p_props jsonb) returns text
language sql stable
begin atomic
  select case when p_label = 'Decision' then p_title else pgmem.search_text(p_label, p_title, p_props) end;
end;
comment on function pgmem.main_statement is 'The statement by which two memories are compared: of a decision its title, else its whole text.';


-- The bounds were chosen on the even pairs of benchmarks/said_again.json.
create or replace function pgmem.said_again(p_node pgmem.node, p_caller pgmem.caller) returns setof pgmem.said_again
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  c_most    constant integer := 10;
  c_near    constant float8 := 0.79;
  c_shared  constant float8 := 0.5;
  c_alone   constant float8 := 0.85;
  v_said    text := pgmem.main_statement(p_node.label, p_node.title, p_node.props);
  v_config  text := coalesce(p_node.text_config, pgmem.setting_text('text_config'));
  v_lexemes text[] := pgmem.query_lexemes(v_said, v_config);
  v_model   pgmem.embedding_model;
  v_vector  real[];
  v_filter  pgmem.search_filter;
  v_words   pgmem.search_words;
begin
  v_filter.tenants := p_caller.tenants;
  v_filter.moment := pgmem.now();
  v_words := pgmem.words_of_query(v_said, v_config, v_filter);
  if pgmem.has_vectors() then
    select m.* into v_model from pgmem.embedding_model m where m.active;
    -- By its text, since a plain array is compared below.
    select translate(e.vector::text, '[]', '{}')::real[] into v_vector
    from pgmem.embedding e where e.node_seq = p_node.seq and e.model_id = v_model.id;
  end if;
  return query
  with found as materialized (
    select t.seq from pgmem.text_candidates(v_words, v_filter, 20) t
    union
    select v.seq from pgmem.vector_candidates(v_vector, v_model, v_filter, v_words.memories::bigint, 20) v
  ), near as materialized (
    select v.seq, v.score from pgmem.vector_scores(v_vector, v_model, array(select f.seq from found f)) v
  )
  select n.id, n.label::text, n.title::text, n.project::text, round(alike.score::numeric, 2)::float8, pgmem.said_by(n.source, n.trust_level),
         n.status::text, n.source = 'vault'
  from found f
  left join near using (seq)
  cross join lateral (select * from pgmem.node n where n.seq = f.seq and n.tenant = any (p_caller.tenants) offset 0) n
  cross join lateral (select pgmem.main_statement(n.label, n.title, n.props) as said) s
  cross join lateral (select pgmem.query_lexemes(s.said, v_config) as lexemes offset 0) w
  cross join lateral (
    select 2.0 * count(*) / greatest(1, cardinality(w.lexemes) + cardinality(v_lexemes)) as shared
    from unnest(w.lexemes) as theirs(word) where theirs.word = any (v_lexemes)) d
  cross join lateral (select coalesce(near.score, d.shared)::float8 as score) alike
  where n.seq <> p_node.seq and pgmem.is_memory(n.label) and not pgmem.is_derived(n.label)
    and d.shared >= case when near.score is null then c_alone else c_shared end
    and (near.score is null or near.score >= c_near)
    and (select t.axis is null and not t.is_apart from pgmem.title_difference(s.said, v_said) t)
  order by alike.score desc, n.seq limit c_most;
end;
$$;
comment on function pgmem.said_again(pgmem.node, pgmem.caller) is
  'The live memories that say the same as a memory, wherever the caller sees them, the nearest first.';


create or replace function pgmem.resting_on(p_node pgmem.node, p_caller pgmem.caller) returns setof pgmem.resting_memory
language sql stable set search_path = pgmem, pg_temp as $$
  select r.id, r.label::text, r.title, r.project::text, r.how, r.status::text, r.by
  from (
    select n.id, n.label, n.title::text as title, n.project, 'derived' as how, n.status, pgmem.said_by(n.source, n.trust_level) as by, n.seq
    from pgmem.node n join pgmem.label l on l.name = n.label and l.derived
    where n.tenant = any (p_caller.tenants) and (pgmem.is_live_status(n.status) or n.status in ('pending', 'approved'))
      and n.props -> 'sources' ? p_node.id::text
    union all
    select n.id, n.label, n.title::text, n.project, 'cites', n.status, pgmem.said_by(n.source, n.trust_level), n.seq
    from pgmem.node n
    where n.tenant = any (p_caller.tenants) and pgmem.is_live_status(n.status) and (n.props ? 'citation' or n.props ? 'turn')
      and n.props -> 'citation' ? p_node.id::text) r
  order by r.seq desc limit 10
$$;
comment on function pgmem.resting_on is 'The newest memories that rest on a memory: derived from it, or citing it.';


select pgmem.declare_answer('retraction', $$
Memories that go with one that no longer holds: those that say the same, and those that rest on it.

same said_again[] = {}, rests resting_memory[] = {}
$$);

create or replace function pgmem.list_said_again(p_id text) returns pgmem.retraction
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.retraction;
  v_caller pgmem.caller := pgmem.caller();
  v_node   pgmem.node := pgmem.named_memory(p_id);
begin
  v_answer.same := (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from pgmem.said_again(v_node, v_caller) s);
  v_answer.rests := (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from pgmem.resting_on(v_node, v_caller) r);
  return v_answer;
end;
$$;
comment on function pgmem.list_said_again is $$
List the memories that say the same as one, and those that rest on it.

Look before you forget it or name it wrong.

id: Its id or title; of an id the first 8 digits are enough.

MemoryNotFound: no such memory is visible to the caller.
AmbiguousName: a title is of several memories; the message lists their ids.
$$;
select pgmem.declare_verb('list_said_again', p_rights => 'reader', p_effect => 'look', p_answer => 'Retraction',
  p_reads_all => 'It looks at all insights, and for the statement in the whole store.');
