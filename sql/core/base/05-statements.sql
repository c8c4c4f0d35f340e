-- Statements
--
-- A plain statement says in one English sentence a fact about something: a subject, a verb of state, and an end. Two
-- statements of the same subject and verb contradict each other where their ends differ, where one denies the other, or
-- where they name other numbers. Events do not: an event that happened twice is true twice. So a text without a verb of
-- state, a question, and a sentence about I, this or it, whose subject another sentence names, are not statements.
--
-- statement is the form by which statements of one beginning are next to each other in an index: words in lower case
-- without a leading article and negations, a tab behind the verb, and each number behind it as #. contradiction compares two texts
-- and names the axis; the difference must be a short noun phrase: eight words hold the longest names. Where, when or for
-- whom something holds is a part of the statement: one that adds such a tail is another statement.
--
-- Titles of decisions are compared without their capitals (title_difference). Two that are equal but for one phrase
-- decide the same thing otherwise where the phrase is a means, an end or a time (with Y, in Y, on Monday), and they
-- decide two things where it is the subject or the object. title_form puts orders of one beginning next to each other.
--
-- Locks: none.


-- Verbs of state have one end at a time: a class, a price, a part. Has, uses and their like have many: two ends
-- contradict each other only in a number or before a common purpose. Verbs without s need a plural before them; else
-- they are nouns or infinitives.
create or replace function pgmem.verb_kind(p_word text, p_before text) returns text
language sql immutable parallel safe
begin atomic
  select case
    when p_word = any ('{is,are,was,were}'::text[]) then 'be'
    when p_before = any ('{to,of,for,and,or,with,the,a,an,in,on,by}'::text[]) then null
    when p_word = any ('{has,had,uses,used,supports,needs,requires,contains,allows,accepts}'::text[]) then 'many'
    when p_word = any ('{equals,costs,lives,lived,works,worked,plays,played,speaks,spoke,died,belongs,runs,ran,starts,begins,ends,expires,opens,closes,weighs,measures,takes,lasts,reports,defaults,points,listens,returns,stores,prefers,preferred,remains,stays,must,should,shall}'::text[])
      then 'one'
    when right(p_before, 1) = 's' or p_before = any ('{we,do,does,did,not}'::text[]) then case
      when p_word = any ('{have,use,support,need,require,contain,allow,accept}'::text[]) then 'many'
      when p_word = any ('{equal,cost,live,work,play,speak,belong,run,start,begin,end,expire,open,close,weigh,measure,take,last,report,default,point,listen,return,store,prefer,remain,stay}'::text[])
        then 'one' end
    end;
end;
comment on function pgmem.verb_kind is
  'Which verb of state a word in lower case is, after another word: be, one (end at a time) or many; null: none.';


