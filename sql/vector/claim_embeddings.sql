-- A lease, not a lock: no transaction is open while a provider is asked. Two workers never claim the same row.
-- security definer: clients hold no rights on tables. Who may act for every tenant embeds for all; others for those they see.
create or replace function pgmem.claim_embeddings(p_model text, p_limit integer default 64, p_lease_s integer default 300)
returns table (node_seq bigint, kind text, text text, text_hash text)
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_all boolean := pgmem.is_trusted();
begin
  return query
  with mine as (
    update pgmem.embedding_queue q set claimed_until = pgmem.clock() + make_interval(secs => p_lease_s), attempts = q.attempts + 1
    from (select w.model_id, w.node_seq, w.kind from pgmem.embedding_queue w join pgmem.embedding_model m on m.id = w.model_id
          where m.name = p_model and (v_all or exists (select from pgmem.visible_node v where v.seq = w.node_seq)) and (w.claimed_until is null or w.claimed_until < pgmem.clock())
          order by w.attempts, w.node_seq limit p_limit for update of w skip locked) w
    where q.model_id = w.model_id and q.node_seq = w.node_seq and q.kind = w.kind
    returning q.node_seq, q.kind
  )
  select m.node_seq, m.kind, t.text, encode(sha256(convert_to(t.text, 'UTF8')), 'hex')
  from mine m join pgmem.node n on n.seq = m.node_seq
  cross join lateral (
    select case m.kind when 'self' then pgmem.embedding_text(n.label, n.title, n.props) else pgmem.window_text(n) end as text) t
  order by m.node_seq;
end;
$$;
comment on function pgmem.claim_embeddings(text, integer, integer) is
  'Take texts that wait for a vector of a model, for p_lease_s seconds; store_vectors takes them out of the queue.';
