create or replace function pgmem.hygiene_finding(p_check text, p_first bigint, p_second bigint, p_similarity float8) returns jsonb
language sql stable
set search_path = pgmem, pg_temp
as $$
  select jsonb_build_object('check', p_check, 'ids', array_remove(array[a.id, b.id], null), 'label', a.label,
           'titles', array_remove(array[a.title, b.title], null), 'project', a.project, 'verb', advice.verb, 'what', advice.what,
           'arguments', advice.arguments)
         || case when p_similarity is null then '{}' else jsonb_build_object('similarity', round(p_similarity::numeric, 4)) end
  from pgmem.visible_node a left join pgmem.visible_node b on b.seq = p_second
  cross join lateral (
    select case
        when p_check = 'entity_drift' or p_check = 'duplicates' and a.label = 'EntityFact' then 'merge_entities'
        when p_check = 'duplicates' and a.label = 'Decision' then 'supersede'
        when p_check = 'duplicates' and a.label = 'Card' then 'archive_card'
        else 'forget' end as verb
  ) chosen
  cross join lateral (
    select chosen.verb, case
        when p_check = 'entity_drift' then 'Two facts about one entity: merge the newer name into the older; its fact stays in the history.'
        when p_check = 'duplicates' and chosen.verb = 'merge_entities' then 'Two entities with one fact: merge the newer into the older, if they are one.'
        when p_check = 'duplicates' and chosen.verb = 'supersede' then 'Two decisions that say the same: let the newer take the place of the older.'
        when p_check = 'duplicates' and chosen.verb = 'archive_card' then 'Two cards that say the same: archive the newer.'
        when p_check = 'duplicates' then 'Two memories that say the same: forget the newer.'
        when p_check = 'outdated_decisions' then 'An old decision: save the present one (a near title takes its place), or forget it if it holds no more.'
        else 'Not validated for long: if it still works, forget it and save it again; else forget it.' end as what,
      case chosen.verb
        when 'merge_entities' then jsonb_build_object('entity', b.id, 'into', a.id)
        when 'supersede' then jsonb_build_object('old', a.id, 'new', b.id)
        when 'archive_card' then jsonb_build_object('card_id', b.id)
        else jsonb_build_object('label', a.label, 'key', coalesce(b.id, a.id)) end as arguments
  ) advice
  where a.seq = p_first;
$$;
comment on function pgmem.hygiene_finding(text, bigint, bigint, float8) is
  'A finding as a report shows it: which memories, what to do, by which verb, with which arguments.';
