-- Standing texts: whether they contradict each other, and which say the same
--
-- Standing texts are few, so all pairs are compared, by their statements and not by their likeness. A text is
-- read clause by clause (read_rules); each clause has a sign, and the stems and concepts of its words:
--
--   sign      no: it forbids; ask: it wants to be asked first; unasked: it may be done without; do: all else
--   content   its subject: "never push to main" is push, main
--   scope     of a clause that only follows, as in "tests run against a database, never mocks": that of the clause before
--   slot      a choice of which one holds: tabs or spaces, a language, a program of a family, a number
--
-- Two contradict each other where one forbids, or wants to be asked for, all that the other one says to do and perhaps more
-- ("small fixes go to main", "never commit to main"), or where both fill one slot of the same thing differently. Two say the
-- same where signs and contents agree in all but a word or two, none of which names a branch, a program or a number.
--
-- A clause about I or about the past is a report. Nothing is learned; the words are those of act_words and of slot_forms.
--
-- Locks: none.


create or replace function pgmem.slot_forms() returns table (slot text, value text, form text)
language sql immutable
begin atomic
  -- words: as is below
  select f.slot, f.value, f.form
  from (values
    ('indentation', 'tabs', '\m(tabs?|tabulator\w*|tabulacion\w*|tabulations?)\M|制表符'),
    ('indentation', 'spaces', '\m(spaces|leerzeichen|espacios|espaces)\M|空格'),
    ('quotes', 'single', '\m(single[- ]quot\w*|einfache anfuhrungszeichen|comillas simples|guillemets simples|apostrophes)\M|单引号'),
    ('quotes', 'double', '\m(double[- ]quot\w*|doppelte anfuhrungszeichen|comillas dobles|guillemets doubles)\M|双引号'),
    ('language', 'english', '\m(english|englisch\w*|ingles|anglais)\M|英文|英语'),
    ('language', 'german', '\m(german|deutsch\w*|aleman|allemand)\M|德文|德语'),
    ('language', 'french', '\m(french|franzosisch\w*|frances|francais)\M|法文|法语'),
    ('language', 'spanish', '\m(spanish|spanisch\w*|espanol|espagnol)\M|西班牙语'),
    ('language', 'chinese', '\m(chinese|chinesisch\w*|chino|chinois)\M|中文|汉语'),
    ('language', 'japanese', '\m(japanese|japanisch\w*|japones|japonais)\M|日文|日语'),
    ('names', 'snake_case', '\msnake[_ -]?case\M'),
    ('names', 'camelCase', '\mcamel[_ -]?case\M'),
    ('names', 'PascalCase', '\mpascal[_ -]?case\M'),
    ('names', 'kebab-case', '\mkebab[_ -]?case\M'),
    ('time zone', 'UTC', '\m(utc|gmt)\M'),
    ('time zone', 'local', '\m(local ?time|ortszeit|lokale zeit|hora local|heure locale)\M|本地时间'),
    ('database', 'postgresql', '\m(postgres(ql)?)\M'),
    ('database', 'mysql', '\m(mysql|mariadb)\M'),
    ('database', 'sqlite', '\msqlite3?\M'),
    ('database', 'mongodb', '\mmongo(db)?\M'),
    ('line endings', 'lf', '\m(lf|unix line endings)\M'),
    ('line endings', 'crlf', '\m(crlf|windows line endings)\M')
  ) f(slot, value, form);
end;
comment on function pgmem.slot_forms is 'Choices of which one holds for a thing, by the words that name a value, without accents.';


create or replace function pgmem.rule_generic_words() returns text[]
language sql immutable parallel safe
begin atomic
  -- words: as is below
  select string_to_array('isnot please just also even any anything everything everywhere something anyone someone people we you us our your yourself they '
    'directly straight direct direkt directamente directement directo directa ever again must should shall need needs may might let lets make makes use uses used using reach '
    'do does put puts take takes be been being own times time together anymore immer bitte alle jed jede jeden jedem jedes darf durfen soll sollen muss mussen kann konnen '
    'wird debe deben puede pueden doit doivent peut peuvent usar usa utiliza utilizar verwende verwenden benutze benutzen nutze nutzen utilise utiliser hacer haz hagas faire fais fait '
    'machen mach nowhere here hier branch branches code file files folder folders directory repo repository zweig datei dateien rama archivo archivos carpeta branche fichier '
    'fichiers dossier fine ok okay allowed come comes live lives get gets always never only auf vor favor por para con dans avec chaque cada every each all both full first new '
    'say says said enough has have want wants', ' ');
