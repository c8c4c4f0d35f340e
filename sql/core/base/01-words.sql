-- Words, hashes and title tokens
--
-- Two texts are the same where their normalised forms are (content_hash). Two titles are near where the Jaccard of
-- their sets of words is high; for that, each live title has rows in dedup_token. Two names are the same where they are
-- after compatible composition (NFKC) and case folding (folded); near ones are found by 18-near-names.
--
-- Those rows are a prefix filter. The words of a title are hashed and put in the frozen order of its scope, rarest first
-- (token_frequency). The floor(n/2) + 1 rarest of its n words are indexed: a title that shares half of its words with
-- another shares one of these. docs/decisions, near-duplicates, has the proof and the figures.
--
-- Locks: none.


create or replace function pgmem.folded(p_name text) returns text
language sql immutable parallel safe
begin atomic
  -- The expression of the index node_key_unique, into which it is inlined.
  select lower(normalize(p_name, NFKC));
end;
comment on function pgmem.folded is
  'A name as names are compared: without regard to case, and to how its characters are composed.';


-- Symbols, such as arrows and emoji, and the signs that some scripts add to their letters are not words for a regular
-- expression, and yet two titles that differ in them differ.
create or replace function pgmem.normalize(p_text text) returns text
language plpgsql immutable strict parallel safe as $$
begin
  -- Most texts are plain ASCII, and composing would cost more than the rest. Most blanks are single spaces already.
  if octet_length(p_text) = length(p_text) then
    return btrim(regexp_replace(regexp_replace(lower(p_text), '[^\w\s]', '', 'g'), '\s{2,}|[^\S ]', ' ', 'g'));
  end if;
  return btrim(regexp_replace(regexp_replace(lower(normalize(p_text, NFKC)),
    '[^\w\s\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff\u2190-\u2bff\u3200-\u33ff\U0001f000-\U0001faff]', '', 'g'),
    '\s{2,}|[^\S ]', ' ', 'g'));
end;
$$;
comment on function pgmem.normalize is
  'The form that two texts share when they are the same: lower case, composed, no punctuation, single spaces.';


create or replace function pgmem.segmented_runs(p_text text) returns text
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_run  text;
  v_text text := p_text;
begin
  -- Chinese, Japanese and Korean are written without blanks: a run of them is searched by its pairs of neighbours.
  if p_text !~ '[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]' then
    return p_text;
  end if;
  for v_run in
    select distinct m[1]
    from regexp_matches(p_text, '([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,})', 'g') m
               order by 1 desc loop
    v_text := replace(v_text, v_run, ' ' || (select string_agg(substr(v_run, i, 2), ' ' order by i)
      from generate_series(1, length(v_run) - 1) i) || ' ');
  end loop;
  return v_text;
end;
$$;
comment on function pgmem.segmented_runs is
  'A text as the parser can take it: runs of CJK characters become overlapping pairs.';


-- Most texts are plain ASCII, which has nothing to segment.
create or replace function pgmem.segment(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select case when octet_length(p_text) = length(p_text) then p_text else pgmem.segmented_runs(p_text) end;
end;
comment on function pgmem.segment is
  'The same as segmented_runs, which is asked only of a text that may hold CJK characters.';


-- Nested replacements, which cost a tenth of a translation by a list. The camel of a name is cut before a capital that
-- follows a small letter, and before the last one of several: "parseHTTPBody" has three parts.
create or replace function pgmem.parted(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select regexp_replace(
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(pgmem.segment(p_text),
      '.', ' '), '_', ' '), '/', ' '), ':', ' '), '-', ' '), '@', ' '), '\', ' '), '+', ' '), '<', ' '), '>', ' '), '=', ' '),
    '(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])', ' ', 'g');
end;
comment on function pgmem.parted is
  'A text with its names taken apart: paths, versions, flags, snake_case and camelCase become words, CJK runs pairs.';


