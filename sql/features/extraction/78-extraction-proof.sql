-- Proof of extracted texts
--
-- A text that a model made of a turn is stored only if its quote bears it out:
--
--   the quote is in the stored turn, word for word, and is not cut within a word or a number;
--   every name and every number of the text is in the quote (a name: a word with a capital letter or a digit);
--   the name of an entity is in the quote whole;
--   at least extraction_overlap of the other words of the text are in the quote, as stems;
--   the text says not, never or the like exactly if the turn does, in the clauses that the quote is of.
--
-- This says little of the meaning of the words together: a quote can be read wrongly, which is why the trust stays that of
-- the turn. Nor does it prove names that no capital letter marks (those of scripts without case, or written small), a
-- denial in other languages than says_not knows, or that two halves of a quote belong together.
--
-- Locks: none.


select pgmem.declare_table('extraction', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'all');
select pgmem.declare_table('extraction_day', 'owner', p_shown_to => 'tenant', p_moves => 'always', p_adopted => 'missing');


create or replace function pgmem.unsupported(
  p_claim text,
  p_name text,
  p_quote text,
  p_content text,
  p_text_config text
) returns text
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_quote   text := btrim(regexp_replace(p_quote, '\s+', ' ', 'g'));
  v_missing text;
begin
  if coalesce(length(v_quote), 0) not between 8 and 2000 then
    return 'quote has 8 to 2000 characters of the turn.';
  elsif pgmem.quote_place(v_quote, regexp_replace(p_content, '\s+', ' ', 'g')) = 0 then
    return 'quote is not in that turn.';
  end if;
  v_missing := (select claimed from unnest(pgmem.names_and_numbers(concat_ws('. ', p_name, p_claim))) claimed
                where claimed <> all (pgmem.quoted_words(v_quote)) limit 1);
  if v_missing is not null then
    return format('%s is in the text but not in the quote.', quote_literal(left(v_missing, 80)));
  elsif pgmem.quote_overlap(p_name, v_quote, p_text_config) < 1 then
    return format('The name %s is not in the quote.', quote_literal(left(p_name, 80)));
  elsif pgmem.quote_overlap(p_claim, v_quote, p_text_config) < pgmem.setting_float('extraction_overlap') then
    return 'The quote holds too few words of the text.';
  end if;
  return null;
end;
$$;
comment on function pgmem.unsupported is 'Why a quote does not support a text that was made of a turn; null: it does.';


create or replace function pgmem.misread(p_claim text, p_quote text, p_content text) returns text
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_quote   text := btrim(regexp_replace(p_quote, '\s+', ' ', 'g'));
  v_content text := regexp_replace(p_content, '\s+', ' ', 'g');
  v_place   integer := pgmem.quote_place(v_quote, v_content);
begin
  return case when pgmem.says_not(p_claim) <> pgmem.says_not(
      substring(left(v_content, v_place - 1) from '[^.,;:!?]*$') || v_quote
        || substring(substr(v_content, v_place + length(v_quote)) from '^[^.,;:!?]*'))
    then 'The turn says not and the text does not, or the other way round: quote the clause that the text is of.' end;
end;
$$;
comment on function pgmem.misread is
  'Why a text says the contrary of the clauses of its quote; null: it does not.';


create or replace function pgmem.says_not(p_text text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_text ~* '\m(no|not|never|none|neither|nor|without|cannot|no longer|stop\w*|ceased?|forb[ia]d\w*|ban|bann\w+|'
    'disallow\w*|prohibit\w*|refus\w*|den(y|ie[sd])|nicht\w*|nie|niemals|kein\w*|ohne|verboten\w*|ne|pas|jamais|sans|'
    'aucune?|interdit\w*|nunca|jamás|sin|ningun[oa]?|prohibid\w*)\M|n[''’]t\M|\mn[''’]';
end;
comment on function pgmem.says_not is 'Whether a text holds a word that denies, in English, German, French or Spanish.';


-- A class such as [[:digit:]] depends on the collation of the database. NFKC makes full-width digits plain ones.
create or replace function pgmem.plain_digits(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select translate(normalize(p_text, NFKC),
    '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹߀߁߂߃߄߅߆߇߈߉०१२३४५६७८९০১২৩৪৫৬৭৮৯੦੧੨੩੪੫੬੭੮੯' ||
    '૦૧૨૩૪૫૬૭૮૯୦୧୨୩୪୫୬୭୮୯௦௧௨௩௪௫௬௭௮௯౦౧౨౩౪౫౬౭౮౯೦೧೨೩೪೫೬೭೮೯൦൧൨൩൪൫൬൭൮൯' ||
    '๐๑๒๓๔๕๖๗๘๙໐໑໒໓໔໕໖໗໘໙༠༡༢༣༤༥༦༧༨༩၀၁၂၃၄၅၆၇၈၉០១២៣៤៥៦៧៨៩᠐᠑᠒᠓᠔᠕᠖᠗᠘᠙',
    repeat('0123456789', 18));
end;
comment on function pgmem.plain_digits is 'A text in the compatible form of Unicode, with the digits of every script as 0 to 9.';


create or replace function pgmem.words_joined(p_text text) returns setof text
language sql immutable parallel safe
begin atomic
  select m[1] from regexp_matches(regexp_replace(pgmem.plain_digits(p_text), '[''’]s\M', '', 'g'),
    '([[:alnum:]_]+(?:[.,:/@''’+-]+[[:alnum:]_]+)*)', 'g') m;
end;
comment on function pgmem.words_joined is
  'The words and numbers of a text, compounds with their joints: 8443.5, api-gateway.';


create or replace function pgmem.names_and_numbers(p_text text) returns text[]
language sql immutable parallel safe
begin atomic
  select coalesce(array_agg(distinct lower(word)), '{}') from pgmem.words_joined(p_text) word
  where word ~ '[0-9]' or word <> lower(word);
end;
comment on function pgmem.names_and_numbers is
  'The words of a text with a capital letter or a digit of any script, in lower case.';


create or replace function pgmem.quoted_words(p_quote text) returns text[]
language sql immutable parallel safe
begin atomic
  -- A number keeps its point and comma: 1 is not part of 2.1.
  select coalesce(array_agg(distinct lower(part)), '{}') from pgmem.words_joined(p_quote) word
  cross join lateral (
    select word as part
    union all select p from regexp_split_to_table(word, '[/@''’+-]') p
    union all select p
    from regexp_split_to_table(word, '[/@''’+-]|(?<=[[:alpha:]_])[.,:]|[.,:](?=[[:alpha:]_])') p) parts;
end;
comment on function pgmem.quoted_words is
  'The words and numbers of a quote, and the parts of joined ones, in lower case.';


create or replace function pgmem.quote_overlap(p_text text, p_quote text, p_text_config text) returns float8
language sql stable parallel safe set search_path = pgmem, pg_temp as $$
  select case when p_text is null then 1.0 else coalesce((
    select count(*) filter (where said.word = any (tsvector_to_array(
             to_tsvector(p_text_config::regconfig, p_quote))))::float8 / nullif(count(*), 0)
    from unnest(tsvector_to_array(to_tsvector(p_text_config::regconfig, p_text))) as said(word)), 0.0) end;
$$;
comment on function pgmem.quote_overlap is
  'The share of the words of a text, as stems, that are in a quote; 1 for no text, 0 for one without words.';
