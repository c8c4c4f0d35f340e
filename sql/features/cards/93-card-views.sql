-- The view of cards
--
-- For analysts, beside those of 90-views. Locks: none; an upgrade makes it again only where a chapter of views changed.


select pgmem.declare_view('card', $$
Engineering memory: cards of every status; agents see those with status = 'active'.

id: The id of the card.
record_type: What kind of statement it is, such as risk_note or module_role.
statement: What the card says.
status: draft, active, stale, historical, superseded, rejected or archived; agents see active.
confidence: inferred (drafted), supported (found in the repository) or verified (approved by a person).
origin: What made it: agent, human or system (a run over the repository).
ingest_source: What it was drawn from, such as git, doc, test, contract, receipt or human.
path: The file or folder of the repository that it is about.
stale_reason: Why it became stale; null: it is not.
approved_by: The person who approved it; null: nobody has.
approved_at: When it was approved; null: never.
evidence_count: How many pieces of evidence it has.
created_at: When it was drafted or found.
$$, $$
  select n.id, n.props ->> 'record_type' as record_type, n.props ->> 'statement' as statement, n.status,
         n.props ->> 'confidence' as confidence, n.props ->> 'origin' as origin,
         n.props ->> 'ingest_source' as ingest_source, n.props ->> 'path' as path, n.project,
         n.props ->> 'stale_reason' as stale_reason, n.props ->> 'approved_by' as approved_by,
         (n.props ->> 'approved_at')::timestamptz as approved_at,
         (select count(*) from pgmem.card_evidence e where e.node_seq = n.seq) as evidence_count,
         n.agent_id, n.org_id, n.user_id, n.created_at, n.updated_at
  from pgmem.visible_node n where n.label = 'Card'
$$);