-- A longer text is not a name. Outer signs do not count: --dry-run and dry-run are one.
create or replace function pgmem.wholes(p_text text) returns text[]
language sql immutable strict parallel safe
begin atomic
  select coalesce(array_agg(distinct '=' || lower(m.whole[1])), '{}')
  from regexp_matches(pgmem.segment(p_text),
    '\w+(?:[.:/\\@+-]+\w+)+|\w*[[:alnum:]]_\w+|\w*(?:[a-z][A-Z]|[A-Z0-9][A-Z][a-z])\w*', 'g') as m(whole)
  where length(m.whole[1]) <= 100;
end;
comment on function pgmem.wholes is
  'The names in a text that have several parts, each as it is written, in lower case behind the sign = .';


-- The words that hold sentences together are the stop words of PostgreSQL's own dictionaries; the most frequent are short.
create or replace function pgmem.short_words(p_text text) returns text[]
language plpgsql immutable strict parallel safe as $$
begin
  return array(select distinct m.word[1] from regexp_matches(lower(left(p_text, 300)),
    case when length(p_text) > 100 then '\m[[:alpha:]]{1,4}\M' else '[[:alpha:]]+' end, 'g') as m(word));
end;
$$;
comment on function pgmem.short_words is
  'The words of a short text, and of a longer one those of one to four letters among the first 300 characters; each once.';


create or replace function pgmem.stop_words_in(p_words text[]) returns table (language text, number bigint)
language sql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
  select d.language, count(*) filter (where ts_lexize(d.dictionary, w.word) = '{}')
  from unnest(p_words) as w(word)
  cross join (values ('english', 'english_stem'::regdictionary), ('german', 'german_stem'), ('french', 'french_stem'),
    ('spanish', 'spanish_stem'), ('italian', 'italian_stem'), ('portuguese', 'portuguese_stem'), ('dutch', 'dutch_stem'),
    ('swedish', 'swedish_stem')) as d(language, dictionary)
  group by d.language;
$$;
comment on function pgmem.stop_words_in is 'How many of some words are stop words of each language.';


-- Most English texts show it by an article and one word more. Else at least two stop words, and more than of English.
-- Cyrillic letters are enough for Russian, whose rules come near to those of its neighbours. Where half of six words or
-- more are stop words of English, no other language is asked: they share few.
create or replace function pgmem.language_of(p_text text) returns text
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_begins text := lower(left(p_text, 600));
  v_words  text[];
begin
  if octet_length(p_text) <> length(p_text) and p_text ~ '[\u0400-\u04ff]' then
    return 'russian';
  elsif strpos(v_begins, ' the ') > 0
      and substr(v_begins, strpos(v_begins, ' the ') + 4) like any ('{"% of %","% and %","% to %","% is %","% in %","% the %"}') then
    return null;
  end if;
  v_words := pgmem.short_words(p_text);
  if cardinality(v_words) > 5 and cardinality(v_words) <= 2 * (
      select count(*) from unnest(v_words) w where ts_lexize('english_stem', w) = '{}') then
    return null;
  end if;
  return (select nullif(s.language, 'english') from pgmem.stop_words_in(v_words) s
          where s.number > 1 or s.number = 1 and s.language = 'english'
          order by s.number desc, s.language = 'english' desc, s.language limit 1);
end;
$$;
comment on function pgmem.language_of is
  'The language of a text by its words, as the name of a text search configuration; null: English, or none is recognised.';


create or replace function pgmem.is_in_other_language(p_text text, p_config text) returns boolean
language sql stable parallel safe set search_path = pgmem, pg_temp as $$
  select coalesce(
    c.own = 'english' and p_text ~ '[\u0370-\u1fff\u2e80-\uffdc]'
    or (select max(s.number) filter (where s.language <> c.own) > max(s.number) filter (where s.language = c.own)
        from pgmem.stop_words_in(pgmem.short_words(p_text)) s), false)
  from (select split_part(p_config, '.', -1) as own) c;
$$;
comment on function pgmem.is_in_other_language is
  'Whether a short text is in another language than that of a store: by one stop word more, or by its signs.';


