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

drop policy if exists own_and_shared on pgmem.node;
create policy own_and_shared on pgmem.node for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.node_version;
create policy own_and_shared on pgmem.node_version for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists own_and_shared on pgmem.save_attempt;
create policy own_and_shared on pgmem.save_attempt for select
  using (tenant = any ((select pgmem.visible_tenants())::text[]));
drop policy if exists both_ends on pgmem.edge;
create policy both_ends on pgmem.edge for select
  using (exists (select from pgmem.node s where s.seq = src) and exists (select from pgmem.node d where d.seq = dst));
