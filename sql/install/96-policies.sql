-- Policies: row-level security
--
-- The verbs and the views filter by tenant themselves, and no client has a right to a table. Row-level security is
-- behind that, for a login that is granted one all the same: a row is shown if its tenant is the caller's, its
-- organisation's or the public one; an edge if both its ends are shown, the parts of a card if the card is. Tables
-- without a policy show nothing to a client.
--
-- Security is enabled and not forced: the verbs run as the owner and filter by themselves, because a policy keeps the
-- operators of GIN out of index conditions. The subquery around visible_tenants makes it run once a query.
--
-- Locks: an install locks each table, so this chapter runs only where its text has changed.


do $$
declare
  v_table text;
begin
  foreach v_table in array '{
    node, edge, node_version, save_attempt, governance_token, dedup_token, token_frequency, title_order, tenant_role, api_token,
    erasure, imported, card_subject, card_evidence, card_revision, card_intent, card_run, card_file, card_state,
    card_commit, reflection, extraction, extraction_day, archived_vector, item_vector
  }'::text[] loop
    execute format('alter table pgmem.%I enable row level security', v_table);
  end loop;

  foreach v_table in array
    '{node, node_version, change, recall_event, usefulness, save_attempt, governance_token, card_intent, card_run, reflection,
      extraction, extraction_day}'::text[]
  loop
    execute format('drop policy if exists own_and_shared on pgmem.%I', v_table);
    execute format('create policy own_and_shared on pgmem.%I for select '
                   'using (tenant = any ((select pgmem.visible_tenants())::text[]))', v_table);
  end loop;

  foreach v_table in array '{card_subject, card_evidence, card_revision, item_vector, source_check, declined_rule}'::text[] loop
    execute format('drop policy if exists of_visible_card on pgmem.%I', v_table);
    execute format('create policy of_visible_card on pgmem.%I for select '
                   'using (exists (select from pgmem.node n where n.seq = node_seq))', v_table);
  end loop;
end;
$$;

drop policy if exists both_ends on pgmem.edge;
create policy both_ends on pgmem.edge for select
  using (exists (select from pgmem.node s where s.seq = src) and exists (select from pgmem.node d where d.seq = dst));
