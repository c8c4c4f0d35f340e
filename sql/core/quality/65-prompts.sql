-- Memories for a prompt
--
-- A prompt that gives work gets the decisions, and the standing instructions of persons, that are about that work, whether
-- they answer it or not: who is about to page a list by offsets asks nothing, and is to know the decision. Each sentence
-- of the prompt is compared by itself, so that text around the task does not hide it:
--
--   words  = the weights of its words that a title holds, and 0.45 of those that the reason holds
--   likest = how far its cosine with the sentence lies above that of the other candidates, in standard deviations
--
-- The weight of a word is its rarity in the scope, 0 to 1. The name of a product of the same kind (rivals) counts 0.7 of it:
-- who is about to use React is to know that the frontend is in Svelte. Words of talk do not count, and common words
-- (file, line, day) and the verb of work that a sentence begins with (delete, sort) a half. The cosine alone says little:
-- those of one prompt are all high or all low. So that a small store has a mean and a deviation, those of ten usual
-- decisions are added. The hook brings nothing where both are little, or lead little over the next decision
-- (pgmem/features/editor/events.py).
--
-- A sentence in another language than the store is compared by the words that it shares alone: names, and terms of the trade.
-- A long prompt is read at its beginning and at its end: a pasted text comes before the question or behind it.
--
-- A decision of an agent that was named as noise more often than as used is not among those that are near; the answer to a question it is.
--
-- Locks: none.


create or replace function pgmem.words_of_talk() returns text[]
language sql immutable parallel safe
begin atomic
  -- words: as is below
  select '{again,also,another,anything,back,bad,come,could,done,else,everything,fine,first,get,give,go,goes,going,good,got,
    great,happy,hello,help,hey,hi,hmm,just,know,last,let,like,look,looks,make,maybe,mean,meant,need,next,nice,nothing,ok,
    okay,one,ones,others,perfect,please,really,right,said,say,see,show,something,sorry,stop,sure,take,tell,thank,thanks,
    thing,things,think,time,today,tomorrow,try,us,want,wait,way,well,without,would,wrong,yes,yesterday}'::text[];
end;
comment on function pgmem.words_of_talk is 'English words that say nothing of the subject of a sentence, beside stop words.';


-- Most are words with which messages of commits begin; those by which people ask for texts and answers as well (write,
-- explain, plan, translate, suggest) are not among them.
create or replace function pgmem.verbs_of_work() returns text[]
language sql immutable parallel safe
begin atomic
  -- words: as is below
  select '{abort,accept,activate,adapt,add,adjust,align,allocate,allow,annotate,append,apply,archive,attach,authenticate,
    automate,backport,benchmark,bind,block,build,bump,bundle,cache,calculate,call,cancel,cast,catch,change,clean,
    clear,clone,close,collect,combine,compile,compress,compute,configure,connect,consolidate,convert,copy,correct,
    count,create,customise,customize,debug,declare,decode,decouple,deduplicate,define,delete,deploy,deprecate,derive,
    design,detect,disable,disallow,display,divide,document,download,drop,embed,emit,enable,encode,encrypt,enforce,
    escape,exclude,execute,expand,export,expose,extend,extract,fetch,fill,filter,fix,flatten,flush,format,forward,
    generate,group,handle,hardcode,harden,hide,highlight,implement,import,improve,include,increase,index,infer,
    inherit,initialise,initialize,inject,inline,insert,install,integrate,introduce,invoke,iterate,let,limit,link,lint,
    load,lock,log,lower,make,map,mark,mask,measure,merge,migrate,mock,modify,move,normalise,normalize,notify,omit,
    optimise,optimize,override,parse,pass,patch,persist,pin,plot,poll,port,prefix,preserve,prevent,print,process,
    profile,propagate,provide,publish,push,put,query,queue,raise,read,rebuild,record,recurse,redesign,reduce,refactor,
    register,reject,release,reload,remove,rename,render,reorder,replace,report,request,require,reset,resolve,restore,
    restrict,retry,return,reuse,revert,reword,rework,rewrite,roll,round,route,sanitise,sanitize,save,scale,schedule,
    select,send,serialise,serialize,serve,set,ship,shorten,show,sign,simplify,skip,sort,specify,speed,split,start,
    stop,store,stream,strip,style,submit,switch,sync,synchronise,synchronize,test,throw,track,transform,trim,tune,
    unify,update,upgrade,upload,use,validate,verify,warn,wrap}'::text[];
