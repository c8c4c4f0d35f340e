-- Views of acts: the outcomes of rules and errors, and the sessions of a trial
--
-- Locks: none.


select pgmem.declare_view('act', $$
What came of rules and errors at the act, one row for each event; kept for recall_days.

at: When.
act: met: rules came before a command; done: it ran all the same; failed: a command failed.
key: A digest of the command or the error, the same for one that comes again.
project: The project of the session; null: none.
session_id: The conversation, as in the view turn; null: not known.
memory_ids: The rules, or the memories that came with the error.
$$, $$
  select a.at, a.act, a.key, a.project, a.session_id, a.memory_ids
  from pgmem.act_event a where a.tenant = any ((select pgmem.visible_tenants())::text[])
$$);


select pgmem.declare_view('trial', $$
The sessions of a trial of the memory, one row each; pgmem balance compares them.

session_id: The conversation, as in the view turn.
project: The project of the session; null: none.
arm: with or without memory, as the coin fell.
begun_at: When it began.
prompts: How many prompts a person sent.
tokens: Tokens that its transcript counts; null: it counts none.
failed: How many commands failed.
repeated: How many of them with an error that an earlier session had.
$$, $$
  select t.session_id, t.project, t.arm, t.begun_at, t.prompts, t.tokens, t.failed, t.repeated
  from pgmem.trial_session t where t.tenant = any ((select pgmem.visible_tenants())::text[])
$$);
