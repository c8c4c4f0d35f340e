-- Renewal of what an earlier release stored
--
-- A migration that changes how texts are composed, compared or searched names the steps of pgmem.renewal. They run
-- after the transaction of the upgrade, a batch a call, by the functions of this release, while others read and save.
-- Whatever interrupts them, the next pgmem init or the next round of a worker goes on after the last batch.
--
-- Locks: the row of the step; the rows of a batch; in the step graph those of rebuild_graph, in titles those of
-- refresh_dedup.
-- Callers: pgmem init, the worker.


create or replace function pgmem.renew(
  p_batch integer default 1000,
  out step text,
  out changed bigint,
  out remaining bigint
)
language plpgsql security definer set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
declare
  v_last bigint;
  v_to   bigint;
begin
  changed := 0;
  remaining := 0;
  select r.step, r.last_seq into step, v_last from pgmem.renewal r
  where r.done_at is null order by array_position('{graph,memories,titles}', r.step) limit 1 for update;
  if step is null then
    return;
  end if;
  case step
  when 'graph' then
    if exists (select from pg_extension e where e.extname = 'age') then
      select g.vertices + g.edges into changed from pgmem.rebuild_graph() g;
    end if;
  when 'memories' then
    select max(n.seq) into v_to from (
      select n.seq from pgmem.node n where n.seq > v_last order by n.seq limit greatest(p_batch, 1)) n;
    if v_to is not null then
      changed := pgmem.renew_memories(v_last, v_to);
      remaining := (select max(n.seq) from pgmem.node n) - v_to;
    end if;
  when 'titles' then
    changed := pgmem.order_titles();
  end case;
  update pgmem.renewal r
  set last_seq = coalesce(v_to, r.last_seq), changed = r.changed + renew.changed,
    done_at = case when remaining = 0 then pgmem.clock() end
  where r.step = renew.step;
end;
$$;
comment on function pgmem.renew is $$
Write a batch of what an earlier release stored again by the rules of this one.

Returns the name of the step, how many rows were written, and about how many of the step remain. The step is null once
nothing is left.

batch: How many memories at most. Default 1000.
$$;
select pgmem.declare_verb('renew', p_rights => 'worker', p_effect => 'repeat', p_answer => 'Renewal',
  p_patience => 'rebuild');


create or replace function pgmem.needs_renewal(p_step text) returns void
language sql volatile set search_path = pgmem, pg_temp as $$
  insert into pgmem.renewal (step) values (p_step)
  on conflict (step) do update set last_seq = 0, changed = 0, begun_at = now(), done_at = null;
$$;
comment on function pgmem.needs_renewal is 'Let the next calls of renew do a step, from its beginning.';


-- Rows are locked before they are read: a save meanwhile would be overwritten by texts of the state before it.
create or replace function pgmem.renew_memories(p_after bigint, p_to bigint) returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_rows   bigint;
  v_titles boolean;
