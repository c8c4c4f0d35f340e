-- Texts that steer agents
--
-- A memory outlives the conversation that it was written in, and the next agent reads it. A text that a tool, a page or a
-- repository put into one conversation may so become an order in all later ones. So a save of an agent whose text steers
-- agents is held: nothing is stored until a person has read it (59-save-status). remember and the tools of a knowledge graph,
-- which know no such wait for a new name, refuse it. What a person or a program writes is stored.
--
-- A text steers agents when it does one of these, in any field:
--
--   override     asks its reader to ignore former instructions, or that rules and limits no longer apply
--   role         gives its reader another role or authority, or speaks as the system
--   safeguard    asks its reader to act without the person, or without a check, that would be asked
--   directive    asks to be kept as an instruction of the system
--   disclosure   asks its reader to give away credentials or its system prompt
--   identity     is stored under a name that says who an agent is or what it may do
--
-- The forms are those of sentences; a negation before one of them takes it away ("never reveal the system prompt"). They
-- find what is said openly. Who can see what an agent saved, trust, and the frame around recalled texts are what protects
-- from the rest.
--
-- Locks: none.


create or replace function pgmem.steering_forms() returns table (
  kind text,
  form text
)
language sql immutable
begin atomic
  values
    ('override',
     '(ignor|disregard|forget|overrid|overrul|bypass|set aside|pay no attention to)\w*\W+(\w+\W+){0,3}'
     '(previous(ly)?|prior|above|earlier|preceding|former|all|any|every|your|other|existing|original|initial)\W+(\w+\W+){0,3}'
     '(instructions?|prompts?|directives?|guidelines?|guardrails?|rules|restrictions?|constraints|polic(y|ies)|orders|training|directions|guidance)'),
    ('override',
     '(free(d)?|released|liberated|exempt(ed)?|unbound)\W+(from|of)\W+(\w+\W+){0,3}'
     '(limitations?|limits|restrictions?|rules|guidelines?|constraints?|guardrails?|polic(y|ies))'),
    ('override',
     '(rules|restrictions?|guidelines?|guardrails?|safeguards?|instructions?|limits|limitations)\W+(\w+\W+){0,3}'
     '(no longer|don''?t|do not|not) (apply|bind|hold|count|matter)\W+(\w+\W+){0,2}(to|for) (you|the (assistant|agent|model|ai))'),
    ('role',
     '(you are|you''re|you act|you will be|you must be|act|behave|respond|answer|operate|pretend to be|roleplay)\W+(\w+\W+){0,4}'
     '(unrestricted|unfiltered|uncensored|unlimited|jailbroken|dan|do anything now|administrator|an? admin|superuser|superadmin|'
     'root|(god|developer|debug|maintenance) mode|(no|without)( any)? (safety|ethical|content|moral)? ?'
     '(guidelines|restrictions|limits|limitations|filters|rules))\M'),
    ('role',
     '(the |this |an? )?(assistant|agent|ai|model|bot|chatbot|copilot|claude|codex|you)\W+(now\W+)?'
     '(has|have|holds?|is|are|gets?|receives?|was|were|runs?)\W+(\w+\W+){0,4}'
     '(admin|administrator|administrative|root|superuser|superadmin|unrestricted|elevated|unlimited|god-?mode)\W+(\w+\W+){0,1}'
     '(rights?|access|privileges?|permissions?|authority|powers?|control)\M'),
    ('role',
     '(system|assistant|developer|operator)( (message|prompt|note|override|notice))?\]?\s*:\s*(\w+\W+){0,3}'
     '(you|ignore|always|never|must|do not|from now on|reveal|disregard|override|approve|send)'),
    ('role', '<\|?/?(im_start|im_end|system|sys|inst)\|?>|\[/?(inst|sys|system)\]|<<sys>>'),
    ('safeguard',
     '(skip|bypass|disable|circumvent|waive|evade|avoid|omit|suppress|without|never|do not|don''?t|no need (to|for)|'
     'instead of|rather than|stop)\W+(\w+\W+){0,3}(operator|user|human|person|owner|customer|administrator|admin|security|safety|'
     'supervisor|manager|anyone|nobody)''?s?\W+(\w+\W+){0,2}'
     '(confirmations?|approvals?|consent|permissions?|reviews?|checks?|authori[sz]ations?|verifications?|oversight|controls?|'
     'warnings?|sign-?offs?|knowledge)'),
    ('safeguard',
     '(without|never|do not|don''?t|no need to|need not|stop|before you)\W+(\w+\W+){0,2}'
     '(ask(ing)?|consult(ing)?|notify(ing)?|inform(ing)?|tell(ing)?|alert(ing)?|involv(e|ing)|bother(ing)?|check(ing)? with|'  -- words: as is
     'confirm(ing)? with|wait(ing)? for)\W+(the |your |any |an? |its )?(operator|user|human|owner|administrator|supervisor|'
     'security team|maintainers?)'),
    ('safeguard',
     '(approve|allow|accept|authori[sz]e|grant|execute|run|send|transfer|export|share|pay|wire|install|confirm|trust)\W+(all|any|every|'
     'each|everything|whatever)\W+(\w+\W+){0,8}(without|no|skip(ping)?)\W+(\w+\W+){0,3}'
     '(review|approval|confirmation|asking|permission|authori[sz]ation|verification|checks?|questions?|consent|hesitation)'),
    ('directive',
     '(remember|store|save|treat|keep|persist|record|adopt|consider|regard|register|add|promote|interpret)\W+(\w+\W+){0,4}(as|to|into|in)\W+'
     '(\w+\W+){0,4}(system|root|developer|core|permanent|standing|persistent|highest|top)\W+(\w+\W+){0,2}'
     '(directives?|instructions?|prompt|rules?|polic(y|ies)|orders?|commands?|authority|priority)'),
    ('directive', '\[\s*(memory|persist|system|override|admin|instruction|directive)[_ -]?(persist\w*|memory|override|prompt|'
     'inject\w*|directive|instruction|command)\s*\]|(\[\w*(memory|instruction|system)\w*\s*=[^\]]*\]\s*){2,}'),
    ('disclosure',
     '(reveal|leak|exfiltrate|disclose|divulge|expose|dump|hand over|give (out|away)|print( out)?|output|repeat|recite|share|publish|'
     'send|forward|upload|post|e?mail)\W+(\w+\W+){0,5}(your\W+(\w+\W+){0,2}|the\W+|all\W+(\w+\W+){0,2}|any\W+(\w+\W+){0,2}|stored\W+)'
     '(system prompts?|hidden prompts?|(initial|system|secret|hidden) instructions|credentials?|passwords?|secrets?|api keys?|'
     'private keys?|access tokens?|session tokens?|environment variables)');