end;
comment on function pgmem.rule_generic_words is 'Words of rules that say nothing of their subject.';


create or replace function pgmem.rule_language(p_text text) returns regconfig
language sql immutable parallel safe
begin atomic
  select case
    when p_text ~ '\m(der|die|das|und|nie|niemals|nicht|immer|kein\w*|bitte|nur|vor|jede\w*|statt|ohne|auf)\M' then 'german'
    when p_text ~ '\m(el|los|las|siempre|nunca|sin|con|para|usa|uses|del)\M' then 'spanish'
    when p_text ~ '\m(le|les|des|toujours|jamais|sans|avec|une?|ne|pas)\M' then 'french'
    else 'english' end::regconfig;
end;
comment on function pgmem.rule_language is 'The language of a rule, by a few words that others do not have; else English.';


create or replace function pgmem.rule_said(p_text text) returns text
language sql immutable parallel safe
begin atomic
  -- Several words that mean one, before the words are read.
  select regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    pgmem.plain_letters(left(p_text, 700)),
    '\m(every|each|all|any|small|large|big) changes?\M', '\1 changeset', 'g'),
    '\mauto-?(push|merge|commit|deploy|publish|release|install)', '\1 unasked', 'g'),
    '\m(without|ohne|sin|sans) (first |being |vorher(ige)? |previa? |avoir )?(ask\w*|confirm\w*|permission|approval|nachzufragen|nachfrage\w*|zu fragen|ruckfrage\w*|preguntar|pedir permiso|demande\w*)'
      '|(不必|无需|不用|未经)(询问|确认|许可)', ' unasked ', 'g'),
    '\m(go|goes|land|lands)( straight| directly)? (in|on)?to\M', 'commit push', 'g'),
    '\m(commit|push|release|merge|tag|test|build|deploy)s? (message|notification|note|subject|title|name|hash|log|script|output|pipeline|job|candidate|user|data)s?\M', '\1\2', 'g'),
    '\m(repl(y|ies|ying)|respond(s|ing)?|responses?)\M(?! (time|code|header))', 'answer', 'g'),
    '\m(auf|in) (englisch|deutsch)\M', '\2', 'g');
end;
comment on function pgmem.rule_said is 'The text of a rule in plain letters, with expressions of permission and compound nouns as one word.';


