-- The words of a query
--
-- A text is found by its lexemes (06-derived). A query brings more than its lexemes: the other forms of irregular
-- English words, the names of agents and entities that are in it, and the dates it names. All of it is found here,
-- inside the verb, so that the same query with the same vector ranks the same from psql, Python and MCP.
--
-- Locks: none.


-- A question seldom holds the form of a word that its answer has: "when did she go" and "we went". The stemmer joins
-- the regular forms; these are the others, of verbs and nouns, as it leaves each. Forms whose other sense is the usual
-- one (ground, bore, lives, leaves) are left out.
create or replace function pgmem.inflections(p_lexeme text) returns text[]
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  -- words: as is below
  v_forms constant text := '
    ; aris aros arisen ; awak awok awoken ; beat beaten ; becom becam ; begin began begun ; bend bent ;
    ; bind bound ; bite bit bitten ; bleed bled ; blow blew blown ; break broke broken ; breed bred ;
    ; bring brought ; build built ; burn burnt ; buy bought ; catch caught ; choos chose chosen ; cling clung ;
    ; come came ; creep crept ; deal dealt ; dig dug ; draw drew drawn ; dream dreamt ; drink drank drunk ;
    ; drive drove driven ; eat ate eaten ; fall fell fallen ; feed fed ; feel felt ; fight fought ; find found ;
    ; flee fled ; fli flew flown ; forbid forbad forbidden ; forget forgot forgotten ; forgiv forgav forgiven ;
    ; freez froze frozen ; get got gotten ; give gave given ; go went gone ; grow grew grown ; hang hung ;
    ; hear heard ; hide hid hidden ; hold held ; keep kept ; kneel knelt ; know knew known ; lay laid ; lead led ;
    ; lean leant ; leap leapt ; learn learnt ; leav left ; lend lent ; light lit ; lose lost ; make made ;
    ; mean meant ; meet met ; overcom overcam ; pay paid ; prove proven ; ride rode ridden ; ring rang rung ;
    ; rise rose risen ; run ran ; say said ; see saw seen ; seek sought ; sell sold ; send sent ; sew sewn ;
    ; shake shook shaken ; shine shone ; shoot shot ; show shown ; shrink shrank shrunk ; sing sang sung ;
    ; sink sank sunk ; sit sat ; sleep slept ; slide slid ; speak spoke spoken ; spend spent ; spill spilt ;
    ; spin spun ; spoil spoilt ; spring sprang sprung ; stand stood ; steal stole stolen ; stick stuck ;
    ; sting stung ; strike struck ; strive strove striven ; swear swore sworn ; sweep swept ; swell swollen ;
    ; swim swam swum ; swing swung ; take took taken ; teach taught ; tear tore torn ; tell told ; think thought ;
    ; throw threw thrown ; understand understood ; undergo underw undergon ; undertak undertook undertaken ;
    ; wake woke woken ; wear wore worn ; weav wove woven ; weep wept ; win won ; withdraw withdrew withdrawn ;
    ; write wrote written ; rewrit rewrot rewritten ; rebuild rebuilt ; resend resent ; overse oversaw overseen ;
    ; forese foresaw foreseen ; child children ; person peopl ; man men ; woman women ; foot feet ; tooth teeth ;
    ; mous mice ; goos gees ; wife wive ; knife knive ; half halv ; shelf shelv ; wolf wolv ; loaf loav ;
    ; thief thiev ; index indic ; matrix matric ; vertex vertic ; appendix appendic ; criterion criteria ;
    ; phenomenon phenomena ; analysi analys ; hypothesi hypothes ; crisi crise ; datum data ;';
begin
  if p_lexeme !~ '^[a-z]+$' or strpos(v_forms, ' ' || p_lexeme || ' ') = 0 then
    return array[p_lexeme];
  end if;
  return string_to_array(substring(v_forms from '; ([^;]*\m' || p_lexeme || '\M[^;]*) ;'), ' ');
end;
$$;
comment on function pgmem.inflections is
  'A lexeme of English with its irregular forms, the first form first; any other lexeme alone.';


