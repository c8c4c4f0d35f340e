-- Columns that follow from the text of a memory
--
-- A memory is stored with columns that follow from its label, title and properties: the hash by which its content is
-- known again, the words of its title, the lexemes by which it is found, and the features that a search weighs. They are
-- composed here and nowhere else, so a memory that is saved, changed, imported or renewed by an upgrade has the same ones.
--
-- composed makes the key, title and properties of a stored memory those of this release; derived makes
-- the columns that follow from them. Both return one row and are merged into the statement that uses them, so many rows
-- are one statement: from pgmem.node n, pgmem.composed(…) c, pgmem.derived(…) d. Columns that are not used cost nothing.
--
-- Locks: none.


-- A name is found by its parts, which have places, and as a whole, which has none. One in camelCase is found in lower case
-- too, and a word of another language than the configuration's by its own stem. The title's words have the weight A.
create or replace function pgmem.lexemes_of(p_config text, p_text text, p_title text) returns tsvector
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_config regconfig := p_config::regconfig;
  v_parted text := pgmem.parted(substr(p_text, coalesce(length(p_title), 0) + 1));
  v_title  text := pgmem.parted(p_title);
  v_more   text[] := pgmem.wholes(p_text);
  v_camel  text;
  v_tsv    tsvector := to_tsvector(v_config, v_parted);
begin
  if p_title is not null then
    v_tsv := setweight(to_tsvector(v_config, v_title), 'A') || v_tsv;
  end if;
  if v_more <> '{}' then
    v_camel := (select string_agg(substr(w, 2), ' ') from unnest(v_more) w where w ~ '^=[^\W_]+$');
    if v_camel is not null then
      v_more := v_more || tsvector_to_array(to_tsvector(v_config, v_camel));
    end if;
  end if;
  v_more := v_more || pgmem.own_stems(concat(v_title, v_parted), p_config);
  return case when v_more = '{}' then v_tsv else v_tsv || array_to_tsvector(v_more) end;
end;
$$;
comment on function pgmem.lexemes_of is
  'The lexemes of a text: its words with their places, names in parts, and names as wholes without a place.';


create or replace function pgmem.text_vector(p_config text, p_text text, p_title text default null) returns tsvector
language plpgsql stable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_length integer := length(p_text);
begin
  if v_length < 60000 then
    return pgmem.lexemes_of(p_config, p_text, p_title);
  end if;
  loop
    begin
      return pgmem.lexemes_of(p_config, left(p_text, v_length), p_title);
    exception when program_limit_exceeded then
      v_length := v_length / 2;
    end;
  end loop;
end;
$$;
comment on function pgmem.text_vector is
  'The lexemes of a text; of the beginning of a long one where all of them would exceed the 1 MB that a tsvector can hold.';


create or replace function pgmem.asks(p_text text) returns boolean
language sql immutable parallel safe
begin atomic
  select right(rtrim(p_text, e' \t\r\n"'')'), 1) in ('?', '？');
end;
comment on function pgmem.asks is 'Whether a text ends in a question mark.';


-- Only the opening: an instruction is short, and a long text gives advice somewhere. The title begins a sentence of its
-- own. "Always happy to help" and "Never give up!" are none: an instruction names an action, in three words or more.
create or replace function pgmem.opening(p_title text, p_text text) returns text
language sql immutable parallel safe
begin atomic
  select lower(case when starts_with(p_text, p_title || ' ')
    then p_title || e'\n' || substr(p_text, length(p_title) + 2, 300) else left(p_text, 300) end);
end;
comment on function pgmem.opening is 'The beginning of a text in lower case, with its title as a separate line.';


-- Two patterns, because one of all takes three times as long as both. Each is a constant, so that the function is
-- inlined.
create or replace function pgmem.instructs(p_title text, p_text text) returns boolean
language sql immutable parallel safe
begin atomic
  select pgmem.opening(p_title, p_text) ~ (
      '^(standing )?instructions?\M'
      '|(^|[.!?;:\n]\s*)(please |just )?(always|never|do(n.?t| not) ever) '
      '(?!(happy|glad|here|there|good|great|nice|fun|easy|an?|the|been|had|up|down|in|on|so|too|more|again|mind)\M)'
      '\S+( \S+){2}')
    or pgmem.opening(p_title, p_text) ~ (
      '\m(when(ever)?|if|(every|each|any) time) i (ask|mention|request|talk|say)\M'
      '|\m(from now on|going forward),? (please|always|never|do not|don.t|use|answer|write)\M');
end;
comment on function pgmem.instructs is
  'Whether a text says how to go on from now on: it begins a sentence with always or never, or names when I ask.';


create or replace function pgmem.id_by_name(p_tenant text, p_key text) returns uuid
language sql immutable parallel safe
begin atomic
  select md5(p_tenant || e'\x1e' || p_key)::uuid;
