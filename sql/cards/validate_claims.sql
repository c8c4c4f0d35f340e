-- A clause is refused when it says that memory, or an agent, may do what only a person or the code may; a negation up to
-- four words before the verb makes it right. security definer: reads the status of cards that the text names.
create or replace function pgmem.validate_claims(p_text text, p_project_id text default null,
  out valid boolean, out errors text[], out warnings text[])
language plpgsql stable security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_text   text := regexp_replace(pgmem.clean_text(p_text, 'text', true), '[’‘]', '''', 'g');
  v_not    constant text := '\m(cannot|can''t|can not|does not|doesn''t|do not|don''t|did not|must not|may not|will not|is not|are not|was not|were not|never|not)(\W+\w+){0,4}\W+';
begin
  if p_project_id is not null then
    perform pgmem.card_scope(pgmem.caller(), p_project_id);
  end if;
  select coalesce(array_agg(distinct format('Claim may grant permission memory cannot provide: %s.', r.label)), '{}') into errors
  from regexp_split_to_table(v_text, '[.!?;]+(\s+|$)|\n+|,\s+|\s+but\s+') with ordinality as c(clause, place)
  cross join (values
    ('permission to edit', 'memory', '(allow|allows|allowed|permit|permits|permitted|authorize|authorizes|authorized|authorise|authorises|authorised|grant|grants)\M(\W+\w+){0,4}?\W+(edit|edits|editing|change|changes|changing|write|writes|writing)'),
    ('permission to edit', 'memory', '(edit|edits|editing|change|changes|write|writes)\W+((is|are|was|were)\W+)?(allowed|permitted|authorized|authorised|granted)'),
    ('overriding findings', 'memory', '(override|overrides|overrode|overriding|overridden)'),
    ('approval by an agent', 'mcp|agent|agents', '(approve|approves|approved|approving|promote|promotes|promoted)'),
    ('a wider scope', 'memory', 'scope\W+((is|was|has been|can be|may be)\W+)?(expanded|widened|extended|enlarged)'),
    ('clearing findings', 'memory', '(finding|findings)\W+((is|are|was|were|can be|may be)\W+)?(cleared|closed|resolved|dismissed|waived|ignored)'),
    ('skipping verification', 'memory', '(skip|skips|skipped|bypass|bypasses|bypassed|replace|replaces|replaced)\M(\W+\w+){0,3}?\W+(verification|review|tests|checks)')
  ) as r(label, subject, verb)
  where c.clause ~* ('\m(' || r.subject || ')\M') and c.clause ~* ('\m' || r.verb || '\M') and c.clause !~* (v_not || r.verb || '\M');
  warnings := array_remove(array[
    case when length(v_text) > 500 then format('Statement length %s exceeds soft limit (500 chars); compress to one durable fact before record_candidate.', length(v_text))
         when length(v_text) > 300 then format('Statement length %s exceeds target (300 chars); prefer <= 300 chars for durable cards.', length(v_text)) end], null)
    || coalesce((select array_agg(format('Relies on stale card %s without saying that it is stale.', n.id) order by n.seq)
        from pgmem.visible_node n
        where n.label = 'Card' and n.status = 'stale' and v_text !~* '\mstale\M'
          and n.id in (select (m[1])::uuid from regexp_matches(v_text, '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})', 'gi') m)), '{}');
  valid := errors = '{}';
end;
$$;
comment on function pgmem.validate_claims(text, text) is
  'Whether a text claims more than memory can give: leave to edit, to approve, to widen a scope, to clear findings. It is read, never stored.';