end;
comment on function pgmem.verbs_of_work is 'English verbs with which an order to build or change something begins.';


create or replace function pgmem.gives_work(p_words text[]) returns boolean
language sql immutable parallel safe
begin atomic
  -- Words before an order: please, could you, now, I want to. An order that goes on with "me" or "it" is talk.
  select coalesce(f.verb = any (pgmem.verbs_of_work()) and f.next <> all ('{us,me,it,that,this}'), false)
  from (
    select w.word as verb, coalesce(p_words[w.place + 1], '') as next
    from unnest(p_words) with ordinality as w(word, place)
    -- words: as is below
    where w.word <> all ('{please,kindly,now,then,next,so,also,and,but,or,ok,okay,hi,hey,hello,just,first,second,third,
      finally,afterwards,can,could,would,will,you,i,we,want,need,have,has,like,should,must,to,let''s,lets,help,me,go,
      ahead,try,i''d,we''d,i''ll,we''ll,be,able}')
    order by w.place limit 1) f;
end;
comment on function pgmem.gives_work is 'Whether the words of a sentence, in small letters, are an order to build or change something.';


-- Products that take each other's place, with the words for their kind, as the stemmer leaves them. A wider list, of the words
-- for things of any trade, found little more in tickets that it was not made for.
create or replace function pgmem.rivals(p_lexeme text) returns text[]
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  -- words: as is below
  v_kinds constant text := '
    ; react vue svelt angular htmx jqueri ember preact solid frontend ui ; vitest jest mocha pytest junit runner test
    ; hetzner aw azur gcp heroku vercel netlifi cloudflar digitalocean kubernet host server cloud
    ; postgresql postgr mysql mariadb sqlite mongodb oracl databas db ; redi memcach cach
    ; elasticsearch opensearch solr meilisearch typesens search ; kafka rabbitmq nat sqs queue broker celeri
    ; mqtt http grpc websocket protocol ; node deno bun python java go rust languag runtim
    ; npm pnpm yarn pip poetri uv packag depend ; docker podman contain imag
    ; github gitlab bitbucket jenkin ci pipelin ; terraform pulumi ansibl infrastructur
    ; datadog grafana prometheus monitor metric ; influxdb timescaledb prometheus timeseri
    ; stripe adyen paypal molli payment ; mail email smtp postmark ses sendgrid ; sms text signal whatsapp messag
    ; login signin sso oauth saml password ; prisma sqlalchemi drizzl orm queri ; graphql rest api
    ; json xml yaml csv format ; tailwind bootstrap sass css style ; eslint black ruff prettier lint format
    ; kotlin swift android io nativ flutter mobil app ; webpack vite esbuild rollup bundl ; turborepo monorepo
    ; launchdark configcat unleash flag toggl ; gzip zstd brot compress ; nginx caddi proxi gateway
    ; openai anthrop claud gpt llm model ; typescript javascript ts js ; s3 bucket object file attach upload
    ; tls ssl https certif ;';
begin
  if p_lexeme !~ '^[a-z0-9]+$' or strpos(v_kinds, ' ' || p_lexeme || ' ') = 0 then
    return '{}';
  end if;
  return array(select distinct w.word
               from regexp_matches(v_kinds, '; ([^;]*\m' || p_lexeme || '\M[^;]*)(?=;)', 'g') as m(found)
               cross join lateral regexp_split_to_table(m.found[1], '\s+') as w(word) where w.word not in ('', p_lexeme));
end;
$$;
comment on function pgmem.rivals is 'Lexemes of the products that may take the place of one, and of their kind.';


