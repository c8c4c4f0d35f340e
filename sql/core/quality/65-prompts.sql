-- What a prompt is given
--
-- A prompt that gives work gets the decisions, and what persons want done always, that are nearest to it, whether they answer it or not: who is
-- about to page a list by offsets asks nothing, and is to know what was decided. Each sentence of the prompt is compared
-- by itself, so that what is said around the task does not hide it:
--
--   score = words (4 at most) + 12 * cosine + shared words (2 at most)
--           + 2 for an order to build something, or a question for what was decided, if anything stored shares a word
--             with it or has a cosine of .12: "add two cups of flour" is an order too
--           - 2 for a question about the world, 1 for a remark
--
-- Words of talk do not count. With a best score of 6.25 the prompt is a task of this project, and gets what is nearest,
-- however near; talk ("thanks, go on") has too few words, and work on something else neither words nor meaning of what
-- is stored, nor a verb of building. The numbers were chosen on nine small stores with 15 tasks in five wordings each and
-- 105 other prompts (benchmarks/prompts.json; two stores more were written before and looked at after), where they change
-- little around these. A cosine compares wholes; which of the nearest a task is about is in its words, and their vectors
-- are with the model: the hook takes those whose titles, or reasons, it speaks of most.
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
comment on function pgmem.words_of_talk is 'English words that say nothing of what a sentence is about, beside stop words.';


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
  -- What is said before an order: please, could you, now, I want to. An order that goes on with "me" or "it" is talk.
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


create or replace function pgmem.content_sentences(p_prompt text, p_config text)
returns table (place bigint, content text, words integer, more integer)
language sql immutable set search_path = pgmem, pg_temp as $$
  select s.place, w.content, w.words,
         case when pgmem.gives_work(w.said)
             or s.text ~* '\m(we|us|our)\M.*\m(decided?|agreed?|chose|chosen|settled)\M' then 2
           when s.text ~* '\m(we|us|our)\M' then 0
           when s.text ~* '^\W*(what|who|which|where|when|why|how|is|are|does|do|did|was|were)\M' then -2
           when s.text ~* '^\W*(i|you|he|she|it|that|my)\M(?!\s+(want|need|must|should|would like|has to|have to))' then -1
           else 0 end
  from regexp_split_to_table(left(p_prompt, 4000), '(?<=[.!?;:])\s+|\n+') with ordinality as s(text, place)
  cross join lateral (
    select string_agg(m.word[1], ' ' order by m.number) filter (where f.counts) as content,
           (count(distinct lower(m.word[1])) filter (where f.counts))::integer as words,
           array_agg(f.word order by m.number) as said
    from regexp_matches(s.text, '[[:alnum:]_][[:alnum:]_''/.+#-]*', 'g') with ordinality as m(word, number)
    cross join lateral (select lower(btrim(m.word[1], '.''')) as word) l
    cross join lateral (
      select l.word, l.word <> all (pgmem.words_of_talk()) and to_tsvector(p_config::regconfig, m.word[1]) <> ''::tsvector
        as counts) f) w
  where w.words >= 2 order by s.place limit 8;
$$;
comment on function pgmem.content_sentences is
  'The sentences of a prompt without words of talk, at most 8; those that hold fewer than two other words are left out.';


create or replace function pgmem.prompt_sentences(
  p_prompt text,
  out sentences jsonb,
  out embedding_model text
)
language plpgsql stable security definer set search_path = pgmem, pg_temp as $$
begin
  perform pgmem.caller();
  sentences := (select coalesce(jsonb_agg(s.content order by s.place), '[]') from pgmem.content_sentences(
    coalesce(pgmem.clean_text(p_prompt, 'prompt'), ''), pgmem.setting_text('text_config')) s);
  if sentences <> '[]' and pgmem.has_vectors() then
    embedding_model := (select m.name from pgmem.embedding_model m where m.active);
  end if;
end;
$$;
comment on function pgmem.prompt_sentences is $$
What a prompt is about: its sentences without words of talk, to be embedded for memory_for_prompt; none for mere talk.

embedding_model is the one whose vectors this store compares; null where it keeps none.