begin
  perform from pgmem.node n where n.seq > p_after and n.seq <= p_to order by n.seq for no key update;
  perform pgmem.renew_keys(p_after, p_to);
  with made as materialized (
    select n.seq, n.scope_key, n.title_tokens as tokens_before, n.content_hash as hash_before,
      normalize(n.title, NFC) as title,
      case when n.content_hash is not null then case n.label
        when 'Decision' then pgmem.content_hash(array[normalize(n.title, NFC) || ' ' || (n.props ->> 'rationale')])
        when 'Pattern' then pgmem.content_hash(array[n.props ->> 'trigger']
          || array(select jsonb_array_elements_text(n.props -> 'repeatable_steps')))
        else n.content_hash end end as content_hash,
      case when n.title_tokens is not null then pgmem.tokens(normalize(n.title, NFC)) end as title_tokens,
      words.tsv || array_to_tsvector(pgmem.scope_lexemes(n.tenant, n.project_seq, n.label)) as tsv,
      length.text_length,
      n.session_id is not null and pgmem.asks(found_by.searched_text) as asks,
      n.label <> 'Card' and pgmem.instructs(n.title, found_by.searched_text) as instructs,
      case when n.session_id is not null and n.label <> 'Session' then coalesce(n.session_place,
        coalesce(pgmem.last_place(n.session_id, n.tenant), 0)
        + row_number() over (partition by n.session_id, n.tenant, n.session_place is null, n.label = 'Session'
                             order by n.seq)::integer) end as session_place
    from pgmem.node n
    cross join lateral (
      select s.searched_text from pgmem.searched_text(n.label, normalize(n.title, NFC), n.props) s offset 0) found_by
    cross join lateral pgmem.text_vector(n.text_config, found_by.searched_text) as words(tsv)
    cross join lateral pgmem.text_length(words.tsv) as length
    where n.seq > p_after and n.seq <= p_to
  ), distinct_hashes as (
    -- Of two that are one by the rules of this release, the later one keeps its hash; hygiene proposes to merge them.
    select m.*, case when m.content_hash is distinct from m.hash_before and (
        exists (select from pgmem.node o
                where o.scope_key = m.scope_key and o.content_hash = m.content_hash and o.seq <> m.seq)
        or exists (select from made e
                   where e.scope_key = m.scope_key and e.content_hash = m.content_hash and e.seq < m.seq))
      then m.hash_before else m.content_hash end as hash
    from made m
  ), written as (
    update pgmem.node n set title = m.title, content_hash = m.hash, title_tokens = m.title_tokens, tsv = m.tsv,
      text_length = m.text_length, asks = m.asks, instructs = m.instructs, session_place = m.session_place
    from distinct_hashes m
    where n.seq = m.seq
      and (n.title, n.content_hash, n.title_tokens, n.tsv, n.text_length, n.asks, n.instructs, n.session_place)
        is distinct from (m.title, m.hash, m.title_tokens, m.tsv, m.text_length, m.asks, m.instructs, m.session_place)
    returning m.title_tokens is distinct from m.tokens_before as retitled
  )
  select count(*), coalesce(bool_or(w.retitled), false) into v_rows, v_titles from written w;
  if v_titles then
    perform pgmem.needs_renewal('titles');
  end if;
  perform pgmem.renew_vectors(p_after, p_to);
  return v_rows;
end;
$$;
comment on function pgmem.renew_memories is
  'Write the search text, the hash, the title words and the marks of a range of nodes as this release does; how many.';


-- Names are few, and a name may be taken: one by one.
create or replace function pgmem.renew_keys(p_after bigint, p_to bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  for v_node in
    select n.* from pgmem.node n
    where n.seq > p_after and n.seq <= p_to and n.key is not null and n.key is not nfc normalized order by n.seq
  loop
    -- Two names that are one now stay two nodes, the later one as it was written; hygiene proposes to merge them.
    update pgmem.node n set key = normalize(v_node.key, NFC)
    where n.seq = v_node.seq and not exists (
      select from pgmem.node o
      where o.scope_key = v_node.scope_key and o.tenant = v_node.tenant and o.label = v_node.label
        and o.seq <> v_node.seq and o.key = normalize(v_node.key, NFC)
        and pgmem.folded(o.key) = pgmem.folded(v_node.key));
  end loop;
end;
$$;
comment on function pgmem.renew_keys is 'Write the names of a range of nodes in Unicode''s normal form C.';


create or replace function pgmem.renew_vectors(p_after bigint, p_to bigint) returns void
language plpgsql set search_path = pgmem, pg_temp as $$
begin
  if not pgmem.has_vectors() then
    return;
  end if;
  perform pgmem.set_aside_embeddings(array_agg(n.seq)) from pgmem.node n
  where n.seq > p_after and n.seq <= p_to and pgmem.is_hidden_status(n.status)
    and exists (select from pgmem.embedding e where e.node_seq = n.seq)
  having count(*) > 0;
  insert into pgmem.embedding_queue (node_seq, model_id)
  select e.node_seq, e.model_id from pgmem.embedding e
  join pgmem.embedding_model m on m.id = e.model_id and m.active join pgmem.node n on n.seq = e.node_seq
  where n.seq > p_after and n.seq <= p_to
    and e.text_hash <> encode(sha256(convert_to(pgmem.embedding_text(n.label, n.title, n.props), 'UTF8')), 'hex')
  on conflict do nothing;
end;
$$;
comment on function pgmem.renew_vectors is
  'Of a range of nodes, set the vectors of hidden ones aside, and queue those whose text is another one now.';