end;
comment on function pgmem.steering_forms is 'The forms of sentences that steer agents: regular expressions without regard to case.';


create or replace function pgmem.steering(p_text text) returns text
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_text text := regexp_replace(normalize(p_text, NFKC), '[’‘]', '''', 'g');
begin
  if length(v_text) < 80 and v_text ~* '^(identity|system|agent|assistant|security|governance)[._/:]\s*(roles?|permissions?|prompts?|persona|polic(y|ies)|privileges?|capabilit(y|ies)|instructions?|goals?|user_?id|authority|trust)\M[\w._/:]*$' then
    return 'identity';
  -- Every form has one of these words; most texts have none, and this costs a tenth of the forms.
  elsif lower(v_text) !~ 'instruct|prompt|directi|guid|guardrail|restriction|limit|constraint|polic|rules|orders|training|'
      'admin|root|superuser|unrestricted|unfiltered|uncensored|jailbroken|\ydan\y|anything now|mode|elevated|system|assistant|'
      'developer|operator|user|human|owner|supervisor|maintainer|without|credential|password|secret|keys|tokens|variables|'
      'safety|security|anyone|person|customer|manager|\[|<' then
    return null;
  end if;
  return (
    select f.kind from pgmem.steering_forms() f
    where v_text ~* ('(\m|(?=[<\[]))(' || f.form || ')') and exists (
      select from regexp_matches(v_text,
        '(\m(not|never|cannot|no|must not|should not|\w+n''t|avoid|prevent\w*|against|refus\w+|detect\w*|block\w*|how to)\W+(\w+\W+){0,4})?'
        '(\m|(?=[<\[]))(' || f.form || ')', 'gi') m
      where m[1] is null or f.kind in ('safeguard', 'role'))
    limit 1);
end;
$$;
comment on function pgmem.steering is
  'How a text steers agents: override, role, safeguard, directive, disclosure or identity; null: it does not.';


create or replace function pgmem.steers(p_arguments jsonb, p_caller pgmem.caller) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_text text;
  v_kind text;
begin
  -- What an agent may write, and an SQL session that names no other way in.
  if p_caller.trust_level > pgmem.setting_float('trust_mcp') or pgmem.decides(p_caller) then
    return null;
  end if;
  foreach v_text in array pgmem.approved_texts(p_arguments) loop
    v_kind := pgmem.steering(v_text);
    if v_kind is not null then
      return v_kind;
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.steers is
  'How one of the texts of a save steers agents, where an agent saves it; null: it does not, or a person or a program saves it.';


create or replace function pgmem.require_no_steering(p_texts jsonb, p_caller pgmem.caller) returns void
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_kind text := pgmem.steers(p_texts, p_caller);
begin
  if v_kind is not null then
    raise exception using errcode = 'PM004', message = format(
      'The text steers agents (%s), so only a person may store it, at the command line or on the page.', v_kind);
  end if;
end;
$$;
comment on function pgmem.require_no_steering is
  'An error where an agent writes a text that steers agents by a verb whose changes cannot wait for a person.';