create or replace function pgmem.common_words() returns text[]
language sql immutable parallel safe
begin atomic
  -- words: as is below
  select '{variabl,line,file,function,class,method,import,code,script,typo,indent,comment,commit,push,pull,branch,merg,rebas,
    git,regex,pars,parser,format,readm,test,unit,helper,argument,paramet,type,modul,renam,write,add,fix,remov,chang,updat,new,
    creat,make,use,show,run,set,work,list,name,number,valu,user,one,two,three,four,five,six,seven,eight,nine,ten,first,
    last,second,minut,hour,day,week,month,year,time,long,old,bring,keep,take,get,return,start,begin,end,page}'::text[];
end;
comment on function pgmem.common_words is
  'Lexemes that say little of the subject of a task: by which any work on a program is described, numbers, and lengths of '
  'time.';


create or replace function pgmem.content_sentences(p_prompt text, p_config text)
returns table (place bigint, content text, asks boolean, more integer, is_foreign boolean)
language sql stable set search_path = pgmem, pg_temp as $$
  with part as (
    select 0 as part, left(p_prompt, case when length(p_prompt) > 4000 then 1000 else 4000 end) as text
    union all
    select 1, right(p_prompt, 3000) where length(p_prompt) > 4000
  ), sentence as materialized (
    select row_number() over (order by p.part, s.place) as place, s.text
    from part p
    cross join lateral regexp_split_to_table(p.text, '(?<=[.!?;:])\s+|\n+|(?<=[\u3002\uff01\uff1f\uff1b])')
      with ordinality as s(text, place)
    where s.text ~ '\w'
  ), found as (
    select s.place, w.content, s.text ~ '[?\uff1f]\W*$' or s.text ~* '^\W*(what|who|which|where|when|why|how)\M' as asks,
           row_number() over (order by s.place) as from_begin, row_number() over (order by s.place desc) as from_end,
           case when pgmem.gives_work(w.said)
               or s.text ~* '\m(we|us|our)\M.*\m(decided?|agreed?|chose|chosen|settled)\M' then 2
             when s.text ~* '\m(we|us|our)\M' then 0
             when s.text ~* '^\W*(what|who|which|where|when|why|how|is|are|does|do|did|was|were)\M' then -2
             when s.text ~* '^\W*(i|you|he|she|it|that|my)\M(?!\s+(want|need|must|should|would like|has to|have to))' then -1
             else 0 end as more,
           f.is_foreign
    from sentence s
    cross join lateral (select pgmem.is_in_other_language(s.text, p_config) as is_foreign) f
    cross join lateral (
      select string_agg(m.word[1], ' ' order by m.number) filter (where f.counts) as content,
             bool_or(f.counts and f.word ~ '[^0-9.]' and not f.lexemes && pgmem.common_words()) as is_rare,
             array_agg(f.word order by m.number) as said
      from regexp_matches(s.text, '[[:alnum:]_][[:alnum:]_''/.+#-]*', 'g') with ordinality as m(word, number)
      cross join lateral (select lower(btrim(m.word[1], '.''')) as word) l
      cross join lateral (
        select l.word, v.lexemes, l.word <> all (pgmem.words_of_talk()) and v.lexemes <> '{}' as counts
        from (select tsvector_to_array(to_tsvector(p_config::regconfig, m.word[1])) as lexemes) v) f) w
    where w.is_rare)
  -- Where there are many, the first two and the last six: a question comes before a pasted text, or behind it.
  select f.place, f.content, f.asks, f.more, f.is_foreign from found f where f.from_begin <= 2 or f.from_end <= 6 order by f.place;
$$;
comment on function pgmem.content_sentences is
  'The first two and the last six sentences of a prompt without words of talk; those of common words and numbers alone are left out.';


create or replace function pgmem.prompt_sentences(
  p_prompt text,
  out sentences jsonb,
  out embedding_model text,
  out asks jsonb
)
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.caller();
  select coalesce(jsonb_agg(s.content order by s.place), '[]'), coalesce(jsonb_agg(s.asks order by s.place), '[]')
  into sentences, asks
  from pgmem.content_sentences(coalesce(pgmem.clean_text(p_prompt, 'prompt'), ''), pgmem.setting_text('text_config')) s;
  if sentences <> '[]' and pgmem.has_vectors() then
    embedding_model := (select m.name from pgmem.embedding_model m where m.active);
  end if;