prompt: What a person wrote to an agent; its first 4000 characters count.
$$;
select pgmem.declare_verb('prompt_sentences', p_rights => 'reader', p_effect => 'read',
  p_patience => 'answer');


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
  v_words  pgmem.search_words;
  v_said   record;
  v_near   jsonb := '[]';
  v_more   jsonb;
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
    select s.content, s.words, s.more, row_number() over (order by s.place)::integer as number
    from pgmem.content_sentences(coalesce(pgmem.clean_text(p_prompt, 'prompt'), ''), v_config) s order by s.place
  loop
    v_vector := nullif(array(
      select number::real from jsonb_array_elements_text(p_embeddings -> (v_said.number - 1)) number), '{}');
    v_model := pgmem.query_model(v_vector, p_embedding_model);
    v_words := pgmem.search_words(pgmem.query_lexemes(v_said.content, v_config), v_all);
    with candidate as materialized (
      select v.seq from pgmem.vector_candidates(
        case when v_model.id is not null then v_vector end, v_model, v_filter, v_words.memories::bigint, 30) v
      union
      select t.seq from pgmem.text_candidates(v_words, v_all, 50) t
      union
      select i.seq from unnest(array[v_scope.project_seq::text, 'global']) as p(place)
      cross join unnest(v_caller.tenants) as t(tenant)
      cross join lateral (
        select n.seq from pgmem.node n
        where n.place = p.place and n.tenant = t.tenant and n.instructs
          and pgmem.is_of_a_person(n.source, n.trust_level) and pgmem.fits(n, v_all)
        order by n.created_at desc limit 20) i
    )
    select jsonb_agg(jsonb_build_object('seq', c.seq, 'about', v_said.content, 'words', s.words,
                                        'score', s.words + 12 * coalesce(c.cosine, 0.1)))
    into v_more
    from (
      select c.seq, v.score as cosine, shared.words, max(v.score) over () < 0.12 and max(shared.words) over () = 0 as far
      from candidate c
      cross join lateral (
        select n.tsv from pgmem.node n
        where n.seq = c.seq and (n.label = 'Decision' and (pgmem.is_of_a_person(n.source, n.trust_level) or not pgmem.is_noise(n.seq, v_caller.tenants))
                                 or n.instructs and pgmem.is_of_a_person(n.source, n.trust_level))
        offset 0) n
      cross join lateral (
        select count(distinct (pgmem.inflections(w.lexeme))[1]) as words
        from unnest(v_words.lexemes, v_words.queries) as w(lexeme, query)
        where not pgmem.is_whole(w.lexeme) and n.tsv @@ w.query) shared
      left join pgmem.vector_scores(case when v_model.id is not null then v_vector end, v_model,
        array(select x.seq from candidate x)) v on v.seq = c.seq) c
    cross join lateral (select least(v_said.words, 4)
      + case when c.far then least(v_said.more, 0) else v_said.more end
      + least(c.words, 2) * case when c.cosine is null then 1.5 else 1 end as words) s;
    v_near := v_near || coalesce(v_more, '[]');
  end loop;
  select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'label', n.label, 'title', n.title,
           'reason', left(coalesce(n.props ->> 'rationale', n.props ->> 'content'), 200),
           'standing', n.instructs and n.by = 'person', 'by', n.by, 'created_at', n.created_at, 'about', m.about, 'words', m.words)
         order by m.score desc, m.seq desc), '[]')
  into matches
  from (select f.seq, f.about, f.words, f.score from (
        select f.*, said.by, row_number() over (partition by said.by order by f.score desc, f.seq desc) as turn from (
          select distinct on (f.seq) f.*, max(f.score) over () as best
          from jsonb_to_recordset(v_near) as f(seq bigint, about text, words float8, score float8)
          order by f.seq, f.score desc) f
        cross join lateral (
          select pgmem.said_by(n.source, n.trust_level) as by from pgmem.node n where n.seq = f.seq offset 0) said
        where f.best >= 6.25) f
        -- Half of the places are for what a person decided and is half as near, however often an agent repeats the prompt.
        order by f.by = 'person' and f.turn <= p_limit / 2 and f.score * 2 >= f.best desc, f.score desc, f.seq desc
        limit p_limit) m
  cross join lateral (
    select n.*, pgmem.said_by(n.source, n.trust_level) as by from pgmem.live_node n where n.seq = m.seq offset 0) n;
end;
$$;
comment on function pgmem.memory_for_prompt is $$
The decisions and standing instructions nearest to the work that a prompt gives, best first; none for mere talk.

Each match holds id, label, title, standing (only of a person), by (person or agent) and created_at, the beginning of its reason, the sentence that it is nearest to
(about) and what the words of that sentence count (words).

prompt: What a person wrote to an agent; its first 4000 characters count.
project_id: Project name; unset: all projects.
embeddings: A list with a vector for each sentence of prompt_sentences; unset: only words are compared.
embedding_model: The model of the vectors.

InvalidArgument: the limit is out of its bounds, or the vectors have another length than the model's.
$$;
select pgmem.declare_verb('memory_for_prompt', p_rights => 'reader', p_effect => 'read',
  p_patience => 'answer',
  p_reads => 5000);