-- Where the configuration of a project is that of English, its notes may be in another language all the same.
create or replace function pgmem.own_stems(p_parted text, p_config text) returns text[]
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_language text := case when p_config in ('english', 'pg_catalog.english') then pgmem.language_of(p_parted) end;
begin
  return case when v_language is null then '{}'
    else tsvector_to_array(to_tsvector(v_language::regconfig, p_parted)) end;
end;
$$;
comment on function pgmem.own_stems is
  'The lexemes of a text in a language that is not English, by the rules of that language; empty where English is not presumed.';


create or replace function pgmem.is_whole(p_lexeme text) returns boolean
language sql immutable strict parallel safe
begin atomic
  select starts_with(p_lexeme, '=');
end;
comment on function pgmem.is_whole is 'Whether a lexeme is a name as a whole, which is shown to nobody: its parts are.';


create or replace function pgmem.word_text(p_text text) returns text
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
begin
  if octet_length(p_text) = length(p_text) then
    return lower(p_text);
  end if;
  return regexp_replace(pgmem.segment(lower(normalize(p_text, NFKC))),
    '([\u2190-\u2bff\u3200-\u33ff\U0001f000-\U0001faff])', ' \1 ', 'g');
end;
$$;
comment on function pgmem.word_text is
  'A text with its words separated: each symbol by itself, and runs of CJK characters as overlapping pairs.';


create or replace function pgmem.title_words(p_text text) returns table (words text[])
language sql immutable parallel safe
begin atomic
  select coalesce(array_agg(distinct word), '{}')
  from regexp_split_to_table(pgmem.word_text(p_text),
    '[^\w\u0900-\u0dff\u0e00-\u109f\u1780-\u17ff\u2190-\u2bff\u3200-\u33ff\U0001f000-\U0001faff]+') as word
  where word <> '';
end;
comment on function pgmem.title_words is
  'The set of words and symbols of a text, as Jaccard compares them (a hyphen splits; normalize() joins); one row.';


create or replace function pgmem.tokens(p_text text) returns text[]
language sql immutable strict parallel safe
begin atomic
  select w.words from pgmem.title_words(p_text) w;
end;
comment on function pgmem.tokens is
  'The set of words of a text, as Jaccard compares them (a hyphen splits; normalize() joins).';


create or replace function pgmem.jaccard(p_a text[], p_b text[]) returns float8
language sql immutable strict parallel safe
begin atomic
  select case when cardinality(p_a) = 0 or cardinality(p_b) = 0 then 0.0
              else s.shared::float8 / (cardinality(p_a) + cardinality(p_b) - s.shared) end
  from (select count(*) as shared from unnest(p_a) as a(token) join unnest(p_b) as b(token) using (token)) s;
end;
comment on function pgmem.jaccard is 'Shared tokens over all tokens of two token sets; 0 when either is empty.';


create or replace function pgmem.content_hash(p_parts text[]) returns text
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_part text;
  v_text text;
begin
  -- A long list in one statement: a text that grows part by part is copied at each.
  if cardinality(p_parts) > 20 then
    return encode(sha256(convert_to((
      select string_agg(coalesce(nullif(pgmem.normalize(p.part), ''), regexp_replace(p.part, '\s+', ' ', 'g')),
                        e'\n' order by p.place)
      from unnest(p_parts) with ordinality as p(part, place) where p.part is not null), 'UTF8')), 'hex');
  end if;
  -- Each part is normalised by itself and ends at a newline, which normalize() never leaves inside a part: ["do a",
  -- "do b"] and ["do a do b"] get different hashes. A part without a word counts as written: two emoji are two.
  foreach v_part in array p_parts loop
    continue when v_part is null;
    v_text := concat(v_text || e'\n',
                     coalesce(nullif(pgmem.normalize(v_part), ''), regexp_replace(v_part, '\s+', ' ', 'g')));
  end loop;
  return encode(sha256(convert_to(v_text, 'UTF8')), 'hex');