create or replace function pgmem.query_lexemes(p_text text, p_config text) returns text[]
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_parted  text := pgmem.parted(left(p_text, 10000));
  v_lexemes text[] := tsvector_to_array(to_tsvector(p_config::regconfig, v_parted));
  v_own     text[];
begin
  if p_config::regconfig = 'pg_catalog.english'::regconfig then
    v_own := pgmem.own_stems(v_parted, 'english');
    if v_own <> '{}' then
      -- An article of that language asks for nothing; each other word, as a note of any language has it, and its stem.
      v_lexemes := array(
        select unnest(v_own) union
        select unnest(tsvector_to_array(to_tsvector('english', w))) from regexp_split_to_table(v_parted, '\s+') as w
        where to_tsvector(pgmem.language_of(v_parted)::regconfig, w) <> '');
    else
      v_lexemes := array(select distinct f.form from unnest(v_lexemes) l cross join unnest(pgmem.inflections(l)) as f(form));
    end if;
  end if;
  return v_lexemes || pgmem.wholes(left(p_text, 10000));
end;
$$;
comment on function pgmem.query_lexemes(text, text) is
  'The lexemes a query asks for, stop words left out: of an irregular English word all forms, names in parts and whole.';


-- Stop words between two words do not count in the query; in a text one word may lie between them.
create or replace function pgmem.query_pairs(p_text text, p_config text) returns text[]
language sql stable parallel safe set search_path = pgmem, pg_temp as $$
  select coalesce(array_agg(distinct p.first || e'\x1f' || p.second), '{}') from (
    select w.lexeme as second, lag(w.lexeme) over (order by w.place) as first from (
      select u.lexeme, place from unnest(to_tsvector(p_config::regconfig, pgmem.parted(left(p_text, 2000)))) as u
      cross join unnest(u.positions) as place order by place limit 25) w) p
  where p.first <> p.second;
$$;
comment on function pgmem.query_pairs is
  'The adjacent words of a query, as pairs of lexemes with the sign U+001F between them; 24 at most.';


create or replace function pgmem.every_word(p_lexemes text[]) returns tsquery
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select string_agg('(' || w.forms || ')', ' & ')::tsquery from (
    select string_agg(quote_literal(l), ' | ') as forms from unnest(p_lexemes) l
    where not pgmem.is_whole(l) group by (pgmem.inflections(l))[1]) w;
$$;
comment on function pgmem.every_word is
  'A query for all words of some lexemes, of an irregular word for any form of it; null where there is none.';


create or replace function pgmem.any_word(p_text text, p_config text) returns tsquery
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
begin
  return (select string_agg(quote_literal(lexeme), ' | ')::tsquery
          from unnest(pgmem.query_lexemes(p_text, p_config)) as lexeme);
end;
$$;
comment on function pgmem.any_word is
  'A query for any word of a text, never for all of them at once; null where the text holds only stop words.';


-- A name of one word is compared as a word; only one of several words, or with signs in it, needs a regular expression.
create or replace function pgmem.names_in(
  p_query text,
  p_tenants text[],
  p_project_seq bigint
) returns text[]
language plpgsql stable set search_path = pgmem, pg_temp as $$
begin
  return (
  with word as materialized (
    select array_agg(distinct m[1]) as words from regexp_matches(lower(left(p_query, 10000)), '(\w+)', 'g') m
  )
  select coalesce(array_agg(distinct known.name), '{}')
  from (
    select w.name from pgmem.project_writers(p_tenants, p_project_seq) w
    union all
    select e.key from word cross join unnest(word.words) as w(name) cross join lateral (
      select n.key from pgmem.node n
      where pgmem.name_hash(coalesce(n.key, n.title)) = pgmem.name_hash(w.name)
        and lower(n.key) = w.name and n.label in ('EntityFact', 'Person') and n.tenant = any (p_tenants)
        and n.status = 'active' and (p_project_seq is null or n.project_seq = p_project_seq) offset 0) e
    where length(w.name) > 2
  ) known cross join word
  where case when lower(known.name) ~ '^\w+$' then lower(known.name) = any (word.words)
    else strpos(lower(p_query), lower(known.name)) > 0 and p_query ~* ('\m' || pgmem.literal(known.name) || '\M') end);