create or replace function pgmem.rule_clauses(p_ids bigint[], p_texts text[]) returns table (
  id bigint,
  clause integer,
  sign text,
  content text[],
  scope text[],
  quantified text[],
  sharp text[],
  slots text[],
  rest text[]
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_variable
declare
  v_rule   record;
  v_said   text;
  v_dict   regdictionary;
  v_at     integer;
  v_end    integer;
  v_i      integer;
  v_word   text;
  v_kind   text;
  v_token  text;
  v_no     boolean;
  v_ask    boolean;
  v_free   boolean;
  v_every  boolean;
  v_report boolean;
  v_last   text[];
  v_part   text;
  v_numbers text[];
  v_generic text[] := pgmem.rule_generic_words();
  v_chosen text := (select string_agg(f.form, '|') from pgmem.slot_forms() f);  -- one pattern: each is compiled once
  v_programs text[] := array(select unnest(f.programs) from pgmem.program_families() f);
begin
  for v_rule in
    select r.id, r.words, r.concepts, r.kinds, t.text
    from unnest(p_ids, p_texts) as t(id, text)
    join pgmem.read_rules(p_ids, array(select pgmem.rule_said(x.text) from unnest(p_texts) with ordinality as x(text, n) order by x.n)) r on r.id = t.id
  loop
    id := v_rule.id;
    v_said := pgmem.rule_said(v_rule.text);
    v_dict := case pgmem.rule_language(v_said)::text when 'german' then 'pg_catalog.german_stem' when 'spanish' then 'pg_catalog.spanish_stem'
      when 'french' then 'pg_catalog.french_stem' else 'pg_catalog.english_stem' end;
    v_last := '{}';
    v_at := 1;
    clause := 0;
    while v_at <= cardinality(v_rule.words) loop
      v_end := v_at;
      while v_end <= cardinality(v_rule.words) and v_rule.kinds[v_end] <> 'end'
            and not (v_end > v_at and v_rule.kinds[v_end] = 'comma' and v_rule.kinds[v_end + 1] in ('no', 'only', 'ask'))
            and not (v_end > v_at and v_rule.kinds[v_end] = 'comma' and v_rule.words[v_end + 1] ~ '^(use|take|nutze|usa|utilise|使用|改用)')
            and not (v_end > v_at and v_rule.words[v_end] in ('because', 'since', 'weil', 'denn', 'porque', 'car', 'puisque', 'but', 'sondern', 'pero', 'mais')) loop
        v_end := v_end + 1;
      end loop;
      content := '{}'; quantified := '{}'; sharp := '{}'; v_numbers := '{}';
      v_no := false; v_ask := false; v_free := false; v_every := false; v_report := false;
      for v_i in v_at .. v_end - 1 loop
        v_word := v_rule.words[v_i];
        v_kind := v_rule.kinds[v_i];
        v_report := v_report or v_word in ('i', 'my', 'me', 'was', 'were', 'did', 'had', 'ich', 'yo', 'je');
        if v_word = 'unasked' then
          v_free := true;
        elsif v_kind = 'no' then
          v_no := true;
        elsif v_kind = 'ask' then
          v_ask := true;
        elsif v_kind in ('only', 'always', 'before', 'when', 'it', 'and', 'comma') then
          null;
        elsif v_word in ('every', 'each', 'all', 'jede', 'jeder', 'jedes', 'jeden', 'jedem', 'cada', 'chaque') then
          v_every := true;
        elsif v_word ~ '^\d+([.,]\d+)?$' then
          v_numbers := v_numbers || v_word;
          sharp := sharp || v_word;
        elsif v_word ~ '[\u3400-\u9fff]' then
          -- The concepts of a run of Chinese, and the rest without the words that only join.
          if v_rule.concepts[v_i] <> '' and v_kind not in ('word', 'program') then
            content := content || v_rule.concepts[v_i];
            if v_kind in ('branch', 'env', 'data', 'file', 'how') then sharp := sharp || v_rule.concepts[v_i]; end if;
          end if;
          if v_rule.words[v_i - 1] is distinct from v_word then
            v_part := v_word;
            for v_token in
              select w from pgmem.act_words() f cross join lateral unnest(string_to_array(f.words, ' ')) as w where w ~ '[\u3400-\u9fff]' order by length(w) desc
            loop
              v_part := replace(v_part, v_token, ' ');
            end loop;
            v_part := regexp_replace(v_part, '始终|使用|用|每天|每次|的|了|在|到|前|后|每|都|请|要|是|和|与|把|将|等|对|为|以|于|应|该|我们|你', ' ', 'g');
            content := content || array(select t from regexp_split_to_table(btrim(v_part), '\s+') t where length(t) >= 2);
          end if;
        elsif v_kind in ('act', 'branch', 'env', 'data', 'file', 'system', 'how', 'scope', 'request', 'program', 'skip', 'hooks', 'history', 'literal', 'flag')
              or v_kind = 'general' and v_rule.concepts[v_i] <> 'read' then
          v_token := coalesce(nullif(v_rule.concepts[v_i], ''), v_word);
          if v_kind = 'scope' then continue; end if;
          content := content || v_token;
          if v_kind in ('branch', 'env', 'data', 'file', 'how', 'program', 'literal', 'flag') then sharp := sharp || v_token; end if;
          if v_every then quantified := quantified || v_token; v_every := false; end if;
        elsif v_word <> all (v_generic) and not pgmem.is_small_word(v_word) then
          v_token := coalesce((ts_lexize(v_dict, v_word))[1], v_word);
          content := content || v_token;
          if v_every then quantified := quantified || v_token; v_every := false; end if;
        end if;
      end loop;
      content := array(select distinct c from unnest(content) c);
      sign := case when v_free then case when v_no then 'ask' else 'unasked' end when v_ask then 'ask' when v_no then 'no' else 'do' end;
      scope := case when v_at > 1 and v_rule.kinds[v_at - 1] = 'comma' then v_last else '{}' end;
      if content = '{}' and sign in ('no', 'ask') then
        content := v_last;
        scope := '{}';
      end if;
      -- Values of slots, and the thing that each is chosen for.
      v_part := pgmem.rule_said(array_to_string(v_rule.words[v_at:v_end - 1], ' '));
      slots := array(
        select f.slot || '=' || f.value from pgmem.slot_forms() f where v_part ~ v_chosen and v_part ~ f.form
        union all
        select f.family || '=' || p from pgmem.program_families() f cross join lateral unnest(f.programs) p
        where content && v_programs and p = any (content));
      rest := array(
        select c from unnest(content) c
        where c !~ '^(tab|space|indent\w*|level|quot\w*|singl|doubl|string|strings|utc|gmt|postgres\w*|mysql|sqlite3?|mongo\w*|one|two|four|eight|snake\w*|camel\w*|pascal\w*|kebab\w*)$'
          and c !~ ('^(' || v_chosen || ')') and c <> all (v_programs));
      if cardinality(v_numbers) = 1 and sign = 'do' then
        v_token := (select v_rule.words[n + 1] from generate_series(v_at, v_end - 1) n where v_rule.words[n] = v_numbers[1] limit 1);
        rest := array(
          select c from unnest(content) c
          where c <> all (array(select coalesce((ts_lexize(v_dict, coalesce(v_token, '')))[1], coalesce(v_token, ''))))
            and c !~ '^(max|maximum|min|minimum|most|least|length|long|wide|width|limit|charact\w*|column|high|exceed)$');
        if rest <> '{}' then
          slots := slots || ('number=' || v_numbers[1]);
        end if;
      end if;
      if not v_report and (content <> '{}' or slots <> '{}') then
        clause := clause + 1;
        return next;
        v_last := content;
      end if;
      v_at := v_end + 1;
    end loop;
  end loop;
end;
$$;
comment on function pgmem.rule_clauses is $$
The clauses of rules: sign (no, ask, unasked or do), the subject of each, and the values of the slots that it fills.

scope: The subject of the clause that this one continues.
quantified: The words behind every or each.
sharp: The names in the content that no copy has otherwise: branches, programs, paths, numbers.
rest: The content without the values of slots: the thing that each is chosen for.
$$;


create or replace function pgmem.compare_rules(p_ids bigint[], p_texts text[]) returns table (
  one bigint,
  other bigint,
  relation text,
  reason text
)
language sql stable set search_path = pgmem, pg_temp
set jit = off as $$
  with clause as materialized (
    -- A text of more clauses is a document, which holds rules for many cases.
    select c.* from (select c.*, count(*) over (partition by c.id) as size from pgmem.rule_clauses(p_ids, p_texts) c) c where c.size <= 12
  ), bound as materialized (
    -- One token of each prohibition, the rarest: a contradicting text has all of them.
    select p.*, (select t.token from unnest(p.content) as t(token)
                 order by (select count(*) from clause x where t.token = any (x.content)), t.token limit 1) as key
    from clause p where p.sign in ('no', 'ask') and p.content <> '{}'
      -- One word is enough in a rule ("no docstrings"), not in a document.
      and (p.size <= 6 or cardinality(p.content) > 1)
  ), word as materialized (
    select c.id, c.clause, c.sign, c.content, c.quantified, t.token
    from clause c cross join lateral unnest(c.content) as t(token) where c.sign in ('do', 'unasked')
  ), against as (
    select p.id as one, w.id as other,
           case p.sign when 'no' then 'one forbids, the other does: ' else 'one asks first, the other does not: ' end
             || array_to_string(array(select x from unnest(p.content) x order by x), ', ') as reason
    from bound p join word w on w.token = p.key and w.id <> p.id
    where case p.sign when 'no' then true else w.sign = 'unasked' end
      and p.content <@ w.content and cardinality(w.content) <= 2 * cardinality(p.content) + 3
      and (p.scope = '{}' or p.scope && w.content)
    union all
    -- "for every change", "not for small changes"
    select p.id, w.id, 'one is of every ' || w.token || ', the other not of all'
    from bound p join word w on w.token = any (w.quantified) and w.id <> p.id
    where p.sign = 'no' and w.sign = 'do' and w.token = any (p.content) and w.content <@ p.content and w.content <> p.content
  ), filled as materialized (
    select c.id, c.clause, c.rest, split_part(s, '=', 1) as slot, split_part(s, '=', 2) as value
    from clause c cross join lateral unnest(c.slots) s where c.sign = 'do'
  ), apart as (
    select a.id as one, b.id as other, format('%s: %s, %s', a.slot, a.value, b.value) as reason
    from filled a join filled b on b.slot = a.slot and b.id > a.id and b.value <> a.value
    where case when a.slot = 'number' then a.rest <@ b.rest and b.rest <@ a.rest
          else a.rest = '{}' or b.rest = '{}'
            or 3 * (select count(*) from unnest(a.rest) x where x = any (b.rest))
               >= (select count(distinct x) from unnest(a.rest || b.rest) x) end
      and not exists (select from filled x where x.id in (a.id, b.id) and x.slot = a.slot
                      group by x.id having count(distinct x.value) > 1)
  ), whole as materialized (
    select c.id, array_agg(distinct c.sign || ' ' || t.token) filter (where t.token not in ('write', 'add', 'create', 'run', 'install')) as tokens,
           array_agg(distinct s.token) filter (where s.token is not null) as sharp, array_agg(distinct l) filter (where l is not null) as slots
    from clause c left join lateral unnest(c.content) as t(token) on true left join lateral unnest(c.sharp) as s(token) on true
    left join lateral unnest(c.slots) as l on true
    group by c.id
  ), spread as materialized (
    select w.*, t.token, count(*) over (partition by t.token) as among from whole w cross join lateral unnest(w.tokens) as t(token)
  ), alike as (
    select a.id as one, b.id as other, 'the same in other words'::text as reason
    from (select s.id, s.token, row_number() over (partition by s.id order by s.among, s.token) as place from spread s) k
    join whole a on a.id = k.id
    join spread b on b.token = k.token and b.id > a.id
    where k.place <= 3 and coalesce(a.sharp, '{}') <@ coalesce(b.sharp, '{}') and coalesce(b.sharp, '{}') <@ coalesce(a.sharp, '{}')
      and coalesce(a.slots, '{}') <@ coalesce(b.slots, '{}') and coalesce(b.slots, '{}') <@ coalesce(a.slots, '{}')
      and (a.tokens = b.tokens and (cardinality(a.tokens) > 1 or a.tokens[1] !~ '^do ') or 5 * (select count(*) from unnest(a.tokens) x where x = any (b.tokens))
           >= 3 * (select count(distinct x) from unnest(a.tokens || b.tokens) x)
             and (select count(*) from unnest(a.tokens) x where x = any (b.tokens)) >= 2)
  ), named as (
    select least(f.one, f.other) as one, greatest(f.one, f.other) as other, 'against' as relation, min(f.reason) as reason
    from (select * from against union all select * from apart) f group by 1, 2
  )
  select n.* from named n
  union all
  select distinct a.one, a.other, 'copy', a.reason from alike a
  where not exists (select from named n where n.one = a.one and n.other = a.other)
$$;
comment on function pgmem.compare_rules is
  'The pairs of rules that contradict each other (against) or say the same (copy), each with the reason; all pairs are compared.';


select pgmem.declare_answer('other_rule', $$
A rule beside another one, and why it is named.

id uuid, text text, reason text
by person|agent?: Who said it; agent: also a program or a file.
$$);

select pgmem.declare_answer('standing_rule', $$
A rule that is to be followed always, what came of it, and the rules that contradict it or say the same.

heeded counts the commands before which it came and that then did not run in their session, overridden those that ran.

id uuid, text text, project text?
by person|agent: Who said it; agent: also a program or a file.
author text?: The user whose it is.
created_at timestamptz, age_days integer, brought bigint, heeded bigint, overridden bigint
against other_rule[], copies other_rule[]
$$);

create or replace function pgmem.list_standing(
  p_project_id text default null,
  p_limit pgmem.row_limit default 200
) returns setof pgmem.standing_rule
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenants text[] := pgmem.visible_tenants();
  v_project bigint := pgmem.find_project(p_project_id);
begin
  return query
  with text as materialized (
    select n.seq, n.id, n.project, n.created_at, n.instructs, nullif(n.user_id, '') as author, pgmem.said_by(n.source, n.trust_level) as by,
           left(s.searched_text, 700) as text
    from pgmem.live_node n
    cross join lateral pgmem.searched_text(n.label, n.title, n.props) s
    where n.tenant = any (v_tenants) and n.scope is not null and n.label in ('Context', 'Pattern', 'Decision')
      and (v_project is null or n.project_seq = v_project or n.scope = 'global')
      -- Rules of persons in words with which no order begins, such as "Indent with tabs.", are short.
      and (n.instructs or n.label = 'Context' and pgmem.is_of_a_person(n.source, n.trust_level) and length(s.searched_text) <= 300)
    order by n.instructs desc, n.seq desc limit 600
  ), pair as materialized (
    select c.* from (select array_agg(t.seq) as seqs, array_agg(t.text) as texts from text t) a
    cross join lateral pgmem.compare_rules(a.seqs, a.texts) c
    where exists (select from text x join text y on y.seq = c.other where x.seq = c.one
                  and (x.project is null or y.project is null or x.project = y.project))
  ), named as (
    select p.one as seq, p.other, p.relation, p.reason from pair p
    union all select p.other, p.one, p.relation, p.reason from pair p
  ), rule as (
    select t.* from text t
    where t.instructs or exists (select from named b where b.seq = t.seq)
      or exists (select from pgmem.rule_clauses(array[t.seq], array[t.text]) c where c.sign in ('no', 'ask'))
  )
  select r.id, r.text, r.project::text, r.by, r.author, r.created_at::timestamptz,
    floor(extract(epoch from pgmem.now() - r.created_at) / 86400)::integer,
    (select count(*) from pgmem.recall_event e where e.tenant = any (v_tenants) and e.act = 'injected' and e.memory_ids @> array[r.id]),
    coalesce(came.met - came.done, 0), coalesce(came.done, 0),
    coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'text', o.text, 'reason', b.reason, 'by', o.by) order by o.created_at)
              from named b join text o on o.seq = b.other where b.seq = r.seq and b.relation = 'against'), '[]'),
    coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'text', o.text, 'reason', b.reason, 'by', o.by) order by o.created_at)
              from named b join text o on o.seq = b.other where b.seq = r.seq and b.relation = 'copy'), '[]')
  from rule r
  left join lateral (
    select count(*) as met, count(*) filter (where k.done) as done
    from (select exists (select from pgmem.act_event d where d.tenant = m.tenant and d.act = 'done' and d.key = m.key
                         and d.session_id is not distinct from m.session_id) as done
          from (select distinct e.tenant, e.session_id, e.key from pgmem.act_event e
                where e.tenant = any (v_tenants) and e.act = 'met' and e.memory_ids @> array[r.id]) m) k) came on true
  order by exists (select from named b where b.seq = r.seq and b.relation = 'against') desc,
           exists (select from named b where b.seq = r.seq) desc, r.project nulls first, r.created_at, r.seq
  limit p_limit;
end;
$$;
comment on function pgmem.list_standing is $$
List the rules of a project and the global ones, first those that contradict another.

All pairs are compared, at most 600 texts, by their acts, objects and choices, in English and in part in German, Spanish, French and
Chinese. These are the texts that give a standing order, and short notes of persons that forbid something or are named in a
pair.

project_id: The rules of this project and the global ones; unset: all.
$$;
select pgmem.declare_verb('list_standing', p_rights => 'reader', p_effect => 'look', p_answer => 'list[StandingRule]',
  p_reads_all => 'It compares all rules with each other.');
