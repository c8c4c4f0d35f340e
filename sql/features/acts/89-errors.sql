-- Errors: memories of one that a command has just given
--
-- An error is compared by its names: its code (ERESOLVE, E0502, 137), its exception, the module, table, file or package
-- that it quotes, and the words of its message, with those of the command. A memory that has a code of the same form and
-- not this one is about another error. Most output is not the message, so only lines that look like one are read.
--
-- Locks: none.


create or replace function pgmem.error_lines(p_output text) returns text
language sql immutable
begin atomic
  with line as (
    select l.place, btrim(l.line) as line
    from regexp_split_to_table(regexp_replace(right(p_output, 20000), '\x1b\[[0-9;]*[A-Za-z]', '', 'g'), '[\n\r]+') with ordinality as l(line, place)
    where l.line ~ '\w'
  ), said as (
    select l.place, l.line, l.line ~* ('error|fatal|fail|exception|cannot|can''t|could not|not found|denied|refused|no such|missing|unable|err!|'
      'panick|conflict|abort|unauthori|forbidden|backoff|timeout|timed out|unexpected|invalid|undeclared|unresolved|already|does not exist|required|'
      'mismatch|removed|ambiguous|multiple|unknown|unsupported|deprecated|outdated|exceed|killed|out of memory|no space|locked|not (up|a)|peer') as is_error,
      count(*) over () as size
    from line l
  )
  select left(string_agg(left(s.line, 400), e'\n' order by s.place), 3000)
  from (select s.*, row_number() over (order by s.is_error desc, s.place desc) as rank from said s) s
  where s.is_error and s.rank <= 14 or s.rank <= 3 or s.size - s.place < 1;
end;
comment on function pgmem.error_lines is 'The lines of an output that are about an error, at most 14, without colours.';


create or replace function pgmem.error_names(p_text text) returns table (name text, is_sure boolean)
language sql immutable
begin atomic
  -- Sure: codes, numbers of three digits or more, exceptions, quoted names, and names of parts. The last part of a path.
  select lower(n.name), bool_or(n.is_sure)
  from (
    select m[1] as name, true as is_sure
    from regexp_matches(p_text, '(?<![\w.])([A-Z]{1,4}\d{3,5}|(?!ERR)E[A-Z]{5,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]\w+(?:Error|Exception|BackOff|Failed|Killed))\M', 'g') m
    union all
    select m[1], true from regexp_matches(p_text, '(?<=[\s:=])(\d{4,5})(?=[\s:,;.)/]|$)', 'g') m where m[1] !~ '^(19|20)\d\d$'
    union all
    select m[1], true from regexp_matches(p_text, '(?:exit(?:ed with)?|code|status|errno|signal)[ :=]+(?:code[ :=]+)?(\d{2,4})\M', 'gi') m
    union all
    select m[1], true from regexp_matches(p_text, '(?:module|relation|table|column|package|crate|command|function|extension|role|library|image|plugin|named|resource|service)\s+(?:named\s+)?["''`‘“]([@A-Za-z_][\w@./-]{1,60})["''`’”]', 'gi') m
    union all
    select m[1], true from regexp_matches(p_text, '(?<![\w./@-])([a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|[a-z]{3,}\d[a-z0-9]*)(?![\w./-])', 'g') m
    where m[1] !~ '^(utf|sha|md|arm|amd|python|http|es|ipv|tcp|udp|base)\d|^(exit|non|pre|re|sub|error|run|pip|cmd|up)-'
    union all
    select w, false from regexp_split_to_table(p_text, '[^[:alnum:]]+') w
    union all  -- parts of names: OUTDATED_LOCKFILE, ImagePullBackOff
    select w, false from regexp_split_to_table(regexp_replace(p_text, '([a-z])([A-Z])', '\1 \2', 'g'), '[^[:alnum:]]+') w) n
  where length(n.name) > 1
  group by 1;
end;
comment on function pgmem.error_names is
  'The names and words of an error, in lower case; is_sure: a code, an exception, or the name of a thing.';


create or replace function pgmem.common_error_words() returns text[]
language sql immutable parallel safe
begin atomic
  -- words: as is below
  select '{error,errors,failed,fail,file,files,line,run,command,code,exit,status,process,found,find,build,version,test,tests,install,package,use,used,'
    'using,message,time,directory,path,name,type,value,given,argument,module,import,python,node,js,py,ts,com,http,https,home,user,src,lib,main,set,'
    'new,get,data,system,following,see,please,try,make,one,two,note,info,default,environment,required,requires,require,server,local,target,source,'
    'expected,missing,unable,could,request,err,successfully,complete,completed,read,open,specify,specific,resolve,unexpected,bytes,exist,exists,'
    'number,string,object,undefined,true,false,root,project,cannot,end,check}'::text[];
end;
comment on function pgmem.common_error_words is 'Words that most messages of errors hold, and that distinguish none of them.';


create or replace function pgmem.memory_for_error(
  p_output text,
  p_command text default null,
  p_project_id text default null,
  p_limit pgmem.row_limit default 2,
  out matches jsonb,
  out error text
)
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_config text := coalesce(v_scope.text_config, pgmem.setting_text('text_config'));
  v_filter pgmem.search_filter;
  v_words  pgmem.search_words;
  v_said   text := coalesce(pgmem.error_lines(p_output), '');
