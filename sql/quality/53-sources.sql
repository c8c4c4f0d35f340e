-- Sources: what a memory rests on
--
-- The turn that an extraction proved it by (quote and turn, 76-extraction-proof), the evidence of a card, and what its
-- property citation lists: a turn or another memory by id, a URL, a file (path, path:3-9, path@commit), a ticket.
--
-- A state is found now: FRESH, what it rests on still says the same; STALE, it has changed; GONE, it is no more;
-- UNCHECKABLE, the store cannot determine it. Reading it confirms nothing: no time of the memory changes.
--
-- Locks: none.


select pgmem.declare_answer('source_answer', $$
One source of a memory, and its state.

class Source
kind turn|memory|file|url|ticket: What it is.
target text: The id, path, address or ticket.
state FRESH|STALE|GONE|UNCHECKABLE: Whether it says still what the memory rests on.
checked_at timestamptz?: When the state was found; null: it was not checked.
quote text?: The words that the memory rests on.
first_character integer?: Where the quote begins in the turn, from 1 on; spaces count as one.
last_character integer?: Where it ends.
said text?: The turn, or the text of the other memory.
$$);

create or replace function pgmem.get_sources(
  p_id uuid
) returns setof pgmem.source_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_node pgmem.node;
begin
  select n.* into v_node from pgmem.visible_node n where n.id = p_id and pgmem.is_memory(n.label);
  if v_node.seq is null then
    raise exception using errcode = 'PM002', message = format('No memory with id %s found; search_memory shows ids.', p_id);
  end if;
  return query
  with cited as (
    select v_node.props ->> 'turn' as target, v_node.props ->> 'quote' as quote, 0::bigint as place
    where v_node.props ? 'turn'
    union all
    select c.target, null, c.place
    from jsonb_array_elements_text(case jsonb_typeof(v_node.props -> 'citation')
      when 'array' then v_node.props -> 'citation' when 'string' then jsonb_build_array(v_node.props -> 'citation')
      else '[]' end) with ordinality as c(target, place)
  ), looked as (
    select c.*, n.seq, n.label, n.status, n.valid_from, n.valid_to, s.said,
           case when c.quote is not null and s.said is not null
             then pgmem.quote_place(btrim(regexp_replace(c.quote, '\s+', ' ', 'g')), s.said) end as begins,
           length(btrim(regexp_replace(c.quote, '\s+', ' ', 'g'))) as long
    from cited c
    left join pgmem.visible_node n on n.id = case when pgmem.is_uuid(c.target) then c.target::uuid end
    cross join lateral (
      select case when n.label = 'Turn' then regexp_replace(n.props ->> 'content', '\s+', ' ', 'g')
        when n.seq is not null then pgmem.search_text(n.label, n.title, n.props) end as said) s
  )
  (select case when l.label = 'Turn' or l.quote is not null then 'turn' when pgmem.is_uuid(l.target) then 'memory'
           when l.target ~* '^https?://' then 'url' when l.target ~ '^[A-Za-z]*[-#][0-9]+$' then 'ticket'
           else 'file' end,
         l.target,
         case when not pgmem.is_uuid(l.target) then 'UNCHECKABLE' when l.seq is null then 'GONE'
           when l.label = 'Turn' then case when l.status <> 'captured' then 'GONE'
             when l.quote is not null and l.begins = 0 then 'STALE' else 'FRESH' end
           when pgmem.is_live(l.status, l.valid_from, l.valid_to) then 'FRESH' else 'STALE' end,
         case when pgmem.is_uuid(l.target) then pgmem.now() end, l.quote,
         nullif(l.begins, 0), case when l.begins > 0 then l.begins + l.long - 1 end, l.said
  from looked l
  order by l.place)
  union all
  -- Of a card: its files as the last run over the repository saw them.
  (select case e.kind when 'external_url' then 'url' else 'file' end, e.ref,
         case when e.digest is null then 'UNCHECKABLE' when e.seen_digest is null then 'GONE'
           when e.seen_digest = e.digest then 'FRESH' else 'STALE' end,
         null, null, null, null, null
  from pgmem.card_evidence e where e.node_seq = v_node.seq order by e.kind, e.ref);
end;
$$;
comment on function pgmem.get_sources is $$
The sources of a memory, each with its state.

They are the turn with the quote, the evidence of a card, and what its property citation lists. Whether each says still what the memory rests on is found at the call; reading it confirms nothing.

id: Its id.

MemoryNotFound: no memory with this id is visible here.
$$;
select pgmem.declare_verb('get_sources', p_rights => 'reader', p_effect => 'look', p_answer => 'list[Source]');
