-- Texts that are searched and shown
--
-- A node is found by its title, by the text fields that its label names in the registry, and by all its other
-- properties that are texts (search_text). Their lexemes make its tsvector, beside two lexemes that mark its tenant and
-- its project (scope_lexemes): one look-up in the index finds the words of a query within a tenant. A vector is made of
-- the same text, with the label before it and the title marked (embedding_text).
--
-- Functions that return one row as a table (searched_text, text_length; in 01-words ranked_tokens, token_signature,
-- title_entries) do so because a set-returning function is merged into the statement that uses it.
--
-- Locks: none.


create or replace function pgmem.excerpt(p_text text) returns text
language plpgsql immutable parallel safe as $$
begin
  -- Most texts are plain ASCII on one line, and the test costs a tenth of the replacement.
  if left(p_text, 160) ~ '[^ -~]|  ' then
    p_text := regexp_replace(left(p_text, 1000), '\s{2,}|[^\S ]', ' ', 'g');
  end if;
  return case when length(p_text) > 160 then left(p_text, 159) || '…' else p_text end;
end;
$$;
comment on function pgmem.excerpt is
  'The first 160 characters of a text on one line; the title of a memory that has none.';


create or replace function pgmem.joined_texts(p_list jsonb) returns text
language sql immutable strict parallel safe
begin atomic
  select string_agg(item, ' ') from jsonb_array_elements_text(p_list) as item;
end;
comment on function pgmem.joined_texts is 'The texts of a list, joined by blanks.';


create or replace function pgmem.inner_texts(p_value jsonb) returns text
language sql immutable strict parallel safe
begin atomic
  -- jsonb_path_query copies its result for each row.
  select string_agg(item, ' ' order by place)
  from jsonb_array_elements_text(jsonb_path_query_array(p_value, 'strict $.** ? (@.type() == "string")'))
    with ordinality as found(item, place);
end;
comment on function pgmem.inner_texts is 'All texts in a value, however deep, joined by blanks.';