create or replace function pgmem.is_number(p_word text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_word ~ '^[<>=~$€£+-]*\d[\d.,:/-]*[a-zA-Z%°]{0,3}$';
end;
comment on function pgmem.is_number is 'Whether a word is a number, a date or a time, perhaps with a unit; a name with a digit is none.';


create or replace function pgmem.is_negation(p_word text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_word = any ('{not,no,never,cannot,longer,always,anymore,do,does,did}'::text[]);
end;
comment on function pgmem.is_negation is
  'Whether a word in lower case says that a statement holds always, never or no longer, or helps to express it.';


create or replace function pgmem.is_function_word(p_word text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_word = any ('{a,an,the,of,in,on,at,to,for,from,by,with,as,and,or,be,been,is,are,was,were,our,my,your,his,her,its,their,we,i,you,it,he,she,they,this,that,has,have,had,will,would,can,could,must,should,shall,may,all,each,every,per,than,into,over,after,before,now,currently,still}'::text[]);
end;
comment on function pgmem.is_function_word is 'Whether a word of English, in lower case, names nothing.';


-- Signs inside a word belong to it: 3.5, a/b, O'Neill. Text before a colon is a speaker or a heading.
create or replace function pgmem.statement_text(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select btrim(regexp_replace(regexp_replace(
    case when strpos(p_text, 'n''t') > 0 or strpos(p_text, 'n’t') > 0
      then regexp_replace(p_text, '(\w)n[''’]t\M', '\1 not', 'g') else p_text end,
    '[.:!,;]+(?=\s|$)|[("“”«»)\[\]{}*_`]+', '', 'g'), '\s+', ' ', 'g'));
end;
comment on function pgmem.statement_text is
  'A sentence without the punctuation around its words, between which there are single blanks.';


create or replace function pgmem.statement_words(p_text text) returns text[]
language sql immutable parallel safe
begin atomic
  select string_to_array(pgmem.statement_text(p_text), ' ');
end;
comment on function pgmem.statement_words is 'The words of a sentence without the punctuation around them.';


create or replace function pgmem.verb_place(p_words text[]) returns integer
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_before text := '';
  v_word   text;
begin
  if lower(p_words[1]) in ('always', 'never') then
    return 2;
  end if;
  for place in 1 .. least(cardinality(p_words), 16) loop
    v_word := lower(p_words[place]);
    if place > 1 and pgmem.verb_kind(v_word, v_before) is not null then
      return place;
    end if;
    v_before := v_word;
  end loop;
  return null;
end;
$$;
comment on function pgmem.verb_place is 'The place of the verb of state in the words of a sentence; null: none.';


-- Most texts are refused by their first word or for want of a verb, before anything dear is done.
create or replace function pgmem.statement(p_text text) returns text
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_words  text[];
  v_verb   integer;
  v_word   text;
  v_form   text := '';
begin
  -- A subject is short, so the verb is near the beginning.
  if length(p_text) not between 10 and 300 or left(p_text, 120) !~ (
      ' (is|are|was|were|has|had|uses|used|supports|needs|requires|contains|allows|accepts|equals|costs|lives|lived|works'
      '|worked|plays|played|speaks|spoke|died|belongs|runs|ran|starts|begins|ends|expires|opens|closes|weighs|measures'
      '|takes|lasts|reports|defaults|points|listens|returns|stores|prefers|preferred|remains|stays|must|should|shall|have'
      '|use|support|need|require|contain|allow|accept|equal|cost|live|work|play|speak|belong|run|start|begin|end|expire'
      '|open|close|weigh|measure|take|last|report|default|point|listen|return|store|prefer|remain|stay'
      '|(is|are|was|were|has|had|must|should)n.t) ') and p_text !~* '^(always|never) ' then
    return null;
  end if;
  v_words := string_to_array(left(p_text, 80), ' ');
  if right(v_words[1], 1) = ':' then
    v_words := v_words[2:];
  end if;
  if lower(rtrim(v_words[1], ',.!')) = any ('{i,i''m,i''ve,you,he,she,it,it''s,they,this,that,that''s,these,those,there,here,what,who,which,how,when,where,why,if,so,and,but,yes,yeah,no,oh,wow,thanks,all,some,everyone,everything,nothing,something}'::text[])
    -- Two ends of a sentence, or a question, say more than one thing.
    or p_text ~ '[a-z0-9)]{3}[.]+\s+[A-Z]|[!?]\s|[?？]\s*$|\n' then
    return null;
  end if;
  v_words := pgmem.statement_words(p_text);
  v_verb := pgmem.verb_place(v_words);
  if v_verb is null or v_verb = cardinality(v_words) then
    return null;
  end if;
  for place in 1 .. least(cardinality(v_words), 40) loop
    v_word := lower(v_words[place]);
    continue when pgmem.is_negation(v_word) or place = 1 and v_word in ('the', 'our', 'a', 'an');
    v_form := v_form || case when place > v_verb and pgmem.is_number(v_word) then '#' when place = v_verb then rtrim(v_word, 's') else v_word end
      || case when place = v_verb then e'\t' else ' ' end;
  end loop;
  return case when strpos(v_form, e'\t') between 3 and 150 then left(rtrim(v_form), 200) end;
end;
$$;
comment on function pgmem.statement is
  'The form of a plain statement by which others of the same beginning are next to it; null for any other text.';


create or replace function pgmem.stated(p_label text, p_title text, p_props jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case p_label when 'Context' then p_props ->> 'content' when 'EntityFact' then p_props ->> 'fact'
    when 'Decision' then p_title end;
end;
comment on function pgmem.stated is 'The text of a memory that may be a plain statement; null for a kind that states none.';


-- A save compares its title with hundreds: these two are inlined, and a query costs ten times as much. The negations
-- are those of is_negation.
create or replace function pgmem.bare_words(p_text text) returns text[]
language sql immutable parallel safe
begin atomic
  select string_to_array(ltrim(regexp_replace(p_text,
    '^(the|our|an?)(?= |$)|(^| )(not|no|never|cannot|longer|always|anymore|do|does|did)(?= |$)', '', 'gi')), ' ');
end;
comment on function pgmem.bare_words is 'The words of a statement_text without negations and a leading article.';


create or replace function pgmem.denials(p_text text) returns integer
language sql immutable parallel safe
begin atomic
  select regexp_count(p_text, '(^| )(not|no|never|cannot|without)(?= |$)');
end;
comment on function pgmem.denials is 'How many words of a statement_text in lower case deny.';


-- Since, as of and until say when a value changed, which makes no other statement of it.
create or replace function pgmem.tail_of(p_words text[]) returns text
language plpgsql immutable parallel safe as $$
begin
  for place in 2 .. cardinality(p_words) loop
    if p_words[place] = any ('{at,on,in,for,to,with,during,within,outside,inside,after,before,per,except,among,between,under,over,through}'::text[]) then
      return array_to_string(p_words[place :], ' ');
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.tail_of is
  'The end of a phrase that says where, when or for whom it holds, from its first preposition on; null: it has none.';


create or replace function pgmem.words_contradict(
  p_theirs text[],
  p_ours text[],
  p_denied boolean,
  p_starts boolean
) returns text
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_x      text[] := string_to_array(lower(array_to_string(p_theirs, ' ')), ' ');
  v_y      text[] := string_to_array(lower(array_to_string(p_ours, ' ')), ' ');
  v_n      integer := cardinality(v_x);
  v_m      integer := cardinality(v_y);
  v_begin  integer := 0;
  v_end    integer := 0;
  v_verb   integer;
  v_kind   text;
  v_shared integer := 0;
  v_word   text;
  v_after  text[];
  v_one    text[];
  v_other  text[];
  v_named  boolean;
  v_numbers boolean;
begin
  while v_begin < least(v_n, v_m) and rtrim(v_x[v_begin + 1], 's') = rtrim(v_y[v_begin + 1], 's') loop
    v_begin := v_begin + 1;
  end loop;
  while v_end < least(v_n, v_m) - v_begin and v_x[v_n - v_end] = v_y[v_m - v_end] loop
    v_end := v_end + 1;
  end loop;
  if v_begin = 0 then
    return null;
  end if;
  v_after := v_x[v_n - v_end + 1 :];
  v_one := v_x[v_begin + 1 : v_n - v_end];
  v_other := v_y[v_begin + 1 : v_m - v_end];
  if v_one <> '{}' or v_other <> '{}' then
    if cardinality(v_one) not between 1 and 8 or cardinality(v_other) not between 1 and 8 then
      return null;
    end if;
    v_verb := case when v_begin > 1 then pgmem.verb_place(v_x[:v_begin]) end;
    v_kind := case when v_verb is not null then coalesce(pgmem.verb_kind(v_x[v_verb], v_x[v_verb - 1]), 'one')
      -- A title that begins with a verb states an aim, such as Use Redis for sessions.
      when p_starts then 'one'
      when v_x[1] = any ('{use,adopt,choose,prefer,select,pick}'::text[]) then 'many' end;
    v_numbers := pgmem.is_number(v_one[1]) and pgmem.is_number(v_other[1]) and v_one[2:] is not distinct from v_other[2:];
    if v_kind is null and not v_numbers then
      return null;
    end if;
  end if;
  if pgmem.tail_of(v_one) is distinct from pgmem.tail_of(v_other) then
    return null;
  end if;
  foreach v_word in array v_x[:v_begin] || v_after loop
    if not pgmem.is_function_word(v_word) and v_word !~ '^\d' then
      v_shared := v_shared + 1;
    end if;
  end loop;
  if v_one = '{}' and v_other = '{}' then
    return case when v_shared >= 2 and p_denied then 'negation' end;
  elsif v_shared < 1 or p_denied then
    return null;
  end if;
  -- A number after the verb is a value; one before it names a thing, as chapter 7 does.
  if v_numbers then
    return case
      when v_shared < 2 and v_verb is null then null
      when v_verb is null
        and v_x[v_begin] <> all ('{to,of,at,than,every,after,within,least,most}'::text[])
        and coalesce(v_after[1], '') !~ '^(times|seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|[kmgt]i?b|ms)$'
        then null
      when v_one[1] ~ '^\d{4}-\d\d|^(19|20)\d\d$' and v_other[1] ~ '^\d{4}-\d\d|^(19|20)\d\d$' then 'date'
      else 'number' end;
  end if;
  if v_kind = 'many' and not exists (select from unnest(v_after) as w(word) where not pgmem.is_function_word(word))
     -- Two of a class, such as a dog and a good boy, may be the same; so may the words after about.
     or v_one[1] in ('a', 'an') and v_other[1] in ('a', 'an') or v_x[v_begin] in ('a', 'an', 'about', 'like')
     -- The end of a statement is a noun phrase: it holds no second clause.
     or (v_one || v_other) && '{is,are,was,were,has,have,had,he,she,it,they,we,you,but,because,if,when,while,since,so,then,which,who,that,will,would,can,could,must,should}'::text[] then
    return null;
  end if;
  v_named := p_theirs[v_begin + 1] ~ '[[:upper:]\d]' and p_ours[v_begin + 1] ~ '[[:upper:]\d]';
  -- Founded in and founded by are two relations.
  if pgmem.is_function_word(v_one[1]) and pgmem.is_function_word(v_other[1]) then
    return null;
  end if;
  -- Right after the verb a word in lower case may be how something is, such as tired, or begin another relation, such as
  -- married to.
  if not v_named and (v_shared < 2 or v_kind = 'be' and v_verb = v_begin
      and (v_one || v_other) && '{of,in,for,to,at,on,by,with,from,about}'::text[]) then
    return null;
  end if;
  return case
    when array_to_string(v_x[:v_begin], ' ') ~ '\m(prefer|favou?rite)' then 'preference'
    when pgmem.names_day(v_one) and pgmem.names_day(v_other) then 'date'
    else 'object' end;
end;
$$;
comment on function pgmem.words_contradict is $$
How the second of two sentences contradicts the first, by their words without negations (bare_words), as contradiction says it.

denied: One of them denies more often.
starts: The first begins with always or never.
$$;


create or replace function pgmem.contradiction(p_theirs text, p_ours text) returns text
language sql immutable parallel safe
begin atomic
  select pgmem.words_contradict(pgmem.bare_words(pgmem.statement_text(p_theirs)), pgmem.bare_words(pgmem.statement_text(p_ours)),
    pgmem.denials(pgmem.statement_text(lower(p_theirs))) <> pgmem.denials(pgmem.statement_text(lower(p_ours))),
    lower(p_theirs) ~ '^(always|never)\M');
end;
comment on function pgmem.contradiction is $$
How the second of two texts contradicts the first: object, number, date, negation or preference; null: not plainly.
$$;


create or replace function pgmem.names_day(p_words text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select array_to_string(p_words, ' ') ~ '\m((mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\M|\d{4}-\d\d';
end;
comment on function pgmem.names_day is 'Whether words in lower case name a day or a month.';


create or replace function pgmem.as_name(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select ' ' || btrim(regexp_replace(lower(normalize(left(p_text, 10000), NFKC)), '[^\w]+|_', ' ', 'g')) || ' ';
end;
comment on function pgmem.as_name is
  'A text as names are looked for in it: words in lower case between single spaces; signs and underscores are spaces.';


-- A loop, which takes a third of the time of a query.
create or replace function pgmem.content_words(p_words text[]) returns text[]
language plpgsql immutable strict parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_word  text;
  v_found text[] := '{}';
begin
  foreach v_word in array string_to_array(translate(array_to_string(p_words, ' '), '-/_''.', '    '), ' ') loop
    if v_word <> '' and v_word <> 's' and v_word <> 'without' and not pgmem.is_function_word(v_word)
        and not pgmem.is_negation(v_word) then
      v_found := v_found || rtrim(v_word, 's');
    end if;
  end loop;
  return v_found;
end;
$$;
comment on function pgmem.content_words is
  'The words in lower case that name something, without the s of a plural; a hyphen splits.';


create or replace function pgmem.is_amount(p_words text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select array_to_string(p_words, ' ') ~ ('^(about |at least |at most |up to )?(\d[\d.,]*[a-z%]{0,3}|an?|half an?|one|two|three|four|five|six'
    '|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundred|thousand)\M|^(for )?(ever|once|twice)\M');
end;
comment on function pgmem.is_amount is 'Whether a phrase in lower case begins with a number, in digits or in words.';


-- A closed list, the words of each side: an order and its opposite, and two ways of which one excludes the other.
create or replace function pgmem.are_opposites(p_one text[], p_other text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select exists (
    select from (values
      ('{allow,allows,allowed,permit,permits,permitted,accept,accepts,accepted,approve,approved}'::text[],
       '{forbid,forbids,forbidden,prohibit,prohibits,prohibited,disallow,deny,denies,denied,block,blocks,blocked,ban,bans,banned
         ,reject,rejects,rejected,refuse,refuses,refused,decline,declined}'::text[]),
      ('{enable,enables,enabled,on}', '{disable,disables,disabled,off}'),
      ('{include,includes,included,including}', '{exclude,excludes,excluded,excluding,omit,omits,omitted}'),
      ('{keep,keeps,kept,retain,retained,store,stores,stored,add,added,support,supports,supported}',
       '{delete,deletes,deleted,remove,removes,removed,discard,discarded,erase,erased,drop,drops,dropped}'),
      ('{show,shows,shown,display,displayed}', '{hide,hides,hidden}'),
      ('{require,requires,required,mandatory,compulsory}', '{optional,voluntary}'),
      ('{automatic,automatically,automated}', '{manual,manually,hand,person,human}'),
      ('{public,publicly,open}', '{private,privately,internal,internally,closed,secret}'),
      ('{synchronous,synchronously}', '{asynchronous,asynchronously,background}'),
      ('{client,browser,frontend,front-end}', '{server,backend,back-end}'),
      ('{immediately,instantly,once}', '{later,day,days,week,weeks,month,months,year,years,hour,hours}'),
      ('{encrypted}', '{plain,unencrypted}'),
      ('{raise,raises,raised,increase,increased}', '{lower,lowers,lowered,reduce,reduces,reduced,decrease,decreased}'),
      ('{start,starts,started}', '{stop,stops,stopped}'),
      ('{all,any,anyone,every,everyone,everybody}', '{none,only,nobody}'),
      ('{before}', '{after}'), ('{first}', '{last}'), ('{local,locally}', '{remote,remotely}'), ('{buy}', '{build,rent}'),
      ('{light}', '{dark}'), ('{tabs}', '{spaces}')) as sides(one, other)
    where p_one && one and p_other && other or p_other && one and p_one && other);
end;
comment on function pgmem.are_opposites is 'Whether two phrases of words in lower case exclude each other, by a list of opposites.';


create or replace function pgmem.title_difference(
  p_theirs text,
  p_ours text,
  out axis text,
  out is_apart boolean,
  out leads boolean
)
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  c_means  constant text[] := '{with,via,using,through,by,as}'::text[];
  c_ends   constant text[] := '{in,on,at,to,into,onto,from,under}'::text[];
  c_clause constant text[] := '{is,are,was,were,has,have,if,when,while,unless,until,because,but,since,so,which,who,that,where}'::text[];
  c_orders constant text[] := '{add,adopt,allow,archive,avoid,back,build,cache,call,change,check,choose,compress,copy,create,deploy'
    ',do,drop,encrypt,enforce,export,fetch,follow,generate,give,handle,have,hold,host,implement,index,install,introduce,keep,limit,load'
    ',log,make,maintain,manage,measure,migrate,monitor,move,name,pick,pin,place,prefer,print,process,publish,put,read,record,render'
    ',replace,report,require,retain,return,run,save,schedule,select,sell,send,serve,set,ship,show,sign,split,start,store,support,switch,sync,take,test'
    ',track,try,turn,upgrade,use,validate,verify,write}'::text[];
  c_often  constant text := '\m(hourly|daily|nightly|weekly|monthly|quarterly|yearly|(every|each)( \w+)? \w+|(once|twice|\w+ times) (an?|per|each|every) \w+)$';
  c_ordinal constant text := '^(the )?(first|second|third|\w+th|last|\d+(st|nd|rd))$';
  v_theirs text := lower(p_theirs);
  v_ours   text := lower(p_ours);
  v_said   text := pgmem.statement_text(v_theirs);
  v_says   text := pgmem.statement_text(v_ours);
  v_x      text[] := pgmem.bare_words(v_said);
  v_y      text[] := pgmem.bare_words(v_says);
  v_n      integer := cardinality(v_x);
  v_m      integer := cardinality(v_y);
  v_begin  integer := 0;
  v_end    integer := 0;
  v_name   text;
  v_word   text;
  v_before text[];
  v_after  text[];
  v_last   text;
  v_one    text[];
  v_other  text[];
  v_a      text[];
  v_b      text[];
begin
  is_apart := false;
  leads := false;
  if pgmem.denials(v_said) <> pgmem.denials(v_says) then
    is_apart := true;
    v_a := pgmem.content_words(v_x);
    v_b := pgmem.content_words(v_y);
    -- One denies the statement of the other about all or a part of it.
    axis := case when least(cardinality(v_a), cardinality(v_b)) > 1 and (v_a <@ v_b or v_b <@ v_a) then 'negation' end;
    return;
  end if;
  -- A number that one alone has names another thing, or another value of it.
  if v_theirs ~ '\d' then
    v_name := pgmem.as_name(v_ours);
    foreach v_word in array v_x loop
      is_apart := is_apart or v_word ~ '\d' and strpos(v_name, pgmem.as_name(v_word)) = 0;
    end loop;
  end if;
  if not is_apart and v_ours ~ '\d' then
    v_name := pgmem.as_name(v_theirs);
    foreach v_word in array v_y loop
      is_apart := is_apart or v_word ~ '\d' and strpos(v_name, pgmem.as_name(v_word)) = 0;
    end loop;
  end if;
  axis := coalesce(pgmem.words_contradict(v_x, v_y, false, v_theirs ~ '^(always|never)\M'),
    case when is_apart and v_theirs <> v_ours and v_theirs ~ '\d' and v_ours ~ '\d'
      and pgmem.differ_in_numbers(string_to_array(v_said, ' '), string_to_array(v_says, ' ')) then 'number' end);
  while v_begin < least(v_n, v_m) and rtrim(v_x[v_begin + 1], 's') = rtrim(v_y[v_begin + 1], 's') loop
    v_begin := v_begin + 1;
  end loop;
  while v_end < least(v_n, v_m) - v_begin and rtrim(v_x[v_n - v_end], 's') = rtrim(v_y[v_m - v_end], 's') loop
    v_end := v_end + 1;
  end loop;
  v_before := v_x[: v_begin];
  v_after := v_x[v_n - v_end + 1 :];
  v_one := v_x[v_begin + 1 : v_n - v_end];
  v_other := v_y[v_begin + 1 : v_m - v_end];
  if axis is not null or v_one = '{}' or v_other = '{}' then
    return;
  end if;
  -- Most pairs are of two things that differ in more than one phrase.
  if v_begin > 0 and greatest(cardinality(v_one), cardinality(v_other)) > 7 then
    return;
  end if;
  v_a := pgmem.content_words(v_one);
  v_b := pgmem.content_words(v_other);
  if v_begin = 0 and v_a[2:] <> '{}' and pgmem.content_words(v_one[2:]) @> v_b[2:] and pgmem.content_words(v_other[2:]) @> v_a[2:]
      and pgmem.are_opposites(v_one[:1], v_other[:1]) then
    axis := 'object';
    return;
  end if;
  -- One phrase of each, and something else that they share.
  if greatest(cardinality(v_one), cardinality(v_other)) > 7 or v_a && v_b
      or pgmem.content_words(v_before || v_after) = '{}' then
    return;
  end if;
  if v_before[v_begin] in ('a', 'an', 'the', 'our') then
    v_before := v_before[: v_begin - 1];
  end if;
  v_last := v_before[cardinality(v_before)];
  if not (v_one || v_other) && c_clause and pgmem.tail_of(v_one) is not distinct from pgmem.tail_of(v_other) then
    axis := case
      when pgmem.names_day(v_one) and pgmem.names_day(v_other)
        or v_last in ('every', 'each')
        or v_last = 'on' and array_to_string(v_one, ' ') ~ c_ordinal and array_to_string(v_other, ' ') ~ c_ordinal
          and array_to_string(v_after, ' ') ~ '^(\w*day )?(of )?(the |each |every )?(week|month|quarter|year)$'
        or array_to_string(v_one, ' ') ~ c_often and array_to_string(v_other, ' ') ~ c_often then 'date'
      when v_begin > 0 and pgmem.is_amount(v_one) and pgmem.is_amount(v_other)
        and exists (select from unnest(v_before || v_after) as w(word) where not pgmem.is_function_word(word)
                    and not pgmem.is_amount(array[word])) then 'number'
      when greatest(cardinality(v_one), cardinality(v_other)) <= 4
        and (v_begin = 0 or v_after = '{}' or pgmem.is_function_word(v_after[1]) or v_one[1] in ('including', 'excluding'))
        and pgmem.are_opposites(v_one, v_other) then 'object'
      when v_begin = 0 then null
      when v_last = any (c_means) and (v_after = '{}' or pgmem.is_function_word(v_after[1]))
        -- Things that are made one by one have a place each.
        or v_last = any (c_ends) and v_after = '{}' and not v_before && '{a,an,another}'::text[]
        or v_one[1] = any (c_means || c_ends) and v_other[1] = any (c_means || c_ends) and v_after = '{}'
        or v_x[1] = any ('{use,adopt,choose,prefer,select,pick}'::text[]) and cardinality(v_before) = 1
           and pgmem.is_function_word(v_after[1]) then 'object' end;
  end if;
  if is_apart or axis is not null or v_a = '{}' or v_b = '{}' then
    return;
  end if;
  -- Two orders name the treatment of a thing; the words after them name it.
  leads := v_begin = 0 and not (v_x[1] = any (c_orders) and v_y[1] = any (c_orders));
  v_a := pgmem.content_words(string_to_array(split_part(pgmem.statement(v_theirs), e'\t', 1), ' '));
  v_b := pgmem.content_words(string_to_array(split_part(pgmem.statement(v_ours), e'\t', 1), ' '));
  is_apart := coalesce(not (v_a <@ v_b and v_b <@ v_a), false)
    or coalesce(leads and v_after[1] = any ('{can,may,must,should,shall,will,could,would,is,are}'::text[]), false)
    or coalesce(not leads and v_after[1] = any (c_means || c_ends || '{for,of,after,before,during,until,within,every,each,once}'::text[])
      and not v_before && (c_means || c_ends || '{for,of}'::text[]), false);
end;
$$;
comment on function pgmem.title_difference is $$
How two titles of decisions differ, whatever their capitals.

axis: how the one says otherwise of the same thing (object, number, date, negation, preference); null: it does not, plainly.
is_apart: they are of two things: a number, a negation, the subject or the object of an order differs.
leads: they differ in their first words alone, and these are not both orders, so that they may name the thing.
$$;


-- The words before the first phrase that says how or where: the part that is decided otherwise is next to it.
create or replace function pgmem.title_form(p_title text) returns text
language plpgsql immutable parallel safe set search_path = pgmem, pg_temp as $$
declare
  v_words text[] := pgmem.bare_words(pgmem.statement_text(lower(left(p_title, 300))));
  v_form  text := pgmem.statement(lower(p_title));
begin
  if v_form is not null then
    return v_form;
  end if;
  for place in 2 .. least(cardinality(v_words) - 1, 16) loop
    if v_words[place] = any ('{with,via,using,through,by,as,in,on,at,to,into,onto,from,under}'::text[]) then
      v_form := array_to_string(v_words[: place - 1], ' ') || e'\t' || array_to_string(v_words[place :], ' ');
      return case when strpos(v_form, e'\t') between 3 and 150 then left(v_form, 200) end;
    end if;
  end loop;
  return null;
end;
$$;
comment on function pgmem.title_form is
  'The form of a decision''s title by which others of the same beginning are next to it, as statement is; null: it has none.';


create or replace function pgmem.form_of(p_label text, p_title text, p_props jsonb) returns text
language sql immutable parallel safe
begin atomic
  select case when p_label = 'Decision' then pgmem.title_form(p_title)
    else pgmem.statement(pgmem.stated(p_label, p_title, p_props)) end;
end;
comment on function pgmem.form_of is 'The form by which a memory is next to those that begin as it does; null: it has none.';


create or replace function pgmem.differ_in_numbers(p_theirs text[], p_ours text[]) returns boolean
language plpgsql immutable parallel safe as $$
declare
  v_i integer := 1;
  v_k integer := 1;
begin
  loop
    while pgmem.is_function_word(p_theirs[v_i]) loop
      v_i := v_i + 1;
    end loop;
    while pgmem.is_function_word(p_ours[v_k]) loop
      v_k := v_k + 1;
    end loop;
    if p_theirs[v_i] is null or p_ours[v_k] is null then
      return num_nulls(p_theirs[v_i], p_ours[v_k]) = 2;
    elsif p_theirs[v_i] <> p_ours[v_k]
        and regexp_replace(p_theirs[v_i], '\d+', '#', 'g') <> regexp_replace(p_ours[v_k], '\d+', '#', 'g') then
      return false;
    end if;
    v_i := v_i + 1;
    v_k := v_k + 1;
  end loop;
end;
$$;
comment on function pgmem.differ_in_numbers is
  'Whether the words of two titles are the same but for their numbers, such as two versions of one server; small words do not count.';