end;
$$;
comment on function pgmem.prompt_sentences is $$
The subject of a prompt: its sentences without words of talk, to be embedded for memory_for_prompt; none for mere talk.

embedding_model is the one whose vectors this store compares; null where it keeps none. asks says of each sentence whether it
is a question.

prompt: The text that a person wrote to an agent; of a long one the first 1000 and the last 3000 characters count.
$$;
select pgmem.declare_verb('prompt_sentences', p_rights => 'reader', p_effect => 'read',
  p_patience => 'answer');


-- The rest is named by a word that neither its successor nor any other live decision has in its title.
create or replace function pgmem.decisions_left(
  p_filter pgmem.search_filter,
  p_own text[],
  p_words pgmem.search_words,
  p_most float8
) returns jsonb
language plpgsql stable set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_any   tsquery := (
    select string_agg('(' || q.title::text || ')', ' | ')::tsquery from unnest(p_words.lexemes, p_words.titles) as q(lexeme, title)
    where q.lexeme = any (p_own) and q.lexeme <> all (pgmem.common_words()));
  v_old   record;
  v_head  pgmem.node;
  v_score float8;
begin
  if v_any is null then
    return '[]';
  end if;
  for v_old in
    select o.* from unnest(p_filter.tenants) as t(tenant) cross join lateral (
      select n.* from pgmem.node n
      where n.tenant = t.tenant and n.status = 'superseded' order by n.seq desc limit 1000) o
    where o.label = 'Decision' and o.project_seq is not distinct from coalesce(p_filter.project_seq, o.project_seq) and o.tsv @@ v_any
    order by o.seq desc limit 5
  loop
    v_head := pgmem.review_head(v_old.id);
    continue when v_head.status is distinct from 'active' or v_head.seq = v_old.seq;
    v_score := (
      select sum(least(q.weight / p_most, 1)) from unnest(p_words.lexemes, p_words.titles, p_words.weights) as q(lexeme, title, weight)
      where q.lexeme = any (p_own) and v_old.tsv @@ q.title and not v_head.tsv @@ q.title
        and not exists (select from pgmem.node n
                        where n.tsv @@ (q.title::text || ' & ' || pgmem.scope_query(p_filter))::tsquery and n.status = 'active'
                          and n.label = 'Decision'));
    if v_score is not null then
      return jsonb_build_array(jsonb_build_object('id', v_old.id, 'label', 'Decision', 'title', v_old.title, 'standing', false,
        'by', pgmem.said_by(v_old.source, v_old.trust_level), 'created_at', v_old.created_at, 'words', v_score,
        'replaced', jsonb_build_object('at', v_head.created_at, 'by', v_head.title, 'because', left(v_head.props ->> 'rationale', 300))));
    end if;
  end loop;
  return '[]';
end;
$$;
comment on function pgmem.decisions_left is
  'A replaced decision of a project that the words of a sentence name, with the live one in its place; an empty list: none.';


create or replace function pgmem.memory_for_prompt(
  p_prompt text,
  p_project_id text default null,
  p_limit pgmem.row_limit default 3,
  p_embeddings jsonb default null,
  p_embedding_model text default null,
  out matches jsonb
)
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_caller pgmem.caller := pgmem.caller();
  v_scope  pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, null);
  v_config text := coalesce(v_scope.text_config, pgmem.setting_text('text_config'));
  v_all    pgmem.search_filter;
  v_filter pgmem.search_filter;
  v_model  pgmem.embedding_model;
  v_vector real[];
  v_own    text[];
  v_verb   text[];
  v_words  pgmem.search_words;
  v_most   float8;
  v_said   record;
  v_near   jsonb := '[]';
  v_more   jsonb;
  v_left   jsonb := '[]';
  -- The cosines of ten usual decisions with a sentence about their work.
  c_usual     constant integer := 10;
  c_mean      constant float8 := 0.07;
  c_deviation constant float8 := 0.09;
