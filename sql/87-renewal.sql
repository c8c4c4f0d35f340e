-- Renewal of what was stored by the rules of an earlier release
--
-- A migration that changes how texts are composed, compared or searched sets pgmem.renew in its transaction. Then the
-- rows that the new rules would have stored otherwise are written again, by the functions of this release.
--
-- Locks: every row that is renewed, inside the upgrade.
-- Callers: the statement at the end of this chapter.


create or replace function pgmem.renew_texts() returns bigint
language plpgsql set search_path = pgmem, pg_temp as $$
declare
  v_node   pgmem.node;
  v_old    pgmem.node;
  v_seqs   bigint[] := '{}';
  v_titles boolean := false;
begin
  for v_node in
    select n.* from pgmem.node n join pgmem.label l on l.name = n.label
    where octet_length(concat(n.key, n.title, n.props::text)) > length(concat(n.key, n.title, n.props::text))
       or pgmem.other_texts(n.label, n.props, l.text_fields || l.key_field || l.title_field) is not null
    order by n.seq
  loop
    v_old := v_node;
    v_node.key := normalize(v_node.key, NFC);
    -- Two names that are one now stay two nodes, the later one as it was written; hygiene proposes to merge them.
    if v_node.key <> v_old.key and exists (
        select from pgmem.node n where n.scope_key = v_node.scope_key and n.key = v_node.key
          and pgmem.folded(n.key) = pgmem.folded(v_node.key)) then
      v_node.key := v_old.key;
    end if;
    v_node.title := normalize(v_node.title, NFC);
    if v_node.content_hash is not null then
      v_node.content_hash := case v_node.label
        when 'Decision' then pgmem.content_hash(array[v_node.title || ' ' || (v_node.props ->> 'rationale')])
        when 'Pattern' then pgmem.content_hash(array[v_node.props ->> 'trigger']
          || array(select jsonb_array_elements_text(v_node.props -> 'repeatable_steps')))
        else v_node.content_hash end;
      if v_node.content_hash <> v_old.content_hash and exists (
          select from pgmem.node n where n.scope_key = v_node.scope_key and n.content_hash = v_node.content_hash
            and n.seq <> v_node.seq) then
        v_node.content_hash := v_old.content_hash;
      end if;
    end if;
    if v_node.title_tokens is not null then
      v_node.title_tokens := pgmem.tokens(v_node.title);
      v_titles := v_titles or v_node.title_tokens <> v_old.title_tokens;
    end if;
    update pgmem.node n set key = v_node.key, title = v_node.title, content_hash = v_node.content_hash,
      title_tokens = v_node.title_tokens,
      tsv = words.tsv || array_to_tsvector(pgmem.scope_lexemes(n.tenant, n.project_seq, n.label)),
      text_length = length.text_length
    from pgmem.searched_text(v_node.label, v_node.title, v_node.props) as found_by
    cross join lateral to_tsvector(v_node.text_config::regconfig, pgmem.segment(found_by.searched_text)) as words(tsv)
    cross join lateral pgmem.text_length(words.tsv) as length
    where n.seq = v_node.seq;
    v_seqs := v_seqs || v_node.seq;
  end loop;
  if v_titles then
    perform pgmem.refresh_dedup();
  end if;
  if pgmem.has_vectors() then
    insert into pgmem.embedding_queue (node_seq, model_id)
    select n.seq, m.id from pgmem.node n cross join pgmem.embedding_model m
    where n.seq = any (v_seqs) and m.active and pgmem.is_memory(n.label)
      and n.status not in ('archived', 'merged', 'rejected', 'dismissed')
    on conflict do nothing;
  end if;
  return cardinality(v_seqs);
end;
$$;
comment on function pgmem.renew_texts is
  'Write the nodes again whose names, titles or search text the rules of this release store otherwise; their number.';

select pgmem.renew_texts() where current_setting('pgmem.renew', true) = 'texts';

update pgmem.node n set instructs = true
where current_setting('pgmem.mark_instructions', true) = 'on' and pgmem.is_memory(n.label) and n.label <> 'Card'
  and pgmem.instructs(n.title, pgmem.search_text(n.label, n.title, n.props));