end;
$$;
comment on function pgmem.names_in is
  'Names of agents that wrote in a project, and of its entities, that are in a query.';


create or replace function pgmem.literal(p_text text) returns text
language sql immutable strict parallel safe
begin atomic
  select regexp_replace(p_text, '([.*+?^${}()|\[\]\\])', '\\\1', 'g');
end;
comment on function pgmem.literal is 'A regular expression that matches a text as it is written.';


-- A loose index scan: each step jumps to the next writer, whatever the number of memories.
create or replace function pgmem.project_writers(
  p_tenants text[],
  p_project_seq bigint
) returns table (
  name text
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with recursive writer(name, found) as (
    (select n.agent_id, 1 from pgmem.node n
     where n.project_seq = p_project_seq and n.agent_id is not null and n.tenant = any (p_tenants)
     order by n.agent_id limit 1)
    union all
    select (select n.agent_id from pgmem.node n
            where n.project_seq = p_project_seq and n.agent_id > w.name and n.tenant = any (p_tenants)
            order by n.agent_id limit 1), w.found + 1
    from writer w where w.name is not null and w.found < 200
  )
  select w.name from writer w where w.name is not null;
end;
$$;
comment on function pgmem.project_writers(text[], bigint) is 'The agents that have written in a project, at most 200.';


create or replace function pgmem.try_date(p_text text) returns timestamptz
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
begin
  return p_text::timestamptz;
exception when invalid_datetime_format or datetime_field_overflow then
  return null;
end;
$$;
comment on function pgmem.try_date(text) is 'A date, or null where the text is none (31 February).';


create or replace function pgmem.dates_asked(p_query text) returns tstzrange[]
language sql stable strict parallel safe set search_path = pgmem, pg_temp as $$
  -- Days, months and years in words or ISO form; the narrowest that is named counts, each as the span it covers.
  with name(pattern) as (
    values ('(?:january|february|march|april|may|june|july|august|september|october|november|december'
      '|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)')
  ), named(kind, day) as (
    select 'day', pgmem.try_date(concat_ws(' ', m[1], m[2], m[3]))
    from name, regexp_matches(lower(p_query),
      '\m(\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?(' || pattern || '),?\s+(\d{4})\M', 'g') m
    union all
    select 'day', pgmem.try_date(concat_ws(' ', m[2], m[1], m[3]))
    from name, regexp_matches(lower(p_query), '\m(' || pattern || ')\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\M', 'g') m
    union all
    select 'day', pgmem.try_date(m[1]) from regexp_matches(p_query, '\m(\d{4}-\d{2}-\d{2})\M', 'g') m
    union all
    select 'month', pgmem.try_date(concat_ws(' ', '1', m[1], m[2]))
    from name, regexp_matches(lower(p_query), '\m(' || pattern || ')(?:\s+of)?,?\s+(\d{4})\M', 'g') m
    union all
    select 'year', pgmem.try_date(m[1] || '-01-01') from regexp_matches(p_query, '\m((?:19|20)\d{2})\M', 'g') m
  )
  select array_agg(tstzrange(day, day + case kind
    when 'day' then interval '1 day' when 'month' then interval '1 month' else interval '1 year' end))
  from named
  where day is not null
    and kind = (
      select t.kind from named t where t.day is not null order by array_position('{day,month,year}', t.kind) limit 1);
$$;
comment on function pgmem.dates_asked is
  'The spans of time a query names: days, else months, else years; null when none.';


create or replace function pgmem.asks_fact(p_query text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_query ~* '^\W*(where|when (did|do|does|is|are|was|were|will|has|have|had)|who|whose|whom|how (many|much|long|often|old|far|big)|(what|which) (day|date|time|year|place|number))\M';
end;
comment on function pgmem.asks_fact is 'Whether a question asks for a place, a time, a person or a number.';


-- Who asks when wants to read a time. A question asks for one where an auxiliary follows "when"; "when I travel" asks
-- for none. The words are as the stemmer of English leaves them; those whose other sense is the usual one (second,
-- fall, last, even of evening) are left out.
create or replace function pgmem.times_asked(p_query text, p_config text) returns tsquery
language sql immutable parallel safe
begin atomic
  select case when p_config::regconfig = 'pg_catalog.english'::regconfig
      and p_query ~* concat(
        '\mwhen( (and|or) where)?(''s| (did|do|does|is|are|was|were|will|would|should|can|could|has|have|had))\M',
        '|\m(what|which) (date|day|month|year|time|week|weekend|season)s?\M')
    then concat_ws('|',
      'today|tonight|yesterday|tomorrow|ago|recent|morn|noon|afternoon|night|midnight|pm|clock|hour|day|date|week',
      'weekend|month|year|spring|summer|autumn|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday',
      'januari|februari|march|april|may|june|juli|august|septemb|octob|novemb|decemb')::tsquery end;
end;
comment on function pgmem.times_asked is
  'The words of a text that name a time, if an English query asks for one; else null.';


create or replace function pgmem.date_match(p_told timestamptz, p_asked tstzrange[]) returns float8
language sql stable parallel safe set search_path = pgmem, pg_temp as $$
  -- 1 within the span, less by e for every week outside it: an event is often recorded some days later.
  select coalesce(max(case when p_told <@ span then 1.0 else exp(-least(100, least(
      abs(extract(epoch from p_told - lower(span))),
      abs(extract(epoch from p_told - upper(span))))::float8 / 604800)) end), 0)
  from unnest(p_asked) as span;
$$;
comment on function pgmem.date_match is
  'How near a time is to the spans a query names: 1 inside, falling by e a week outside.';


-- Bounded like the cache of an interface: 200 agents, and the 300 entities and people that were saved last.
create or replace function pgmem.known_names(p_tenants text[], p_project_seq bigint) returns text[]
language sql stable set search_path = pgmem, pg_temp as $$
  select array(
    select w.name from pgmem.project_writers(p_tenants, p_project_seq) w
    union
    select named.key
    from unnest('{EntityFact,Person}'::text[]) as l(label)
    cross join unnest(p_tenants) as t(tenant)
    cross join lateral (
      select n.key from pgmem.node n
      where n.label = l.label and n.tenant = t.tenant and n.project_seq = p_project_seq and n.status = 'active'
        and n.key is not null limit 300) named);
$$;
comment on function pgmem.known_names is 'Names of agents that wrote in a project, and of entities in it.';


select pgmem.declare_answer('search_terms_answer', $$
What of a query to embed, the names that it has, and those that are known.

text_to_embed text, names text[], known text[]
$$);

create or replace function pgmem.search_terms(
  p_query text,
  p_project_id text default null
) returns pgmem.search_terms_answer
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
declare
  v_answer pgmem.search_terms_answer;
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_name   text;
begin
  v_answer.known := case when v_scope.project_seq is null then '{}'
    else pgmem.known_names(v_caller.tenants, v_scope.project_seq) end;
  v_answer.names := pgmem.names_in(coalesce(p_query, ''), v_caller.tenants, v_scope.project_seq);
  v_answer.text_to_embed := p_query;
  foreach v_name in array v_answer.names loop
    v_answer.text_to_embed := regexp_replace(v_answer.text_to_embed,
      '\m' || pgmem.literal(v_name) || '(''s)?\M', '', 'gi');
  end loop;
  -- A model ranks texts that merely mention a name; names are matched exactly.
  if pgmem.normalize(v_answer.text_to_embed) = '' then
    v_answer.text_to_embed := p_query;
  end if;
  return v_answer;
end;
$$;
comment on function pgmem.search_terms is $$
The part of a query to embed: without the names of agents and entities, which search matches exactly.

known are the names of the project, at most 200 agents and 300 entities and people of each tenant: an interface that keeps
them for a moment strips a query without asking again.

query: words or a question.
$$;
select pgmem.declare_verb('search_terms', p_rights => 'reader', p_effect => 'read', p_patience => 'answer',
  p_reads_all => 'It looks at all words that memories have.');