begin
  matches := '[]';
  if v_scope.scope_state = 'uncertain' then
    return;
  end if;
  v_all.tenants := v_caller.tenants;
  v_all.project_seq := v_scope.project_seq;
  v_all.moment := pgmem.now();
  v_filter := v_all;
  v_filter.labels := '{Decision}';
  for v_said in
    select s.content, s.more, s.is_foreign, row_number() over (order by s.place)::integer as number
    from pgmem.content_sentences(coalesce(pgmem.clean_text(p_prompt, 'prompt'), ''), v_config) s order by s.place
  loop
    v_vector := case when not v_said.is_foreign then nullif(array(
      select number::real from jsonb_array_elements_text(p_embeddings -> (v_said.number - 1)) number), '{}') end;
    v_model := pgmem.query_model(v_vector, p_embedding_model);
    v_own := array(select l from unnest(pgmem.query_lexemes(v_said.content, v_config)) l where not pgmem.is_whole(l));
    -- Any work begins with such a verb: it says as little as a common word.
    v_verb := case when lower(split_part(v_said.content, ' ', 1)) = any (pgmem.verbs_of_work()) then array(
      select (pgmem.inflections(l))[1] from unnest(pgmem.query_lexemes(split_part(v_said.content, ' ', 1), v_config)) l) end;
    v_words := pgmem.search_words(v_own || array(
      select distinct k from unnest(v_own) l cross join unnest(pgmem.rivals(l)) k
      where not v_said.is_foreign and k <> all (v_own)), v_all);
    v_most := 2.2 * ln(1 + (greatest(v_words.memories, 3) - 0.5) / 1.5);  -- the weight of a word that one memory holds
    with candidate as materialized (
      select v.seq from pgmem.vector_candidates(
        case when v_model.id is not null then v_vector end, v_model, v_filter, v_words.memories::bigint, 30) v
      union
      select t.seq from pgmem.text_candidates(v_words, v_filter, 50) t
      union
      select i.seq from unnest(array[v_scope.project_seq::text, 'global']) as p(place)
      cross join unnest(v_caller.tenants) as t(tenant)
      cross join lateral (
        select n.seq from pgmem.node n
        where n.place = p.place and n.tenant = t.tenant and n.instructs
          and pgmem.is_of_a_person(n.source, n.trust_level) and pgmem.fits(n, v_all)
        order by n.created_at desc limit 20) i
    ), word as materialized (
      select w.form, x.query, x.title,
             least(x.weight / v_most, 1) * case when x.own then 1 else 0.7 end
               * case when w.form = any (pgmem.common_words() || v_verb) then 0.5 else 1 end as weight,
             x.own and w.form <> all (pgmem.common_words() || v_verb) as is_own
      from (select distinct (pgmem.inflections(l))[1] as form from unnest(v_own) l) w
      cross join lateral (
        select q.query, q.title, q.weight, (pgmem.inflections(q.lexeme))[1] = w.form as own
        from unnest(v_words.lexemes, v_words.queries, v_words.titles, v_words.weights) as q(lexeme, query, title, weight)
        where (pgmem.inflections(q.lexeme))[1] = w.form
          or not v_said.is_foreign and q.lexeme <> all (v_own) and q.lexeme = any (pgmem.rivals(w.form))) x
    )
    select jsonb_agg(jsonb_build_object('seq', c.seq, 'about', case when v_said.is_foreign then '' else v_said.content end,
                                        'more', v_said.more, 'words', shared.words, 'cosine', v.score))
    into v_more
    from candidate c
    cross join lateral (
      -- An agent that repeats the words of a person's decision makes them weigh no less than this.
      select n.tsv, pgmem.is_of_a_person(n.source, n.trust_level) as is_of_person from pgmem.node n
      where n.seq = c.seq and (n.label = 'Decision' and (pgmem.is_of_a_person(n.source, n.trust_level)
                                                         or not pgmem.is_noise(n.seq, v_caller.tenants))
                               or n.instructs and pgmem.is_of_a_person(n.source, n.trust_level))
      offset 0) n
    cross join lateral (
      select coalesce(sum(f.most), 0) as words from (
        select max(greatest(w.weight, case when w.is_own and n.is_of_person then 0.35 else 0 end)
                     * case when n.tsv @@ w.title then 1 else 0.45 end) as most
        from word w where n.tsv @@ w.query group by w.form) f) shared
    left join pgmem.vector_scores(case when v_model.id is not null then v_vector end, v_model,
      array(select x.seq from candidate x)) v on v.seq = c.seq;
    v_near := v_near || coalesce(v_more, '[]');
    v_left := v_left || pgmem.decisions_left(v_all, v_own, v_words, v_most);
  end loop;
  select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'title', n.title,
           'reason', left(coalesce(n.props ->> 'rationale', n.props ->> 'content'), 600),
           'standing', n.instructs and n.by = 'person', 'by', n.by, 'created_at', n.created_at,
           'about', m.about, 'more', m.more, 'words', m.words, 'likest', m.likest)
         order by m.score desc, m.seq desc), '[]')
  into matches
  from (select f.seq, f.about, f.more, f.words, f.score, f.likest from (
        select f.*, said.by, row_number() over (partition by said.by order by f.score desc, f.seq desc) as turn,
               (f.cosine - (c_usual * c_mean + f.number * f.mean) / (c_usual + f.number))
                 / sqrt((c_usual * c_deviation ^ 2 + f.number * f.variance) / (c_usual + f.number)) as likest
        from (
          select f.*, count(f.cosine) over () as number, coalesce(avg(f.cosine) over (), 0) as mean,
                 coalesce(var_pop(f.cosine) over (), 0) as variance
          from (
            select distinct on (f.seq) f.*, f.words + coalesce(f.cosine, 0) as score,
                   max(f.words + coalesce(f.cosine, 0)) over () as best
            from jsonb_to_recordset(v_near) as f(seq bigint, about text, more integer, words float8, cosine float8)
            order by f.seq, f.words + coalesce(f.cosine, 0) desc) f) f
        cross join lateral (
          select pgmem.said_by(n.source, n.trust_level) as by from pgmem.node n where n.seq = f.seq offset 0) said
        where f.score > 0) f
        -- Half of the places are for decisions of a person that are half as near, however often an agent repeats the prompt.
        order by f.by = 'person' and f.turn <= p_limit / 2 and f.score * 2 >= f.best desc, f.score desc, f.seq desc
        limit p_limit) m
  cross join lateral (
    select n.*, pgmem.said_by(n.source, n.trust_level) as by from pgmem.live_node n where n.seq = m.seq offset 0) n;
  matches := pgmem.marked_wrong(matches, v_caller.tenants);
  matches := (select coalesce(jsonb_agg(l.item), '[]') from (
    select l.item from jsonb_array_elements(v_left) as l(item) order by (l.item ->> 'words')::float8 desc limit 1) l) || matches;
end;
$$;
comment on function pgmem.memory_for_prompt is $$
The decisions and standing instructions nearest to the work that a prompt gives, best first; none for mere talk.

Each match holds id, label, title, standing (only of a person), by (person or agent), created_at, the beginning of its
reason, the sentence that it is nearest to (about; empty for one in another language than the store), the weight of the
words that both share (words), how far its cosine is above the average (likest; null without vectors), and whether the
sentence gives work (more: 2; a question about the world: -2). A decision that was replaced comes first if a sentence names
a word that it alone has: replaced holds at, by (a title) and because. One that an agent named wrong has wrong_at.

prompt: The text that a person wrote to an agent; of a long one the first 1000 and the last 3000 characters count.
project_id: Project name; unset: all projects.
embeddings: A list with a vector for each sentence of prompt_sentences; unset: only words are compared.
embedding_model: The model of the vectors.

InvalidArgument: the limit is out of its bounds, or the vectors have another length than the model's.
$$;
select pgmem.declare_verb('memory_for_prompt', p_rights => 'reader', p_effect => 'read',
  p_patience => 'answer',
  p_reads => 8000);