end;
comment on function pgmem.id_by_name is
  'The id of a source text, which follows from its name, so that it is known again after a purge; another one where it is taken.';


create or replace function pgmem.make_hash() returns void
language plpgsql set search_path = pgmem, pg_temp as $make$
begin
  -- A title and the text beside it are one text; of other kinds each field, and each text of a list, is a part.
  execute format($sql$create or replace function pgmem.memory_hash(p_label text, p_title text, p_props jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case p_label %s else null end;
end $sql$, (
    select string_agg(format('when %L then pgmem.content_hash(%s)', k.label, k.parts), ' ' order by k.label)
    from (
      select l.name as label,
             case when bool_or(f.kept = 'title') then format('array[%s]', string_agg(
                 case when f.kept = 'title' then 'p_title' else format('(p_props ->> %L)', f.name) end, ' || '' '' || '
                 order by r.place))
               else string_agg(case when f.type = 'texts'
                   then format('array(select jsonb_array_elements_text(p_props -> %L))', f.name)
                   else format('array[p_props ->> %L]', f.name) end, ' || ' order by r.place) end as parts
      from pgmem.label l cross join unnest(l.repeats) with ordinality as r(name, place)
      join pgmem.field f on f.label = l.name and f.name = r.name group by l.name
      union all
      select '', 'null') k));
end;
$make$;
comment on function pgmem.make_hash is
  'Make memory_hash, the content hash of the kinds that know a repeat by it; null for a memory known otherwise.';
select pgmem.make_hash();  -- of the kinds of the release before; each kind that is declared makes it anew
comment on function pgmem.memory_hash is
  'The content hash of a memory whose kind knows repeats by it; null for one that is known by its name or its anchor.';


-- Text that is kept exactly as it was given stays so, and with it the names of projects and focus areas, which are in the
-- rows of their memories too. Composing leaves the signs of JSON as they are.
create or replace function pgmem.composed(
  p_label text,
  p_key text,
  p_title text,
  p_props jsonb,
  p_content_hash text
) returns table (
  key text,
  title text,
  props jsonb,
  content_hash text
)
language sql stable parallel safe
begin atomic
  select c.key, c.title, c.props, coalesce(pgmem.memory_hash(p_label, c.title, c.props), p_content_hash)
  from (values (pgmem.is_exact(p_label))) as given(is_exact)
  cross join lateral (select
      case when given.is_exact then p_key else normalize(p_key, NFC) end,
      case when given.is_exact then p_title else normalize(p_title, NFC) end,
      case when given.is_exact or octet_length(p_props::text) = length(p_props::text) then p_props
        else normalize(p_props::text, NFC)::jsonb end
    offset 0) as c(key, title, props);
end;
comment on function pgmem.composed is $$
A stored memory as this release would have stored it: key, title and properties composed (NFC), and its hash; one row.
$$;


create or replace function pgmem.derived(
  p_label text,
  p_title text,
  p_props jsonb,
  p_tenant text,
  p_project_seq bigint,
  p_session_id text,
  p_text_config text
) returns table (
  title_tokens text[],
  tsv tsvector,
  text_length integer,
  asks boolean,
  instructs boolean,
  statement text,
  embedding_hash text,
  titled boolean
)
language sql stable parallel safe
begin atomic
  select case when p_label = 'Decision' then pgmem.tokens(p_title) end,
    words.tsv || array_to_tsvector(pgmem.scope_lexemes(p_tenant, p_project_seq, p_label)),
    length.text_length,
    p_session_id is not null and pgmem.asks(found_by.searched_text),
    not pgmem.named_only(p_label) and pgmem.instructs(p_title, found_by.searched_text),
    pgmem.form_of(p_label, p_title, p_props),
    encode(sha256(convert_to(pgmem.marked_text(p_label, p_title, found_by.searched_text), 'UTF8')), 'hex'),
    pgmem.is_titled(p_label, p_title, found_by.searched_text)
  -- Offset 0: else the text is made again wherever it is used.
  from (select s.searched_text from pgmem.searched_text(p_label, p_title, p_props) s offset 0) found_by
  cross join lateral pgmem.text_vector(p_text_config, found_by.searched_text,
    case when pgmem.is_titled(p_label, p_title, found_by.searched_text) then p_title end) as words(tsv)
  cross join lateral pgmem.text_length(words.tsv) as length;
end;
comment on function pgmem.derived is $$
The columns of a memory that follow from its text; one row.

title_tokens are the words of a decision's title, tsv and text_length the input of full-text search, asks, instructs
and titled that of ranking, statement the form by which contradictions are found, and embedding_hash is SHA-256 of the
text of which its vector is made.
$$;