begin
  matches := '[]';
  error := encode(sha256(convert_to(regexp_replace(lower(v_said), '[0-9a-f]{6,}|\d+(\.\d+)?\s?m?s\M|\s+', ' ', 'g'), 'UTF8')), 'hex');
  if v_scope.scope_state = 'uncertain' or v_said = '' then
    return;
  end if;
  v_filter.tenants := v_caller.tenants;
  v_filter.project_seq := v_scope.project_seq;
  v_filter.moment := pgmem.now();
  v_words := pgmem.search_words(pgmem.query_lexemes(left(regexp_replace(
    regexp_replace(coalesce(p_command, '') || ' ' || v_said, '([a-z])([A-Z])', '\1 \2', 'g') || ' ' || v_said, '[^[:alnum:]]+', ' ', 'g'), 4000), v_config), v_filter);
  with said as materialized (
    select pgmem.word_stem(n.name) as stem, n.name, bool_or(n.is_sure) as is_sure from pgmem.error_names(v_said) n
    where not pgmem.is_small_word(n.name) group by 1, 2
  ), command as materialized (
    select distinct pgmem.word_stem(w) as stem from unnest(array(
      select unnest(a.names || a.program || a.concepts) from pgmem.acts_of('Bash', p_command) a)) w
    where not pgmem.is_small_word(w) and w not in ('unknown', 'run', 'test', 'build', 'update', 'add', 'edit', 'create', 'read', 'write', 'every', 'everything')
  ), memory as materialized (
    select n.seq, n.id, n.label, n.title, n.created_at, said.by, t.text
    from pgmem.text_candidates(v_words, v_filter, 40) c
    cross join lateral (select n.* from pgmem.live_node n where n.seq = c.seq offset 0) n
    cross join lateral (select s.searched_text as text from pgmem.searched_text(n.label, n.title, n.props) s) t
    cross join lateral (select pgmem.said_by(n.source, n.trust_level) as by) said
    where n.label not in ('Session', 'Turn', 'Insight') and not n.instructs and pgmem.is_memory(n.label) and not pgmem.named_only(n.label)
  ), pair as materialized (
    -- Two words that follow each other, with at most one between them.
    select distinct w.stems[n] as one, w.stems[n + k] as two
    from (select array_agg(pgmem.word_stem(x.word) order by x.place) as stems
          from regexp_split_to_table(regexp_replace(lower(v_said), '([a-z])_([a-z])', '\1 \2', 'g'), '[^[:alnum:]]+') with ordinality as x(word, place)
          where not pgmem.is_small_word(x.word)) w
    cross join lateral generate_series(1, cardinality(w.stems)) n cross join generate_series(1, 2) k
    where w.stems[n + k] is not null and w.stems[n] <> w.stems[n + k]
  ), scored as (
    select m.*, f.*, p.pairs
    from memory m
    cross join lateral (
      select count(*) filter (where s.is_sure) as sure,
             count(*) filter (where not s.is_sure and s.common = 0) as plain,
             count(*) filter (where not s.is_sure and s.common > 0) as common,
             count(*) filter (where s.stem is null and c.stem is not null) as commanded,
             count(*) as size
      from (select distinct pgmem.word_stem(n.name) as stem from pgmem.error_names(left(m.text, 2000)) n where not pgmem.is_small_word(n.name)) w
      left join (select s.stem, bool_or(s.is_sure) as is_sure, max((s.name = any (pgmem.common_error_words()) or s.name ~ '^\d{1,2}$')::integer) as common
                 from said s group by s.stem) s on s.stem = w.stem
      left join command c on c.stem = w.stem) f
    cross join lateral (
      select count(distinct (q.one, q.two)) as pairs
      from (select array_agg(pgmem.word_stem(x.word) order by x.place) as stems
            from regexp_split_to_table(lower(left(m.text, 2000)), '[^[:alnum:]]+') with ordinality as x(word, place)
            where not pgmem.is_small_word(x.word)) w
      cross join lateral generate_series(1, cardinality(w.stems)) n cross join generate_series(1, 2) k
      join pair q on q.one = w.stems[n] and q.two = w.stems[n + k]) p
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'label', f.label, 'title', f.title, 'text', f.text, 'by', f.by,
           'created_at', f.created_at, 'score', f.score) order by f.rank) filter (where f.rank <= p_limit), '[]')
  into matches
  from (
    select s.*, row_number() over (order by s.score desc, s.created_at desc, s.seq desc) as rank, max(s.score) over () as best
    from (select s.*, 3 * least(s.sure, 2) + s.plain + 0.3 * least(s.common, 3) + 0.7 * least(s.commanded, 2) + least(s.pairs, 2) - 0.02 * s.size as score from scored s) s
    where s.score >= 2 and s.sure + s.plain >= 1
      and not (s.sure = 0 and s.plain + s.pairs < 2 and s.commanded = 0)
      -- Another code of the same form: another error.
      and not exists (
        select from regexp_matches(s.text, '\m([A-Z]{1,4})\d{3,5}\M', 'g') k(code)
        where exists (select from regexp_matches(v_said, '\m' || k.code[1] || '\d{3,5}\M'))
          and not exists (select from regexp_matches(s.text, '\m[A-Z]{1,4}\d{3,5}\M', 'g') c(whole)
                          where strpos(v_said, c.whole[1]) > 0))
  ) f
  where f.score >= f.best * 0.75;
end;
$$;
comment on function pgmem.memory_for_error is $$
The memories that name the error that a command has just given, with its remedy, best first; mostly none.

Each match holds id, label, title, text, by, created_at and score. error is the same for an error that comes again, whatever
its times and addresses.

output: The output of the command; lines about an error count.
command: The line of a shell that failed.
project_id: Project name; unset: global memories alone.

InvalidArgument: the limit is out of its bounds.
$$;
select pgmem.declare_verb('memory_for_error', p_rights => 'reader', p_effect => 'read', p_patience => 'answer', p_reads => 5000);