end;
$$;
comment on function pgmem.content_hash is 'SHA-256 (64 hex digits) of the normalised parts of a memory.';


create or replace function pgmem.ranked_tokens(p_tokens text[], p_scope_key bigint) returns table (ranked bigint[])
language sql stable parallel safe
begin atomic
  select coalesce(array_agg(h.token order by coalesce(h.frequency, 0), h.token), '{}')
  from (select w.token, (select f.frequency from pgmem.token_frequency f
                         where f.scope_key = p_scope_key and f.token = w.token) as frequency
        from (select hashtextextended(word, 0) as token from unnest(p_tokens) as word offset 0) w offset 0) h;
end;
comment on function pgmem.ranked_tokens is
  'The tokens of a title, hashed, in the frozen order of its scope, rarest first; unknown ones count as rarest. One row.';


create or replace function pgmem.token_signature(p_tokens bigint[]) returns table (signature bigint)
language sql immutable parallel safe
begin atomic
  select coalesce(bit_or(1::bigint << (token & 63)::integer), 0) from unnest(p_tokens) as token;
end;
comment on function pgmem.token_signature is '64-bit Bloom filter of a token set; one row.';


create or replace function pgmem.title_entries(p_ranked bigint[]) returns table (
  token bigint,
  signature bigint,
  size integer,
  weight integer
)
language sql immutable parallel safe
begin atomic
  select prefix.token, s.signature, cardinality(p_ranked),
         2 * cardinality(p_ranked) - 3 * (prefix.position::integer - 1)
  from pgmem.token_signature(p_ranked) s
  cross join unnest(p_ranked[1 : cardinality(p_ranked) / 2 + 1]) with ordinality as prefix(token, position);
end;
comment on function pgmem.title_entries is
  'The rows of the near-duplicate index for a live title, from its ranked tokens: those of its floor(n/2) + 1 rarest.';


create or replace function pgmem.name_trigrams(p_name text) returns text[]
language plpgsql immutable strict parallel safe as $$
begin
  return array(
    select distinct substr(padded.name, i, 3)
    from (select '  ' || btrim(regexp_replace(lower(normalize(left(p_name, 200), NFKC)), '[\s_-]+', ' ', 'g')) || ' ')
      as padded(name)
    cross join generate_series(1, length(padded.name) - 2) as i);
end;
$$;
comment on function pgmem.name_trigrams is
  'The groups of three characters of a name without regard to case, hyphens and underscores.';


create or replace function pgmem.name_similarity(p_a text, p_b text) returns float8
language sql immutable strict parallel safe
begin atomic
  select pgmem.jaccard(pgmem.name_trigrams(p_a), pgmem.name_trigrams(p_b));
end;
comment on function pgmem.name_similarity is
  'How alike two names are, 0 to 1: the Jaccard of their trigrams; 1 for two spellings of one name.';


create or replace function pgmem.did_you_mean(p_name text, p_known text[], p_else text) returns text
language sql immutable parallel safe
begin atomic
  select coalesce(
    'Did you mean ' || string_agg(near.name, ' or ' order by near.similarity desc, near.name) || '?', p_else)
  from (select k.name, pgmem.name_similarity(p_name, k.name) as similarity from unnest(p_known) as k(name)
        order by 2 desc, 1 limit 2) near
  where near.similarity >= 0.3
    or array(select unnest(string_to_array(lower(near.name), null)) order by 1)
      = array(select unnest(string_to_array(lower(p_name), null)) order by 1);
end;
comment on function pgmem.did_you_mean is
  'The sentence of an error about an unknown name: the one or two known names nearest to it, by their trigrams or '
  'because they have the same letters in another order; else p_else.';


-- The expression of the index node_name, into which it is inlined.
create or replace function pgmem.name_hash(p_name text) returns bigint
language sql immutable parallel safe
begin atomic
  select hashtextextended(lower(normalize(translate(p_name, '-_', '  '), NFKC)), 0);
end;
comment on function pgmem.name_hash is
  'The hash by which the index over names finds a name: case, hyphens and underscores do not count.';
