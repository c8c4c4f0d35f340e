-- The second wall, for everyone who reads tables and views themselves. Not forced: the verbs run as the owner and filter by
-- themselves, because a policy keeps GIN operators out of index conditions. The tenants are asked for once a query.
alter table pgmem.node enable row level security;
alter table pgmem.edge enable row level security;
alter table pgmem.node_version enable row level security;
alter table pgmem.save_attempt enable row level security;
alter table pgmem.governance_token enable row level security;
alter table pgmem.dedup_token enable row level security;
alter table pgmem.token_frequency enable row level security;
alter table pgmem.tenant_role enable row level security;
alter table pgmem.api_token enable row level security;
alter table pgmem.erasure enable row level security;
alter table pgmem.imported enable row level security;

drop policy if exists own_and_shared on pgmem.node;
create policy own_and_shared on pgmem.node for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.node_version;
create policy own_and_shared on pgmem.node_version for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.save_attempt;
create policy own_and_shared on pgmem.save_attempt for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.governance_token;
create policy own_and_shared on pgmem.governance_token for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists both_ends on pgmem.edge;
create policy both_ends on pgmem.edge for select
  using (exists (select from pgmem.node s where s.seq = src) and exists (select from pgmem.node d where d.seq = dst));
alter table pgmem.card_subject enable row level security;
alter table pgmem.card_evidence enable row level security;
alter table pgmem.card_revision enable row level security;
alter table pgmem.card_intent enable row level security;
alter table pgmem.card_run enable row level security;
alter table pgmem.card_file enable row level security;
alter table pgmem.card_state enable row level security;
drop policy if exists of_visible_card on pgmem.card_subject;
create policy of_visible_card on pgmem.card_subject for select using (exists (select from pgmem.node n where n.seq = node_seq));
drop policy if exists of_visible_card on pgmem.card_evidence;
create policy of_visible_card on pgmem.card_evidence for select using (exists (select from pgmem.node n where n.seq = node_seq));
drop policy if exists of_visible_card on pgmem.card_revision;
create policy of_visible_card on pgmem.card_revision for select using (exists (select from pgmem.node n where n.seq = node_seq));
drop policy if exists own_and_shared on pgmem.card_intent;
create policy own_and_shared on pgmem.card_intent for select using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.card_run;
create policy own_and_shared on pgmem.card_run for select using (tenant = any ((select pgmem.visible_tenants())::text[]));
alter table pgmem.reflection enable row level security;
drop policy if exists own_and_shared on pgmem.reflection;
create policy own_and_shared on pgmem.reflection for select using (tenant = any ((select pgmem.visible_tenants())::text[]));