create or replace function pgmem.other_texts(p_label text, p_props jsonb, p_but text[]) returns text
language sql immutable parallel safe
begin atomic
  -- Some hold names of detectors, states and clients, and have their content in their text fields alone.
  select case when pgmem.reads_fields(p_label) then null else (
    select string_agg(case when pgmem.reads_value(p_label) then pgmem.inner_texts(p.value)
                        when jsonb_typeof(p.value) = 'array' then pgmem.joined_texts(p.value)
                        else p.value #>> '{}' end, ' ' order by p.key collate "C")
    from jsonb_each(p_props) as p(key, value)
    where p.key <> all (array_remove(p_but, null))
      and case when pgmem.reads_value(p_label) then p.key = 'value' else case jsonb_typeof(p.value)
            -- A date or a time is not text.
            when 'string' then p.value #>> '{}' !~ '^(\d{4}-\d{2}-\d{2}([T ][0-9:.Z+-]*)?)?$'
            when 'array' then jsonb_typeof(p.value -> 0) = 'string' else false end end) end;
end;
comment on function pgmem.other_texts is
  'The texts and lists of texts among the properties of a node, but for some, in the order of their names; null: none.';


create or replace function pgmem.searched_text(p_label text, p_title text, p_props jsonb) returns table (
  searched_text text
)
language sql stable parallel safe
begin atomic
  -- A field may be a text or a list of texts; the title leads unless a field repeats it; other texts come last.
  select concat_ws(' ',
    case when l.title_field = any (l.text_fields) then null else p_title end,
    (select string_agg(case jsonb_typeof(p_props -> field) when 'array' then pgmem.joined_texts(p_props -> field)
                         else p_props ->> field end, ' ')
     from unnest(l.text_fields) as field),
    -- Most memories have none but a date, and the look costs a tenth of the call.
    case when pgmem.reads_value(p_label) or jsonb_path_exists(
        p_props - (l.text_fields || l.key_field || l.title_field),
        'strict $.* ? (@.type() == "array" || @.type() == "string" && !(@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))')
      then pgmem.other_texts(p_label, p_props, l.text_fields || l.key_field || l.title_field) end)
  from pgmem.label l where l.name = p_label;
end;
comment on function pgmem.searched_text is
  'The text by which a node is found: its title, the text fields of its label and its other texts; one row.';


-- Notes of one topic share their title; in a list without texts they look the same.
create or replace function pgmem.list_title(p_label text, p_title text, p_props jsonb) returns text
language sql immutable parallel safe set search_path = pgmem, pg_temp as $$
  select case when p_label = 'Context' and not starts_with(p_props ->> 'content', rtrim(p_title, '…'))
    then left(concat_ws(': ', p_title, p_props ->> 'content'), 200) else left(p_title, 200) end;
$$;
comment on function pgmem.list_title is
  'The title of a memory where a list shows no text of it: of a note with the beginning '
  'of its text.';


create or replace function pgmem.short_name(p_title text) returns text
language sql immutable parallel safe
begin atomic
  select '“' || case when length(p_title) > 90 then left(p_title, 89) || '…' else p_title end || '”';
end;
comment on function pgmem.short_name is 'A title as an insight quotes it.';


create or replace function pgmem.search_text(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  select s.searched_text from pgmem.searched_text(p_label, p_title, p_props) s;
end;
comment on function pgmem.search_text is
  'The text by which a node is found: its title, the text fields of its label and its other texts.';


create or replace function pgmem.text_length(p_tsv tsvector) returns table (text_length integer)
language sql immutable parallel safe
begin atomic
  select coalesce(sum(cardinality(positions))::integer, 0) from unnest(p_tsv) as u(lexeme, positions, weights);
end;
comment on function pgmem.text_length is 'How many lexemes a tsvector holds, with repeats (its positions); one row.';


create or replace function pgmem.scope_lexemes(
  p_tenant text,
  p_project_seq bigint,
  p_label text default null
) returns text[]
language sql immutable parallel safe
begin atomic
  -- Those of a source text are others, so that the index passes over turns where a query does not ask for them.
  select case when pgmem.is_source_text(p_label)
    then array['@u' || to_hex(hashtextextended(p_tenant, 0)), '@q' || coalesce(p_project_seq, 0)::text]
    else array['@t' || to_hex(hashtextextended(p_tenant, 0)), '@p' || coalesce(p_project_seq, 0)::text] end;
end;
comment on function pgmem.scope_lexemes is
  'The lexemes that mark the tenant and the project of a row inside its tsvector.';


create or replace function pgmem.lexeme_query(p_lexeme text) returns tsquery
language sql immutable strict parallel safe
begin atomic
  select quote_literal(p_lexeme)::tsquery;
end;
comment on function pgmem.lexeme_query is 'A query for one lexeme, which is taken as it is.';


-- A title that is only the beginning of its text says no more than the text: that of a turn, of a card, of a note without
-- a topic.
create or replace function pgmem.is_titled(p_label text, p_title text, p_text text) returns boolean
language sql immutable parallel safe
begin atomic
  select pgmem.has_title(p_label) and starts_with(p_text, p_title || ' ');
end;
comment on function pgmem.is_titled is
  'Whether the text by which a memory is found begins with a title that says more than that beginning.';


-- The control sign is in no text that is stored (clean_text). Whoever embeds adds the vectors of the title and of the
-- whole, each of length 1: else a title of eight words is lost among four hundred.
create or replace function pgmem.marked_text(p_label text, p_title text, p_text text) returns text
language sql immutable parallel safe
begin atomic
  select p_label || ': ' || case when pgmem.is_titled(p_label, p_title, p_text)
    then p_title || e'\x1f' || substr(p_text, length(p_title) + 2) else p_text end;
end;
comment on function pgmem.marked_text is
  'The text of which a vector is made, of the text by which a memory is found: its label before it, and the sign U+001F '
  'behind a title.';


create or replace function pgmem.embedding_text(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  select pgmem.marked_text(p_label, p_title, pgmem.search_text(p_label, p_title, p_props));
end;
comment on function pgmem.embedding_text is
  'The text of which a vector is made: the label of a node and the text by which it is found, its title marked.';


-- For one word ts_rank is the sum of 1/i^2 over its n places, divided by pi^2/6 (tsrank.c, calc_rank_or), so n follows
-- from it, at a tenth of the price of unnest(tsvector). The bounds lie half way between n - 1 and n, for n from 2 to
-- 32.
create or replace function pgmem.occurrences(p_tsv tsvector, p_word tsquery) returns integer
language sql immutable parallel safe
begin atomic
  select 1 + width_bucket(ts_rank('{1,1,1,1}'::float4[], p_tsv, p_word)::float8, array[
    0.683918, 0.793683, 0.846454, 0.87761, 0.898212, 0.912859, 0.923812, 0.932314, 0.939106, 0.944658, 0.949281,
    0.95319, 0.95654, 0.959442, 0.96198, 0.964219, 0.966209, 0.967989, 0.969591, 0.97104, 0.972357, 0.97356,
    0.974662, 0.975676, 0.976612, 0.977479, 0.978284, 0.979033, 0.979732, 0.980386, 0.980999]::float8[]);
end;
comment on function pgmem.occurrences is 'How often a text holds a word that it holds, up to 32.';


create or replace function pgmem.word_rank(p_tsv tsvector, p_query tsquery, p_norm integer default 0) returns real
language sql immutable parallel safe
begin atomic
  select ts_rank('{0.1,0.1,0.1,0.1}'::float4[], p_tsv, p_query, p_norm);
end;
comment on function pgmem.word_rank is
  'ts_rank, where a word of a title, which has the weight A, counts as any other.';


create or replace function pgmem.cited(p_props jsonb) returns table (
  target text,
  quote text,
  place bigint
)
language sql immutable parallel safe
begin atomic
  select p_props ->> 'turn', p_props ->> 'quote', 0::bigint where p_props ? 'turn'
  union all
  select c.target, null, c.place
  from jsonb_array_elements_text(case jsonb_typeof(p_props -> 'citation')
    when 'array' then p_props -> 'citation' when 'string' then jsonb_build_array(p_props -> 'citation')
    else '[]' end) with ordinality as c(target, place);
end;
comment on function pgmem.cited is 'The sources that a memory names: its turn, then its citation in order.';


create or replace function pgmem.quote_place(p_quote text, p_content text) returns integer
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_from integer := 1;
  v_at   integer;
  v_end  integer := length(p_quote);
  v_tail text;
begin
  loop
    v_at := strpos(substr(p_content, v_from), p_quote);
    if v_at = 0 then
      return 0;
    end if;
    v_at := v_from + v_at - 1;
    v_tail := substr(p_content, v_at + v_end, 2);
    -- A word or a number goes on over its joints: 8443 in 8443.5 or api in api-gateway is not the whole of it.
    if not (left(p_quote, 1) ~ '[[:alnum:]_]'
            and substr(p_content, greatest(v_at - 2, 1), least(2, v_at - 1)) ~ '([[:alnum:]_]|[[:alnum:]][.,:/@''’-])$')
        and not (right(p_quote, 1) ~ '[[:alnum:]_]' and v_tail ~ '^([[:alnum:]_]|[.,:/@''’-][[:alnum:]])') then
      return v_at;
    end if;
    v_from := v_at + 1;
  end loop;
end;
$$;
comment on function pgmem.quote_place is
  'The position of a quote in a text, cut within no word and no number; 0: nowhere.';


create or replace function pgmem.text_under(p_label text, p_title text, p_props jsonb) returns text
language sql stable parallel safe
begin atomic
  select coalesce(
    (select string_agg(t.text, ' · ' order by f.place)
     from unnest(l.text_fields) with ordinality as f(name, place)
     cross join lateral (
       select nullif(case jsonb_typeof(p_props -> f.name)
         when 'array' then (select string_agg(item, '; ') from jsonb_array_elements_text(p_props -> f.name) as item)
         else p_props ->> f.name end, '') as text) t
     where f.name <> 'owner' and t.text is not null and t.text is distinct from p_title),
    pgmem.other_texts(p_label, p_props, array[l.key_field, l.title_field]))
  from pgmem.label l where l.name = p_label;
end;
comment on function pgmem.text_under is
  'The text of a list below a title: the text fields of a memory but its title, or its other texts; null: none.';
