-- Acts: which rules and memories concern a command, an edit or a call
--
-- The words of a rule are compared with the effect of an act, never with its text: "never force-push main" and git push -f
-- origin main share the acts push and force and the branch main; "send push notifications" has an object of push that this
-- command has not. A rule is read clause by clause:
--
--   sign      a clause forbids (never, no, forbidden, protected), asks first, limits (only, before), or says how
--   verb      one of its acts is one of the command; the words after without, unless or when are a condition
--   targets   of each kind of thing that it names (a branch, an environment, data, a kind of file) the command has one
--   program   a program that it names is that of the command, or it names another one of the same family as the one to use
--   object    an ordinary verb (delete, edit, run) needs more: the head of its object is one of the command's, in words or in kind;
--             of the other words few may be missing
--   heeded    a command that does as the rule says is brought nothing: what comes first is on the line, the wanted flag is there, the
--             place is the one that the rule allows, the thing to use in its place is used
--
-- Words are compared by their stems; the acts and things that words stand for are act_words, in English, German, Spanish,
-- French and Chinese. Nothing is learned and nothing guessed: a word that is not there is compared as it is.
--
-- Locks: none.


create or replace function pgmem.act_words() returns table (concept text, kind text, words text)
language sql immutable
begin atomic
  -- words: as is below
  select f.concept, f.kind, f.words
  from (values
    -- Acts that name one thing to do.
    ('push', 'act', 'push pushes pushing pushed pushe* gepush* pouss* 推送 推到'),
    ('rewrite', 'act', 'rewrite rewrites rewriting rewritten umschreib* reescrib* reecri* 改写 重写'),
    ('commit', 'act', 'commit commits committing committed commite* 提交'),
    ('amend', 'act', 'amend'),
    ('rebase', 'act', 'rebase rebasing rebasen'),
    ('squash', 'act', 'squash'),
    ('merge', 'act', 'merge mergen fusionn* fusiona* zusammenfuhr* 合并'),
    ('cherrypick', 'act', 'cherrypick'),
    ('revert', 'act', 'revert'),
    ('reset', 'act', 'reset zurucksetz* 重置'),
    ('discard', 'act', 'discard verwerf* descart*'),
    ('stash', 'act', 'stash'),
    ('tag', 'act', 'tag tags tagging'),
    ('publish', 'act', 'publish unpublish release releases releasing released veroffentlich* public* publie* 发布'),
    ('deploy', 'act', 'deploy ship ships shipping shipped rollout deploye* ausroll* despleg* desplieg* deplo* bereitstell* 部署 上线'),
    ('apply', 'act', 'apply applying applies anwend* appliq* aplic* 应用'),
    ('migrate', 'act', 'migrate migrates migrating migrated migrier*'),
    ('install', 'act', 'install installs installing installed installier* instal* 安装'),
    ('uninstall', 'act', 'uninstall deinstall*'),
    ('skiphooks', 'act', 'noverify'),
    ('insecure', 'act', 'tls ssl certificate certificates zertifikat* certificado* certificat*'),
    ('scale', 'act', 'scale'),
    ('rollback', 'act', 'rollback downgrade'),
    ('pull', 'act', 'pull'),
    ('stage', 'act', 'stage'),
    ('checkout', 'act', 'checkout'),
    ('kill', 'act', 'kill'),
    ('format', 'act', 'format reformat formatier*'),
    ('lint', 'act', 'lint linter'),
    -- Acts that need their object.
    ('delete', 'general', 'delete remove drop wipe erase destroy truncate purge prune clear empty flush losch* gelosch* entfern* geleer* leer* borr* borres elimin* supprim* effac* vider* 删除 清空 清除 移除'),
    ('edit', 'general', 'edit change modify alter touch tamper overwrite rewritefile bearbeit* geander* ander* anfass* verander* edita* modific* modifi* toqu* toca* cambi* touche* 修改 编辑 更改 改动 碰'),
    ('write', 'general', 'write writes writing written wrote save schreib* escrib* ecri* ecrire 写入'),
    ('create', 'general', 'create generate erstell* anleg* crea* cree* 创建 新建'),
    ('run', 'general', 'run running execute start launch invoke ausfuhr* start* ejecut* execut* lanc* 运行 执行 启动'),
    ('test', 'general', 'test testing suite suites testen prueba* teste* 测试'),
    ('build', 'general', 'build bauen compil* construir* 构建 编译'),
    ('stop', 'general', 'stop down shut terminate stopp* deten* arret* 停止 关闭'),
    ('restart', 'general', 'restart reboot bounce neustart* reinici* redemarr* 重启'),
    ('reload', 'general', 'reload'),
    ('update', 'general', 'update upgrade bump aktualisier* actualiz* actualis* 更新 升级'),
    ('add', 'general', 'add adding hinzufug* anad* agreg* ajout* 添加'),
    ('open', 'general', 'open abrir offne* ouvrir ouvre* 打开'),
    ('read', 'general', 'read print show view display dump leak log lies les* lesen lee* leer lir* affich* 读取 打印'),
    ('move', 'general', 'move rename verschieb* umbenenn* mover* deplac* renomm* 移动'),
    ('copy', 'general', 'copy kopier* copia* copie* 复制'),
    ('download', 'general', 'download fetch curl herunterlad* descarg* telecharg* 下载'),
    ('send', 'general', 'upload send post email mail notify announce transmit forward hochlad* senden envi* envoy* 上传 发送'),
    ('query', 'general', 'query select abfrag* consult* 查询'),
    ('configure', 'general', 'configure'),
    ('close', 'general', 'close'),
    ('comment', 'general', 'comment'),
    ('restore', 'general', 'restore'),
    ('connect', 'general', 'connect'),
    ('skip', 'skip', 'skip bypass circumvent disable umgeh* uberspring* saltar* salt* omit* omet* contourn* saut* 跳过 绕过'),
    -- Things, by kind.
    ('main', 'branch', 'main master trunk mainbranch hauptbranch 主分支 主干'),
    ('develop', 'branch', 'develop'),
    ('production', 'env', 'prod production produktion produktiv* produktionsumgebung produccion 生产 线上'),
    ('staging', 'env', 'staging'),
    ('volume', 'data', 'volume volumen* volumenes 数据卷 卷'),
    ('database', 'data', 'database databases db datenbank* basededatos basededonnees 数据库'),
    ('table', 'data', 'table tables tabell* tabla* 数据表'),
    ('bucket', 'data', 'bucket buckets cloud'),
    ('backup', 'data', 'backup sicherung* 备份'),
    ('container', 'data', 'container contenedor* conteneur* 容器'),
    ('image', 'data', 'image images 镜像'),
    ('namespace', 'data', 'namespace'),
    ('cache', 'data', 'cache caches'),
    ('row', 'data', 'row rows zeilen filas lignes'),
    ('column', 'data', 'column columns spalte* columna* colonne*'),
    ('index', 'data', 'index indexes indices'),
    ('migration', 'file', 'migration migrations migracion* migrationen 迁移'),
    ('lockfile', 'file', 'lockfile lockfiles lock 锁文件'),
    ('generated', 'file', 'generated autogenerated generator codegen generiert* generad* genere* 生成的'),
    ('vendor', 'file', 'vendor vendored thirdparty'),
    ('ci', 'file', 'ci workflow workflows cipipeline'),
    ('envfile', 'file', 'secret secrets credential credentials dotenv envfile password passwords geheimnis* zugangsdaten secreto* credencial* identifiants 密钥 密码 凭证'),
    ('buildoutput', 'file', 'dist artefact artifact artifacts buildoutput'),
    ('snapshot', 'file', 'snapshot snapshots golden baseline baselines'),
    ('fixture', 'file', 'fixture fixtures'),
    ('license', 'file', 'license licence licenses'),
    ('changelog', 'file', 'changelog'),
    ('readme', 'file', 'readme'),
    ('dockerfile', 'file', 'dockerfile dockerfiles'),
    ('manifest', 'file', 'manifest'),
    ('notebook', 'file', 'notebook notebooks'),
    ('schema', 'file', 'schema'),
    ('translation', 'file', 'translation translations'),
    ('agentfile', 'file', 'claudemd agentsmd'),
    ('testfile', 'file', 'testfile testfiles'),
    ('systempackage', 'system', 'systempackage systempackages systempaket* 系统包'),
    ('force', 'how', 'force forced forcing forciert* forz* forcer* 强制 强推'),
    ('hard', 'how', 'hard'),
    ('global', 'how', 'globally global'),
    ('unattended', 'how', 'autoapprove'),
    ('recursive', 'how', 'recursive recursively'),
    ('everything', 'scope', 'whole entire full complete gesamt* ganz* toda todas entera complet* toute toutes entiere 全部 整个 完整'),
    ('untracked', 'scope', 'untracked'),
    ('pr', 'request', 'pr prs'),
    ('hooks', 'hooks', 'hook hooks precommit prepush 钩子'),
    ('history', 'history', 'history historie historia historique 历史'),
    -- Words that say how a clause is meant.
    ('harm', 'harm', 'breaks break broke fails corrupts loses hangs misses wrecks ruins crashes damages'),
    ('no', 'no', 'never not no none nobody nothing neither nor cannot mustnt forbidden prohibited banned disallowed offlimits avoid refrain handsoff '
      'protected readonly frozen immutable sealed sacred untouched untouchable gone retired obsolete nie niemals nicht kein* verboten tabu nunca jamas prohibid* ningun* evita* ne jamais pas interdit* aucun* defense eviter '
      '禁止 不要 不得 切勿 不能 不可 严禁 请勿 别 勿'),
    ('ask', 'ask', 'ask asks asking confirm confirmation approval permission frag* ruckfrage pregunt* demand* 询问 确认'),
    ('only', 'only', 'only solely exclusively alone nur solo solamente unicamente seulement uniquement 只能 仅'),
    ('always', 'always', 'always must immer siempre toujours 必须 总是'),
    ('before', 'before', 'before bevor vor antes avant 之前'),
    ('when', 'when', 'without unless until except because since so when whenever if while after once that which who whose where as than but instead rather ohne ausser wenn weil damit nachdem sondern statt sobald '
      'sin salvo excepto porque cuando si mientras sans sauf lorsque quand puisque 除非'),
    ('it', 'it', 'it its them they their there these those this es sie dessen ello eso ella lo ca cela 它'),
    -- Words that say nothing about the object.
    ('word', 'word', 'isnot please just also even any anything everything everywhere something anyone someone people we you i us our your yourself '
      'directly straight direct direkt directamente directement ever again must should shall need needs may might let lets make makes use uses used using reach go goes do does put take takes tear carry '
      'be been being by hand own first new one ones time times together anymore immer bitte alle jed* favor '
      'laptop laptops locally manually terminal session plain bare naked get gets getting got leave leaves keep keeps kept stay stays remain remains '
      'darf durfen soll sollen muss mussen kann konnen wird debe deben puede pueden doit doivent peut peuvent usar uses utiliza* verwende* benutz* nutze* utilise* hacer hagas faire machen directo directa direct nirgends nirgendwo nowhere anywhere here hier existing current previous last older '
      'published shared pushed local big small large manual other unrelated real actual common already people tool tools '
      'terminal console screen stdout branch branches code codes file files folder folders directory repository repo repositories package packages dependency dependencies library libraries module command commands '
      'remote origin upstream change changes project projects data stack machine machines agent agents server servers cluster resource resources service services release '
      'python javascript typescript rust java ruby golang sql shell bash web app application applications '
      'zweig zweige dateien datei ordner rama ramas archivo archivos carpeta branche branches fichier fichiers dossier 任何 直接 资源 文件 代码 分支 环境')
  ) f(concept, kind, words);
end;
comment on function pgmem.act_words is $$
The acts and things that words of rules stand for, in five languages, without accents.

kind: act (names an action), general (an act that needs its object), a kind of thing (branch, env, data, file, system, how,
  scope), the meaning of a clause (no, ask, only, before, when, it), or word, which says nothing.
words: Words that are compared by their English stem; with an asterisk beginnings of words; others than Latin letters
  anywhere.
$$;


create or replace function pgmem.program_families() returns table (family text, programs text[])
language sql immutable
begin atomic
  select f.family, string_to_array(f.programs, ' ')
  from (values
    ('javascript packages', 'npm pnpm yarn bun'),
    ('python packages', 'pip pip3 uv poetry pipenv pdm conda mamba easy_install'),
    ('system packages', 'apt apt-get brew dnf yum apk pacman zypper snap'),
    ('containers', 'docker podman nerdctl'),
    ('javascript tests', 'jest vitest mocha ava jasmine'),
    ('python tests', 'pytest unittest nose nose2'),
    ('python format', 'black autopep8 yapf ruff'),
    ('python lint', 'flake8 pylint ruff pyflakes pycodestyle'),
    ('javascript format', 'prettier biome standard'),
    ('infrastructure', 'terraform tofu pulumi cdk'),
    ('search', 'grep rg ag ack'),
    ('bundlers', 'webpack vite rollup parcel esbuild'),
    ('databases', 'psql mysql sqlite3 mongosh'),
    ('hosts of code', 'gh glab hub')
  ) f(family, programs);
end;
comment on function pgmem.program_families is
  'Programs that take the place of each other: a rule that says which one to use concerns the others.';


create or replace function pgmem.program_subjects(p_program text) returns text[]
language sql immutable
begin atomic
  -- words: as is below
  select coalesce(array_agg(w.word), '{}')
  from (values
    ('manage.py django-admin', 'django'), ('alembic', 'sqlalchemy'), ('rails rake bundle gem', 'ruby rails'), ('kubectl oc helm k9s', 'kubernetes k8s cluster'),
    ('psql pg_dump pg_restore', 'postgres postgresql sql'), ('mysql mariadb', 'mysql sql'), ('cargo rustup', 'rust'), ('npm npx pnpm yarn bun node', 'javascript node'),
    ('pip pip3 uv poetry pipenv pdm python', 'python'), ('docker podman', 'docker'), ('aws', 'amazon aws'), ('gcloud gsutil', 'google gcp'), ('az', 'azure'),
    ('gh', 'github'), ('glab', 'gitlab'), ('systemctl journalctl', 'systemd'), ('ansible-playbook', 'ansible'), ('terraform tofu', 'terraform'), ('composer', 'php'), ('mix', 'elixir')
  ) f(programs, words) cross join lateral unnest(string_to_array(f.words, ' ')) as w(word)
  where p_program = any (string_to_array(f.programs, ' '));
end;
comment on function pgmem.program_subjects is 'The words by which people name the subject of a program: kubernetes for kubectl.';


create or replace function pgmem.plain_letters(p_text text) returns text
language sql immutable parallel safe
begin atomic
  select case when octet_length(p_text) = length(p_text) then lower(p_text)
    else normalize(regexp_replace(normalize(lower(p_text), NFKD), '[\u0300-\u036f]', '', 'g'), NFKC) end;
end;
comment on function pgmem.plain_letters is 'A text in lower case without accents.';


create or replace function pgmem.rule_words(p_text text) returns table (place bigint, word text)
language sql immutable
begin atomic
  -- Expressions of several words that stand for one; then words, paths, flags, signs, and runs of Chinese.
  select m.place, m.found[1]
  from regexp_matches(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
      regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
      translate(pgmem.plain_letters(left(p_text, 700)), '’“”„«»', '''"""""'),
      '\m(instead of|rather than) (it|them|that|this|those)\M', ' ', 'g'),
      -- Whatever else is the case changes nothing.
      '[, ]*\m(whatever|whichever|no matter|regardless|even (if|when|for|in))\M[^.;:,]*', ' ', 'g'),
      -- An act that is of somebody else, or needs a word first.
      '\m(is|are) ([\w-]+''s?|the [\w-]+( [\w-]+)?''s?|(not )?(your|my|his|her|their)) (job|task|business|call|decision|duty|turf)\M(, not yours)?', ' only ', 'g'),
      '\m(needs?|wants?|requires?|takes?) (a word|an? ok(ay)?|the ok(ay)?|a yes|the yes|a nod|sign-?off|consent)\M( (with|from|of|by) [^.;:,]*)?', ' ask ', 'g'),
      '\mwithout ([\w-]+''s?|an?|the|your|my|our) (ok(ay)?|yes|word|nod|consent|blessing|sign-?off)\M', 'without asking', 'g'),
      '\m(stay|keep|steer)s? (well |your hands |your fingers |your paws )?(away|clear|off)( from| of)?\M', ' never touch ', 'g'),
      '\moutside( of)?\M', 'except in', 'g'),
      '\m(is|are|was|were) (too (slow|old|fragile|risky|dangerous|noisy)|broken|deprecated|retired|forbidden|banned|prohibited|obsolete|wrong here)\M', 'gone', 'g'),
      '(?<![^.;:,\n] )\monly ([^.;:,]+) (with|using|via) (the |an? )?(?!-)([^.;:,]+)', 'never \1 without \4', 'g'),
      '[, ]*\m(instead of|rather than|anstatt|statt|au lieu d[e'']|en vez de|en lugar de)\M', ' ; never ', 'g'),
      '\m(by|for) (the |our )?(\w+ ){1,2}(only|alone)\M|\monly (by|for|through|via) (the |our )?\w+', ' only ', 'g'),
      '\m(is|are) (not|never|no longer) (used|done|touched|needed here)\M', 'never \3', 'g'),
      '\m(administrator|admin|root|superuser) (rights|privileges|permissions|access)\M|\mas (root|administrator|superuser)\M', 'sudo', 'g'),
      '\mturn(s|ed|ing)? (it |them )?off\M', 'disable \2', 'g'),
      '\mlog(s|ged|ging)? (in|on)(to)?\M|\mssh(s|es|ing)? into\M', 'connect', 'g'),
      '\mlive (servers?|systems?|site|database|environment|machines?)\M', 'production \1', 'g'),
      '\mno (new|more|additional|extra|further) (runtime )?(dependency|dependencies|packages?|library|libraries)\M', 'never install', 'g'),
      '\mprefer(s|red)? ([\w-]+) (to|over) ([\w-]+)', 'use \2 ; avoid \4', 'g'),
      '\mripgrep\M', 'rg', 'g'),
      -- A text that stays unread is not to be read.
      '\m(stays?|remains?|keeps?|kept|leaves?|left|is|are|be) (([\w./-]+ ){0,3})un(?!der|til|less|it|ion)(\w{3,})\M', ' never \4 \2', 'g'),
      '\m(stays?|remains?|keeps?) (switched |turned |well |far )?(off|disabled|away|clear|out)\M', ' never ', 'g'),
      '\m(leaves?|leaving|left) (out|off)\M', 'skip', 'g'),
      '\m(is|are) (only |just |meant |there )*for (reading|reads|read access|queries)\M', 'readonly', 'g'),
      '\mnot even [^.;:,]*', ' ', 'g'),
      '\m(nobody|no one|none|nothing|niemand) (but|except|other than|ausser) (the |our |a |der |die )?(\w+ \w+(?= \w+s\M)|\w+)', 'nobody', 'g'),
      '\m(is|are) (no longer|not) (installed|available|supported|maintained|in use|here|there|wanted|welcome)\M', 'gone', 'g'),
      '\m(leave|keep|let)s? ([\w./-]+ ){0,5}as (it|they) (is|are)\M', '\& readonly', 'g'),
      '\mdry[- ]runs?\M', 'dryrun', 'g'),
      '\m(append|insert)[- ]only\M', 'readonly', 'g'),
      '\mlock[- ]files?\M', 'lockfile', 'g'),
      '\m(system(-wide)?|operating system|os|apt|global system) packages?\M', 'systempackages', 'g'),
      '\m(off[- ]limits|out of bounds|a no-?go)\M', 'offlimits', 'g'),
      '\m(read[- ]only|stays? as (it|they) (is|are|was|were)|(leave|keep|let)s? ([\w./-]+ ){0,3}(alone|untouched|as is)|hands off)\M', '\& readonly', 'g'),
      '\m((is|are|be|were) not (to be|allowed|permitted|meant|supposed|ok|okay)|(may|must|shall|should|can|do) ?not|cannot|(don|mustn|shouldn|can|mayn)''?t)\M', 'never', 'g'),
      '\m(doesn|didn|couldn|won|wouldn|isn|aren|wasn|weren|needn|hasn|haven)''?t\M|\m(is|are|was|were|does|did|has|have|had|will|would|could|need) (not|no|never|nothing|none)\M', 'isnot', 'g'),
      '\m(pull|merge) requests?\M', 'pr', 'g'),
      '\m(roll(s|ed|ing)?|go(es)?) (out|live)\M', 'deploy', 'g'),
      '\m(check(s|ed|ing)?) in\M(?! with)', 'commit', 'g'),
      '\m(default|protected|shared|public|common|principal|haupt)[- ]?(branch(es)?|zweig)\M', 'mainbranch', 'g'),
      '\m(base de datos|bases de datos)\M', 'basededatos', 'g'),
      '(?<![.\w])(env|environment|dotenv) files?\M', 'envfile', 'g'),
      '\m(third|3rd)[- ]party\M', 'thirdparty', 'g'),
      '\m(pre)[- ](commit|push)( hooks?)?\M', 'hooks', 'g'),
      '\s[—–-]\s', ' ; ', 'g'),
      '''(re|ve|ll|s|m|d)\M', '', 'g'),
    $re$[\u3040-\u30ff\u3400-\u9fff]+|(?<![\w/])--?[a-z][\w-]*|\w[\w.-]*/(?=[\s,;:]|$)|[\w*~@\[-]*[./*][\w./*@~()\[\]-]*[\w/*\]]|\w+|[.!?;:,\n。！？；：，]$re$, 'g')
    with ordinality as m(found, place);
end;
comment on function pgmem.rule_words is
  'The words of a rule in order, in lower case without accents, with its paths, flags and signs; its first 700 characters.';


create or replace function pgmem.word_stem(p_word text) returns text
language sql immutable parallel safe
begin atomic
  select coalesce((ts_lexize('pg_catalog.english_stem', p_word))[1], p_word);
end;
comment on function pgmem.word_stem is 'The English stem of a word; the word itself where it is a stop word.';


create or replace function pgmem.is_small_word(p_word text) returns boolean
language sql immutable parallel safe
begin atomic
  select length(p_word) < 2 or '{}' in (ts_lexize('pg_catalog.english_stem', p_word), ts_lexize('pg_catalog.german_stem', p_word),
    ts_lexize('pg_catalog.spanish_stem', p_word), ts_lexize('pg_catalog.french_stem', p_word));
end;
comment on function pgmem.is_small_word is 'Whether a word is one of the stop words of English, German, Spanish or French.';


create or replace function pgmem.known_programs() returns text[]
language sql immutable
begin atomic
  -- Not those that are ordinary words in a sentence.
  select array_agg(distinct p.name)
  from (
    select unnest(string_to_array(f.program, '|')) as name from pgmem.act_forms() f
    union all select unnest(f.programs) from pgmem.program_families() f) p
  where p.name !~ '^(\*|>|make|just|task|go|now|render|pass|open|view|code|at|port|cap|more|less|install|date|find|file|which|time|touch|'
    'kill|service|security|copy|cut|sort|tree|black|standard|migrate|atlas|invoke|goose|security|patch|rename|truncate|halt|reboot|shutdown|'
    'serverless|railway|firebase|python|node|http|op|now|bat|head|tail|cat|echo|env|del|trash|snap|choco|nose|behave|ava|tox|ack|standard|pm2|'
    'parcel|rollup|edit|sam|fly|surge|gem|bundle|rake|rails|isort|ls|ps|cp|mv|ln|dd|wc|du|nl|eb|az|cd|pwd|unlink|shred|clippy|user|play)$';
end;
comment on function pgmem.known_programs is 'The names of programs that are not ordinary words too.';


create or replace function pgmem.words_meant(p_words text[]) returns table (word text, concept text, kind text)
language sql stable
begin atomic
  with lexicon as materialized (
    select f.concept, f.kind, rtrim(w.word, '*') as word, right(w.word, 1) = '*' as begins, w.word !~ '^[a-z*]+$' as inside
    from pgmem.act_words() f cross join lateral unnest(string_to_array(f.words, ' ')) as w(word)
  ), said as materialized (
    select distinct s.word, pgmem.word_stem(s.word) as stem from unnest(p_words) s(word) where s.word ~ '^[a-z]'
  ), found as (
    select s.word, case when s.word in ('compose', 'docker-compose') then 'docker' when s.word in ('kubernetes', 'k8s') then 'kubectl'
             when s.word = 'pip3' then 'pip' else s.word end as concept, 'program' as kind, 0 as rank, 0 as size
    from said s
    where s.word in ('compose', 'kubernetes', 'k8s', 'sudo') or s.word in (select unnest(pgmem.known_programs()))
    union all
    select s.word, l.concept, l.kind, 1, 0 from said s join lexicon l on l.word = s.word where not l.inside and not l.begins
    union all
    select s.word, l.concept, l.kind, 2, 0 from said s join lexicon l on l.word || 's' = s.word where not l.inside and not l.begins
    union all
    select s.word, l.concept, l.kind, 3, length(l.word)
    from said s cross join lateral generate_series(3, length(s.word)) as n(size) join lexicon l on l.word = left(s.word, n.size)
    where l.begins and not l.inside
    union all
    select s.word, l.concept, l.kind, 4, 0
    from said s join lexicon l on pgmem.word_stem(l.word) = s.stem
    where not l.begins and not l.inside and l.kind in ('act', 'general', 'skip', 'ask') and l.concept not in ('migrate', 'print')
    union all
    -- regenerate, redeploy, bepushen
    select s.word, l.concept, l.kind, 5, 0
    from said s join lexicon l on pgmem.word_stem(l.word) = pgmem.word_stem(regexp_replace(s.word, '^(re|be|auto)', ''))
      or l.begins and strpos(regexp_replace(s.word, '^(re|be|auto)', ''), l.word) = 1
    where s.word ~ '^(re|be|auto)\w{4}' and not l.inside and l.kind in ('act', 'general')
  )
  (select distinct on (f.word) f.word, f.concept, f.kind from found f order by f.word, f.rank, f.kind = 'word', f.size desc, f.concept)
  union all
  select s.word, l.concept, l.kind from unnest(p_words) s(word) join lexicon l on l.inside and strpos(s.word, l.word) > 0
  where s.word ~ '[\u3040-\u30ff\u3400-\u9fff]';
end;
comment on function pgmem.words_meant is
  'The act, thing or meaning that words of rules stand for; a run of Chinese stands for each that it holds.';


create or replace function pgmem.read_rules(p_ids bigint[], p_texts text[]) returns table (
  id bigint,
  words text[],
  concepts text[],
  kinds text[]
)
language sql stable
begin atomic
  with said as materialized (
    select r.id, w.place, w.word from unnest(p_ids, p_texts) as r(id, text) cross join lateral pgmem.rule_words(r.text) w
  ), meant as materialized (
    select m.* from pgmem.words_meant(array(select distinct s.word from said s)) m
  )
  select s.id, array_agg(s.word order by s.place, m.kind), array_agg(coalesce(m.concept, '') order by s.place, m.kind),
         array_agg(coalesce(m.kind, case
           when s.word ~ '^[.!?;:\n。！？；：]$' then 'end' when s.word in (',', '，') then 'comma'
           when s.word ~ '^-' then 'flag' when s.word ~ '[./*]' then 'literal'
           when s.word in ('and', 'or', 'und', 'oder', 'y', 'o', 'et', 'ou') then 'and'
           when s.word ~ '[\u3040-\u30ff\u3400-\u9fff]' or s.word ~ '..ly$' or pgmem.is_small_word(s.word) then 'word' else 'unknown' end)
         order by s.place, m.kind)
  from said s left join meant m on m.word = s.word group by s.id;
end;
comment on function pgmem.read_rules is
  'The words of some texts with the act, thing or meaning of each, to be compared by rule_meets.';


create or replace function pgmem.path_is_under(p_path text, p_named text) returns boolean
language sql immutable parallel safe
begin atomic
  select case
    when p_named ~ '\*' then ('/' || lower(p_path)) ~ (case when p_named ~ '/' then '(^|/)' else '/' end
      || replace(replace(regexp_replace(ltrim(p_named, '/'), '([.+?()\[\]{}^$|\\])', '\\\1', 'g'), '**/', '(.*/)?'), '*', '[^/]*') || '(/|$)')
    else strpos('/' || lower(p_path) || '/', '/' || btrim(regexp_replace(p_named, '^\./', ''), '/') || '/') > 0
      or p_named ~ '^\.[a-z]' and ('/' || lower(p_path)) ~ ('/[^/]*' || regexp_replace(p_named, '([.+?()\[\]{}^$|\\])', '\\\1', 'g') || '($|\.|/)')
         and (p_named !~ '^\.[a-z]+$' or length(p_named) > 2)
  end;
end;
comment on function pgmem.path_is_under is
  'Whether a path is the one that a rule names, lies below it, or matches its asterisks; .env names .env.production too.';


create or replace function pgmem.acts_of(
  p_tool text,
  p_command text default null,
  p_path text default null,
  p_content text default null,
  p_exists boolean default null,
  p_branch text default null
) returns table (
  program text,
  words text[],
  flags text[],
  concepts text[],
  names text[],
  paths text[],
  args text[],
  before text[]
)
language plpgsql stable set search_path = pgmem, pg_temp as $$
#variable_conflict use_variable
declare
  v_one   record;
  v_sub   text;
  v_sql   text;
  v_more  text;
  v_tool  text := lower(coalesce(p_tool, ''));
  v_branch text := p_branch;
begin
  before := '{}';
  for v_one in select s.* from pgmem.simple_commands(coalesce(p_command, '')) s limit 20 loop
    program := v_one.program;
    words := v_one.words;
    flags := v_one.flags;
    args := v_one.args || v_one.writes;
    v_sub := array_to_string(words, ' ');
    concepts := array(
      select distinct c from pgmem.act_forms() f cross join lateral unnest(string_to_array(f.concepts, ' ')) c
      where case when f.program <> '*' and strpos('|' || f.program || '|', '|' || program || '|') = 0 then false
        when f.sub <> '' and v_sub !~ f.sub then false
        else f.flag is null or exists (select from unnest(flags) g where g ~ f.flag) end);
    if program = 'git' and words[1] in ('tag', 'branch', 'stash', 'config', 'remote', 'worktree')
       and flags && '{l,list,contains,merged,no-merged,points-at,get,get-all,v,verify}' then
      concepts := '{read}';
    elsif concepts = '{}' and program ~ '^[a-z][\w-]+$' then
      -- The words of a program that act_forms does not know are its effect.
      concepts := '{unknown}'::text[] || array(
        select distinct m.concept from pgmem.words_meant(array(select w from unnest(words[:2]) x cross join lateral regexp_split_to_table(x, '[^a-z0-9]+') w)) m
        where m.kind in ('act', 'general'));
    end if;
    -- The name of a recipe is its effect.
    if program in ('make', 'just', 'task', 'rake', 'invoke', 'nx', 'turbo', 'gulp', 'grunt')
       or program in ('npm', 'pnpm', 'yarn', 'bun') and not concepts && '{dependency,package,version,test}' then
      concepts := concepts || array(select m.concept from pgmem.words_meant(
        array(select w from unnest(words) x cross join lateral regexp_split_to_table(x, '[^a-z0-9]+') w)) m
        where m.kind in ('act', 'general', 'env', 'data', 'file'));
    elsif program ~ '\.(sh|py|js|ts|rb|ps1|bash)$' then
      concepts := concepts || '{run}'::text[] || array(select m.concept from pgmem.words_meant(
        array(select w from regexp_split_to_table(program, '[^a-z0-9]+') w)) m where m.kind in ('act', 'general', 'env', 'data', 'file'));
    end if;
    if v_one.is_root then
      concepts := concepts || '{root}'::text[];
    end if;
    if v_one.writes <> '{}' and not v_one.writes <@ '{/dev/null}' then
      concepts := concepts || '{edit,write}'::text[];
    end if;
    paths := case
      when program in ('cp', 'mv', 'rsync', 'scp', 'install', 'ln') then args[cardinality(args):] || case program when 'mv' then args[:1] else '{}' end
      when 'database' = any (concepts) then array(select a from unnest(args) a where a !~ '\s')
      else args end;
    paths := array(select regexp_replace(p, '^\./', '') from unnest(paths) p where p !~ '\s|^-' and p <> '' and (p ~ '[./]' or program in ('rm', 'cat', '>', 'tee', 'touch')));
    if 'database' = any (concepts) then
      v_sql := lower(array_to_string(case when exists (select from unnest(args) a where a ~ '\s')
        then array(select a from unnest(args) a where a ~ '\s') else args end, ' ; '));
      concepts := concepts || array(select distinct c from pgmem.target_forms() t cross join lateral unnest(string_to_array(t.concepts, ' ')) c
        where t.of = 'sql' and v_sql ~ t.form);
    end if;
    if program = 'git' then
      concepts := concepts || array(select distinct t.concepts from pgmem.target_forms() t cross join lateral unnest(args) a
        where t.of = 'ref' and 'push' = any (concepts) and lower(a) ~ t.form);
      if v_branch is not null and (concepts && '{commit,merge,rebase,amend,cherrypick,revert}'
          or 'push' = any (concepts) and cardinality(array(select a from unnest(args) a where a <> 'push')) < 2) then
        concepts := concepts || array(select distinct t.concepts from pgmem.target_forms() t where t.of = 'ref' and lower(v_branch) ~ t.form);
      end if;
    elsif not 'read' = any (concepts) or program in ('kubectl', 'echo', 'printf') then
      concepts := concepts || array(select distinct t.concepts from pgmem.target_forms() t
        cross join lateral unnest(args || v_one.flags) a where t.of = 'arg' and lower(a) ~ t.form);
    end if;
    concepts := concepts || array(select distinct c from pgmem.target_forms() t cross join lateral unnest(paths) p
      cross join lateral unnest(string_to_array(t.concepts, ' ')) c where t.of = 'path' and lower(p) ~ t.form);
    -- A run of tests that names none of them is all of them.
    if 'test' = any (concepts) and not exists (select from unnest(args) with ordinality as a(arg, n)
        where a.arg ~ '[/.:]|^test_' and a.arg not in ('.', './...', 'tests/', 'tests', './') or program not in ('pytest','jest','vitest','mocha') and a.arg ~ '^[A-Z]')
       and not flags && '{k,p,package,filter,test,run,t,m,lf,last-failed,only-changed,changed,onlychanged,related,F,testNamePattern,g,grep,e,E}' then
      concepts := concepts || '{everything}'::text[];
    end if;
    names := array(select distinct pgmem.word_stem(n) from unnest(args || words || program || array(select g from unnest(flags) g where length(g) > 2)
        || pgmem.program_subjects(program) || concepts || case when program = 'git' and concepts && '{commit,merge,rebase,amend,cherrypick,revert,reset}' then array[v_branch] else '{}' end) a
      cross join lateral regexp_split_to_table(lower(a), '[^[:alnum:]]+') n where n <> ''
      -- simctl is of the simulator, steamcmd of Steam
      union select regexp_replace(program, '-?(ctl|cli|cmd)$', '') where program ~ '\w{3}(ctl|cli|cmd)$'
      union select regexp_replace(w, '-?(ctl|cli|cmd)$', '') from unnest(words) w where w ~ '^\w{3,}(ctl|cli|cmd)$');
    return next;
    before := before || names;
    if program = 'git' and words[1] in ('checkout', 'switch') and words[2] is not null and not flags && '{--,p,patch}' then
      v_branch := args[cardinality(args)];  -- what follows on the line is on that branch
    end if;
  end loop;
  before := '{}';
  if p_path is not null then
    program := '';
    words := '{}';
    flags := '{}';
    args := array[p_path];
    paths := array[regexp_replace(p_path, '^\./', '')];
    concepts := (case when v_tool ~ 'read|view|open|cat' then '{read,open}' when p_exists is false then '{write,create}' else '{edit,write}' end)::text[]
      || array(select distinct c from pgmem.target_forms() t cross join lateral unnest(string_to_array(t.concepts, ' ')) c
               where t.of = 'path' and lower(p_path) ~ t.form);
    names := array(select distinct pgmem.word_stem(n) from regexp_split_to_table(lower(p_path), '[^[:alnum:]]+') n where n <> '');
    return next;
  elsif p_command is null and p_tool is not null then
    -- The name of a server's tool is its effect.
    v_more := regexp_replace(v_tool, '^mcp_+', '');
    program := split_part(v_more, '__', 1);
    words := array(select w.word from pgmem.rule_words(regexp_replace(split_part(v_more, '__', 2), '[^a-z0-9]+', ' ', 'g')) w order by w.place);
    flags := '{}';
    args := array[coalesce(left(p_content, 2000), '')];
    paths := '{}';
    concepts := array(select distinct m.concept from pgmem.words_meant(words || program) m where m.kind in ('act', 'general', 'env', 'data', 'request'))
      || array(select distinct c from pgmem.target_forms() t cross join lateral unnest(string_to_array(t.concepts, ' ')) c
               where t.of = 'sql' and v_more ~ 'sql|query|postgres|mysql|sqlite|database' and lower(args[1]) ~ t.form);
    names := array(select distinct pgmem.word_stem(n) from unnest(words || program || args) a
      cross join lateral regexp_split_to_table(lower(regexp_replace(a, '([a-z])([A-Z])', '\1 \2', 'g')), '[^[:alnum:]]+') n where n <> '');
    return next;
  end if;
end;
$$;
comment on function pgmem.acts_of is $$
The effects of a call of a tool: a row for each command of a line, or one for an edit or another tool.

concepts: The acts and things that act_words names, of programs, arguments, paths and statements of SQL.
names: The stems of all words of its arguments and flags, and of the subjects that its program stands for.
before: The names of the commands before it on the line.
paths: The files that it changes, or reads where it only reads.
$$;


create or replace function pgmem.is_among(p_word text, p_names text[]) returns boolean
language sql immutable parallel safe
begin atomic
  select pgmem.word_stem(p_word) = any (p_names)
    or p_word ~ '_' and array(select pgmem.word_stem(w) from regexp_split_to_table(p_word, '_+') w where w <> '') <@ p_names;
end;
comment on function pgmem.is_among is 'Whether a word is one of the names of an act, by its stem, or all parts of a name with underscores are.';


create or replace function pgmem.rule_meets(
  p_words text[],
  p_concepts text[],
  p_kinds text[],
  p_standing boolean,
  p_program text,
  p_act_words text[],
  p_flags text[],
  p_act text[],
  p_names text[],
  p_paths text[],
  p_before text[] default '{}',
  p_person boolean default true
) returns smallint
language plpgsql stable set search_path = pgmem, pg_temp as $$
declare
  v_size     integer := cardinality(p_words);
  v_at       integer := 1;
  v_end      integer;
  v_next     integer;
  v_from     integer;
  v_to       integer;
  v_i        integer;
  v_when     integer;
  v_word     text;
  v_kind     text;
  v_best     smallint := 0;
  v_level    smallint;
  v_no       boolean;
  v_ask      boolean;
  v_limits   boolean;
  v_needs    boolean;
  v_harms    boolean;
  v_by       boolean;
  v_it       boolean;
  v_skips    boolean;
  v_general  boolean;
  v_seen     boolean;
  v_reason   boolean := false;
  v_topic    boolean;
  v_follows  boolean;
  v_passive  boolean;
  v_ok       boolean;
  v_family   boolean;
  v_mine     boolean;
  v_path     boolean;
  v_complied boolean;
  v_prep     text;
  v_head     text;      -- the last word of the object
  v_closed   boolean;   -- whether the object has ended
  v_reached  boolean;   -- whether it is said where to
  v_wants    boolean;
  v_states   boolean;
  v_sub      boolean;  -- whether a verb is the sub-command of a program: dbt run
  v_prefers  boolean := false;  -- whether a clause before names the program of this act as the one to use
  v_ellipsis boolean;
  v_against  boolean := false;
  v_if_verbs text[];
  v_last_places text[] := '{}';
  v_about_places text[] := '{}';
  v_verbs    text[];
  v_raw      text[];
  v_met      text[];
  v_things   jsonb;
  v_programs text[];
  v_paths    text[];
  v_flags    text[];
  v_object   text[];
  v_places   text[];
  v_loose    text[];
  v_who      text[];
  v_without  text[];
  v_allowed  text[];
  v_last     jsonb := '{}';
  v_last_programs text[] := '{}';
  v_last_paths text[] := '{}';
  v_last_object text[] := '{}';
  v_last_verbs text[] := '{}';
  v_last_general boolean := false;
  v_about    jsonb := '{}';    -- of a clause that only says when or about which thing, for the one behind it
  v_about_programs text[] := '{}';
  v_about_object text[] := '{}';
  v_hits     numeric;
  v_misses   numeric;
  v_named    integer;
  v_strange  boolean := 'unknown' = any (p_act);
begin
  while v_at <= v_size loop
    -- A clause: up to a sign, a conjunction, or a comma behind which something new is said.
    if p_words[v_at] in ('so', 'but', 'and', 'und', 'aber') and v_at < v_size then
      v_at := v_at + 1;
    end if;
    v_end := v_at;
    while v_end <= v_size and p_kinds[v_end] <> 'end' loop
      exit when v_end > v_at and p_words[v_end] in ('so', 'but', 'otherwise', 'else', 'because', 'since', 'weil', 'sonst', 'denn', 'sondern', 'aber', 'porque', 'pero', 'mais', 'car', 'puisque');
      exit when v_end > v_at + 1 and p_kinds[v_end] = 'no' and p_kinds[v_end - 1] in ('program', 'flag', 'and');
      if v_end > v_at and p_kinds[v_end] = 'comma' and v_end < v_size then
        exit when p_kinds[v_end + 1] in ('no', 'only', 'ask', 'always', 'before') or p_kinds[v_at] in ('when', 'before');
        v_i := coalesce((select min(n) from generate_series(v_end + 2, least(v_end + 4, v_size)) n where p_kinds[n] in ('and', 'comma')), 0);
        exit when v_i = 0 and (p_kinds[v_end + 2] = 'no' or p_kinds[v_end + 3] = 'no' and p_words[v_end + 2] <> 'and' or p_kinds[v_end + 1] in ('act', 'general', 'it')
          or p_words[v_end + 1] in ('the', 'a', 'an', 'this', 'that', 'we', 'they', 'he', 'she', 'our', 'it', 'use', 'run', 'leave', 'keep', 'der', 'die', 'das', 'el', 'la', 'le')
          or p_kinds[v_end + 1] = 'program' and p_kinds[v_end + 2] in ('act', 'general', 'unknown') and not 'no' = any (p_kinds[v_at:v_end]));
      end if;
      v_end := v_end + 1;
    end loop;
    v_next := case when p_kinds[v_end] in ('no', 'only') then v_end else v_end + 1 end;
    v_reason := p_words[v_at] in ('because', 'since', 'as', 'otherwise', 'weil', 'denn', 'porque', 'car')
      or v_at > 1 and p_words[v_at - 1] in ('otherwise', 'else', 'because', 'since', 'weil', 'sonst', 'denn', 'porque', 'car', 'puisque');
    v_follows := p_words[v_end] = ':' and v_end < v_size;
    v_topic := p_kinds[v_at] = 'when' and p_words[v_at] not in ('without', 'ohne', 'sin', 'sans') and v_end < v_size
      and p_kinds[v_end] = 'comma';
    if v_reason then
      v_at := v_next;
      continue;
    end if;

    v_no := exists (select from unnest(p_words[v_at:v_end - 1], p_kinds[v_at:v_end - 1]) with ordinality as w(word, kind, n)
      where w.kind = 'no' and (p_standing or w.word not in ('nobody', 'none', 'nothing', 'neither', 'nor', 'no')
        -- "Nobody pushes to main" is a rule, "nobody pushed to main" is a report.
        or (w.n = 1 or p_person and w.n = 2 and p_kinds[v_at] in ('act', 'general')) and not exists (select from unnest(p_words[v_at:v_end - 1]) t(word)
          where t.word ~ '^(was|were|had|did)$' or t.word ~ '[a-z]ed$' and not p_words[v_at:v_end - 1] && '{may,must,is,are,be,gets,get}')));
    -- "Tokens are not printed": a norm where a person says it of an act.
    v_no := v_no or p_person and exists (select from generate_series(v_at, v_end - 1) n
      where p_words[n] = 'isnot' and (p_kinds[n + 1] in ('act', 'general') and p_words[n + 1] ~ '(ed|en|t|n)$' or p_words[n - 1] = 'there'));
    v_ask := 'ask' = any (p_kinds[v_at:v_end - 1]);
    v_limits := 'only' = any (p_kinds[v_at:v_end - 1]);
    v_needs := 'always' = any (p_kinds[v_at:v_end - 1]) or p_words[v_at:v_end - 1] && '{needs,need,requires,require,wants,braucht,necesita}';
    v_needs := v_needs or array_to_string(p_words[v_at:v_end - 1], ' ') ~ '\m(only|nur) (with|mit) --?[a-z]|\m(with|mit) (\S+ )?--?[a-z][\w-]* (only|alone)';
    v_states := p_words[v_at:v_end - 1] && '{goes,go,belong,belongs,runs,lives}' and p_kinds[v_at] not in ('act', 'general') and not v_no;
    v_harms := false; v_by := false; v_complied := false;
    v_verbs := '{}'; v_raw := '{}'; v_things := '{}'; v_programs := '{}'; v_paths := '{}'; v_flags := '{}'; v_object := '{}'; v_places := '{}';
    v_loose := '{}'; v_who := '{}'; v_without := '{}'; v_allowed := '{}';
    v_it := false; v_skips := false; v_general := false; v_seen := false; v_closed := false; v_head := null; v_prep := null; v_reached := false; v_if_verbs := '{}'; v_sub := false;
    v_passive := p_words[v_at:v_end - 1] && '{is,are,be,gets,get,being,stay,stays,remain,remains,wird,werden,est,sont,se}';
    v_from := v_at;
    v_to := v_end - 1;

    -- "run the linter before you push", "before you push, run the linter": the act is push, and what is to come first is on the line
    v_i := array_position(p_kinds[v_at:v_end - 1], 'before');
    if v_i is not null and (v_i = 1 or v_at + v_i - 1 < v_end - 1) then
      v_from := v_at + v_i;
      if v_i = 1 and p_kinds[v_end] is distinct from 'comma' then  -- "before each commit run the tests", without a comma
        v_to := v_at - 1 + coalesce((select min(n) from unnest(p_kinds[v_at:v_end - 1]) with ordinality as k(kind, n)
          where k.kind in ('act', 'general')), v_end - v_at)::integer;
      end if;
      v_without := case when v_i > 1 then p_words[v_at:v_at + v_i - 2]
        else p_words[v_end + 1:coalesce((select min(n) from generate_series(v_end + 1, v_size) n where p_kinds[n] = 'end'), v_size + 1) - 1] end;
      v_without := array(select pgmem.word_stem(w.word) from unnest(v_without) w(word)
        where w.word ~ '\w' and not pgmem.is_small_word(w.word) and w.word not in ('run', 'running', 'please', 'always', 'use', 'first'));
      v_complied := v_without <> '{}' and 2 * (select count(*) from unnest(v_without) w where w = any (p_before)) >= cardinality(v_without);
      v_no := false;
      v_limits := true;
    end if;

    v_when := null;
    for v_i in v_from .. v_to loop
      v_word := p_words[v_i];
      v_kind := p_kinds[v_i];
      if v_when is not null and v_when <= v_from + 1 and (v_kind in ('no', 'only', 'comma') or v_word in ('there', 'gibt', 'hay')) then
        v_when := null;
        v_prep := null;
        continue;
      end if;
      if v_when is not null then
        -- A condition: what it wants or excepts may be there.
        if v_kind = 'flag' then
          v_complied := v_complied or p_words[v_when] in ('without', 'unless', 'except', 'ohne', 'ausser', 'sin', 'salvo', 'excepto', 'sans', 'sauf') and ltrim(v_word, '-') = any (p_flags);
        elsif v_kind in ('branch', 'env', 'data', 'file', 'request') then
          if p_words[v_when] in ('without', 'unless', 'except', 'ohne', 'ausser', 'sin', 'salvo', 'excepto', 'sans', 'sauf', 'until') then
            v_complied := v_complied or p_concepts[v_i] = any (p_act) and v_kind in ('branch', 'env');
          elsif p_words[v_when] in ('when', 'if', 'while', 'whenever', 'where', 'wenn', 'cuando', 'quand', 'lorsque') and v_kind in ('branch', 'env') then
            v_things := jsonb_set(v_things, array[v_kind], coalesce(v_things -> v_kind, '[]') || to_jsonb(p_concepts[v_i]));
          end if;
        elsif v_kind = 'ask' then
          v_ask := true;
        elsif v_kind = 'act' and p_words[v_when] in ('when', 'if', 'whenever', 'wenn', 'cuando', 'quand', 'lorsque') then
          v_if_verbs := v_if_verbs || p_concepts[v_i];
        elsif p_words[v_when] in ('without', 'unless', 'except', 'ohne', 'ausser', 'sin', 'salvo', 'excepto', 'sans', 'sauf') and not pgmem.is_small_word(v_word) and v_kind in ('unknown', 'word', 'act', 'general', 'program') then
          v_complied := v_complied or pgmem.word_stem(v_word) = any (p_names || p_before) and v_word !~ ('^' || p_program || '$');
        end if;
        continue;
      end if;
      if v_by then
        if v_kind in ('unknown', 'program', 'act', 'general', 'literal') and not pgmem.is_small_word(v_word) then v_who := v_who || v_word; end if;
        continue;
      end if;
      if v_harms then continue; end if;
      if v_kind = 'when' and v_word not in ('than', 'instead', 'rather') and (v_i > v_from + 1 or v_word in ('without', 'unless', 'ohne', 'sin', 'sans'))
         and p_words[v_i - 1] is distinct from 'at' then
        v_when := v_i;
        v_limits := v_limits or v_word not in ('because', 'since', 'so', 'as', 'that', 'which', 'who', 'whose', 'where', 'until', 'without', 'ohne', 'sin', 'sans')
          and (v_seen or v_programs <> '{}');
        continue;
      end if;
      if v_word in ('by', 'through', 'via', 'durch', 'von', 'por', 'par') and v_passive and v_i > v_from + 1
         and array_to_string(p_words[v_i - 2:v_i - 1], ' ') ~ '(ed|done|written|made|run|built|kept|set|sent|taken|driven)( \w+)?$' then
        v_by := true;
        continue;
      end if;
      if v_word in ('to', 'into', 'onto', 'on', 'in', 'at', 'from', 'against', 'for', 'with', 'via', 'by', 'of', 'during', 'within', 'inside', 'under', 'over', 'below',
                    'auf', 'nach', 'in', 'im', 'zu', 'zum', 'zur', 'mit', 'von', 'aus', 'fur', 'a', 'al', 'en', 'de', 'del', 'con', 'para', 'sur', 'dans', 'avec', 'vers', 'du', 'pour') then
        if v_word <> 'a' then
          v_reached := v_reached or v_prep in ('to', 'into', 'onto') and v_places <> '{}';
          v_prep := v_word;
          v_closed := v_closed or v_seen;
        end if;
      end if;
      -- The program of this command, named by an ordinary word: with its sub-command behind it, or a sign before it.
      if v_kind <> 'program' and v_word = p_program and length(v_word) > 1
         and (v_kind = 'unknown' and v_prep is null and length(v_word) > 2 or p_words[v_i + 1] in ('is', 'are') and v_i = v_from or v_i < v_size and p_words[v_i + 1] = any (p_act_words) or p_kinds[v_i - 1] = 'no' and v_no and p_words[v_i + 1] in ('of', 'on') or p_words[v_i - 1] in ('plain', 'bare', 'raw', 'naked')) then
        v_programs := v_programs || p_program;
        continue;
      elsif v_i > v_from and p_words[v_i - 1] || '-' || v_word = p_program then
        v_programs := v_programs || p_program;
        v_object := array_remove(v_object, p_words[v_i - 1]);
        v_head := null;
        continue;
      end if;
      if v_kind = 'general' and v_i > 1 and p_words[v_i - 1] in ('the', 'a', 'an', 'our', 'your', 'this') and (p_kinds[v_i + 1] in ('word', 'unknown')
           and not pgmem.is_small_word(p_words[v_i + 1]) or v_passive and p_kinds[v_i - 1] <> 'no' and p_words[v_i + 1] in ('is', 'are', 'gets', 'get', 'stays', 'wird', 'werden'))
         or v_kind = 'general' and v_passive and v_object <> '{}' and p_words[v_i + 1] in ('is', 'are', 'gets', 'get', 'stays')
         or v_kind = 'act' and v_seen and p_words[v_i] in ('commits', 'commit') and p_kinds[v_i - 1] in ('act', 'general', 'word')
           and not 'and' = any (p_kinds[v_from:v_i]) and not 'comma' = any (p_kinds[v_from:v_i]) and not v_verbs <@ '{edit}' then
        -- a noun: the build machine, amend commits, the build is uploaded
        v_closed := v_closed or v_seen;
        if not v_closed and v_prep is null then
          v_object := v_object || v_word;
          v_head := v_word;
        end if;
      elsif v_kind in ('act', 'general') then
        v_raw := v_raw || v_word;
        v_sub := v_sub or p_kinds[v_i - 1] = 'program' or p_words[v_i - 1] = p_program;
        v_verbs := v_verbs || p_concepts[v_i];
        v_general := v_general or v_kind = 'general';
        v_seen := true;
        v_prep := null;
      elsif p_concepts[v_i] = 'ci' and v_prep in ('on', 'in', 'auf', 'en', 'sur') then
        null;  -- where it runs
      elsif v_kind in ('branch', 'env', 'data', 'file', 'system', 'how', 'scope', 'request') then
        if v_kind in ('branch', 'env') and (p_kinds[v_i + 1] = 'only' or p_kinds[v_i - 1] = 'only' or p_kinds[v_i - 2] = 'only' and p_words[v_i - 1] in ('on', 'to', 'in', 'from', 'against')) then
          v_allowed := v_allowed || p_concepts[v_i];
        else
          v_things := jsonb_set(v_things, array[v_kind], coalesce(v_things -> v_kind, '[]') || to_jsonb(p_concepts[v_i]));
          if v_kind = 'data' and not v_closed then v_places := v_places || v_object; end if;  -- the audit table
          if v_kind <> 'how' and v_prep is null then v_head := null; v_object := '{}'; v_closed := v_closed or v_seen; end if;
          v_reached := v_reached or v_prep in ('to', 'into', 'onto');
        end if;
      elsif v_kind = 'program' then
        if v_prep is null or v_prep in ('with', 'by', 'mit', 'con', 'avec') or p_concepts[v_i] = p_program then
          v_programs := v_programs || p_concepts[v_i];  -- not a place: secrets stay in Vault
        end if;
      elsif v_kind = 'literal' then
        if p_kinds[v_i - 1] <> 'flag' or v_i = v_from then v_paths := v_paths || v_word; end if;
        v_closed := v_closed or v_seen;
      elsif v_kind = 'flag' then
        v_flags := v_flags || ltrim(v_word, '-');
      elsif v_kind = 'it' then
        v_it := true;
      elsif v_kind = 'skip' then
        v_skips := true;
      elsif v_kind = 'harm' then
        v_harms := v_programs <> '{}' and not v_no;
      elsif v_kind = 'hooks' then
        v_loose := v_loose || 'hooks'::text;
      elsif v_kind = 'history' then
        v_loose := v_loose || 'history'::text;
      elsif v_kind = 'and' then
        null;
      elsif v_kind = 'comma' then
        v_closed := v_closed or v_seen and v_head is not null;
        v_prep := null;
      elsif v_kind = 'unknown' then
        if not v_seen and p_kinds[v_from] in ('only', 'no') and p_kinds[v_from + 1] <> 'unknown'
           and p_words[v_from] in ('only', 'nobody', 'nur', 'solo', 'seul', 'niemand', 'nadie', 'personne')
           and exists (select from unnest(p_kinds[v_i + 1:v_to]) k where k in ('act', 'general')) then
          null;  -- who may
        elsif v_i > v_from and p_kinds[v_i - 1] = 'flag' then
          null;  -- the value of a flag
        elsif v_prep in ('to', 'into', 'onto', 'against', 'nach', 'zu', 'zum', 'zur', 'al', 'vers') and not v_reached
              or v_prep in ('from', 'of', 'de', 'del', 'du', 'von', 'aus', 'on', 'in', 'auf', 'en', 'sur') and not (v_seen and not v_general) then
          v_places := v_places || v_word;
        elsif v_prep is not null or v_closed or not v_seen and not v_passive and v_verbs <> '{}' then
          v_loose := v_loose || v_word;
        else
          v_object := v_object || v_word;
          v_head := v_word;
        end if;
      elsif v_kind = 'word' and v_word not in ('new', 'own', 'any', 'other') and v_head is not null and v_seen and v_prep is null
            and not pgmem.is_small_word(v_word) then
        v_closed := true;
      end if;
    end loop;

    if v_skips and v_verbs && '{insecure}' then
      v_verbs := '{insecure}'; v_raw := '{}'; v_things := '{}'; v_flags := '{}'; v_object := '{}'; v_loose := '{}'; v_head := null;
    elsif v_skips and ('hooks' = any (v_loose) or 'skiphooks' = any (v_verbs)) then
      v_verbs := '{skiphooks}'; v_raw := '{}'; v_things := '{}'; v_flags := '{}'; v_object := '{}'; v_loose := '{}'; v_head := null;
    elsif 'history' = any (v_loose) and v_verbs && '{edit,rewrite,delete}' or 'edit' = any (v_verbs) and 'commit' = any (v_verbs) then
      v_verbs := '{rewrite}'; v_raw := '{}'; v_object := '{}'; v_loose := '{}'; v_head := null;
    elsif v_skips and v_flags <> '{}' then
      v_no := true;
    elsif v_skips and v_verbs = '{}' and v_no then
      v_verbs := '{skip}';
    end if;
    v_loose := array_remove(array_remove(v_loose, 'hooks'), 'history');
    if v_topic or v_follows and v_verbs = '{}' and not v_no then
      v_about := v_things;
      v_about_programs := v_programs;
      v_last_places := v_places;
      v_last := v_things; v_last_paths := v_paths; v_last_programs := v_programs; v_last_object := v_object; v_last_verbs := v_verbs;
      v_at := v_next;
      continue;
    end if;
    v_it := v_it or v_no and v_general and p_kinds[v_at - 1] is not distinct from 'and' and v_things = '{}' and v_object || v_places || v_programs || v_paths = '{}';
    if v_it then
      v_things := v_last || v_things;
      v_paths := v_paths || v_last_paths;
      v_places := v_places || v_last_places;
      if v_object = '{}' and v_things = '{}' and v_paths = '{}' then
        v_object := v_last_object;
        v_head := v_object[cardinality(v_object)];
        v_programs := case when v_programs = '{}' then v_last_programs else v_programs end;
      end if;
    end if;
    if (v_no or v_ask or v_limits) and v_verbs = '{}' and v_things = '{}' and v_programs = '{}' and v_paths = '{}' and v_flags = '{}'
       and v_object = '{}' and v_places = '{}' and v_allowed = '{}' then  -- ", never by hand"
      v_ellipsis := true;
    else
      v_ellipsis := v_no and v_verbs = '{}' and v_last_verbs <> '{}' and p_kinds[v_end - 1] = 'no';  -- "staging may be reset, production must not"
      if v_ellipsis then
        v_verbs := v_last_verbs; v_general := v_last_general; v_things := v_last || v_things; v_object := '{}'; v_head := null;
      end if;
      v_ellipsis := false;
    end if;
    if v_ellipsis then
      v_things := v_last; v_paths := v_last_paths; v_verbs := v_last_verbs; v_programs := v_last_programs; v_object := v_last_object;
      v_places := v_last_places;
      v_general := v_last_general; v_head := v_object[cardinality(v_object)];
    end if;
    if v_about_programs <> '{}' and v_programs = '{}' then v_programs := v_about_programs; end if;
    if v_about <> '{}' and v_things = '{}' and v_paths = '{}' then
      v_things := v_about;
      v_places := v_places || v_about_places;
    end if;
    if v_about_object <> '{}' and v_object = '{}' and v_things = '{}' and v_programs = '{}' and v_paths = '{}' then
      v_object := v_about_object; v_head := v_object[cardinality(v_object)];
    end if;
    if p_kinds[v_end] = 'end' and p_words[v_end] <> ':' or v_end > v_size then
      v_about := '{}'; v_about_programs := '{}'; v_about_object := '{}'; v_about_places := '{}';
    end if;
    v_last := v_things; v_last_places := v_places; v_last_paths := v_paths; v_last_programs := v_programs; v_last_object := v_object; v_last_verbs := v_verbs;
    v_last_general := v_general;
    if v_follows and v_no and v_verbs = '{}' and p_kinds[v_end + 1] in ('no', 'ask', 'only', 'always', 'act', 'general') then  -- "main is protected: …" is said by what follows
      v_about := v_things; v_about_object := v_object; v_about_programs := v_programs; v_about_places := v_places;
      v_at := v_next;
      continue;
    end if;

    -- The sign of the clause: what it is worth if the act is the one it speaks of.
    v_by := v_by and v_who <> '{}' and p_person;
    v_level := case when v_no then 2 when v_ask or v_limits or v_by or v_harms and p_person or v_allowed <> '{}' then 1
      when p_standing and v_needs or p_person and v_needs and v_flags <> '{}' then 1 else 0 end;
    if v_by and not v_no and (exists (select from unnest(v_who) w where w = p_program or w = any (p_act_words) or pgmem.is_among(w, p_names))) then
      v_complied := true;
    end if;
    v_complied := v_complied or v_allowed && p_act and not v_no;
    if v_states and v_level = 1 and v_places <> '{}' then  -- "it goes against dev": the places are those that are meant
      v_complied := v_complied or not exists (select from unnest(v_places) w where not pgmem.is_among(w, p_names));
      v_places := '{}';
    end if;
    -- Behind a prohibition the thing to use in its place.
    v_complied := v_complied or v_against and v_level = 0 and not v_it and exists (select from unnest(v_paths) n where n ~ '^\w[\w-]*(\.[\w-]+)+$'
      and array(select pgmem.word_stem(w) from regexp_split_to_table(n, '[^a-z0-9]+') w where w <> '') <@ p_names);
    if v_complied and v_level = 0 and v_against then
      return 0;
    end if;
    v_against := v_against or v_no;

    -- Programs.
    v_mine := p_program <> '' and (p_program = any (v_programs) or 'sudo' = any (v_programs) and 'root' = any (p_act) or 'docker' = any (v_programs) and p_program ~ '^(docker|podman)');
    v_family := v_programs <> '{}' and not v_mine and not v_no and not v_harms and not v_prefers
      and exists (select from pgmem.program_families() f where p_program = any (f.programs) and f.programs && v_programs);
    v_ok := (v_level > 0 or v_family) and not v_complied and (v_programs = '{}' or v_mine or v_family
      or v_strange and exists (select from unnest(v_programs) p where pgmem.word_stem(p) = any (p_names)));
    v_prefers := v_prefers or v_mine and not v_no and not v_harms and not v_limits;
    -- "cargo test is too slow" is about that sub-command alone.
    v_ok := v_ok and not (v_sub and v_mine and v_harms and not exists (
      select from unnest(v_raw) r cross join unnest(p_act_words) a(word) where pgmem.word_stem(a.word) = pgmem.word_stem(r)));
    -- "Format with ruff": this act does.
    v_ok := v_ok and not (v_mine and v_verbs <> '{}' and v_flags = '{}' and not (v_no or v_ask or v_limits or v_by or v_harms or v_needs or v_states)
      and exists (select from generate_series(v_at + 1, v_end - 1) n where p_words[n] = p_program and p_words[n - 1] in ('with', 'using', 'via', 'use', 'mit')));
    -- A branch is of git, and one of the remote is deleted by a push.
    v_ok := v_ok and (not 'delete' = any (v_verbs) or not p_words[v_at:v_end - 1] && '{branch,branches}' or 'branch' = any (p_names) and not array_to_string(p_words[v_at:v_end - 1], ' ') ~ 'remote branch'
      or p_program in ('git', 'gh', 'glab', 'hub') and ('push' = any (p_act) or not array_to_string(p_words[v_at:v_end - 1], ' ') ~ 'remote branch'));
    if v_ok and v_family and not (v_harms or v_no) then
      v_level := greatest(v_level, 1::smallint);
    end if;

    -- Flags: forbidden ones are there, wanted ones are not.
    if v_ok and v_flags <> '{}' then
      v_ok := case when v_no then v_flags && array(select lower(f) from unnest(p_flags) f)
        when v_needs or v_level = 0 then not v_flags && array(select lower(f) from unnest(p_flags) f) else true end;
    end if;

    -- Files and things: of each kind that the clause names, the act has one.
    v_path := exists (select from unnest(v_paths) n cross join lateral unnest(p_paths) p where pgmem.path_is_under(p, n));
    v_named := 0;
    if v_ok and v_paths <> '{}' and not v_path
       and not exists (select from unnest(v_paths) n where n ~ '\w' and array(select pgmem.word_stem(w) from regexp_split_to_table(n, '[^a-z0-9]+') w where w <> '') <@ p_names) then
      v_ok := false;
    end if;
    if v_ok then
      for v_kind in select jsonb_object_keys(v_things) loop
        if v_kind = 'file' and v_path or v_kind = 'scope' and not v_verbs && '{test,run,stage,commit}' then
          continue;
        elsif v_kind = 'data' and 'database' = any (p_act) and v_things -> 'data' ? 'table' then
          v_named := v_named + 1;
        elsif exists (select from jsonb_array_elements_text(v_things -> v_kind) t where t = any (p_act)) then
          v_named := v_named + (v_kind <> 'scope')::integer;
        elsif v_kind = 'data' and exists (select from jsonb_array_elements_text(v_things -> v_kind) t where pgmem.word_stem(t) = any (p_names)) then
          v_named := v_named + 1;
        else
          v_ok := false;
        end if;
      end loop;
    end if;

    -- The act.
    if v_ok then
      v_met := array(select v from unnest(v_verbs) v where v = any (p_act)
        or v = 'commit' and 'stage' = any (p_act) and (v_path or v_things ? 'file')
        or v = 'add' and 'install' = any (p_act)
        or v = 'reset' and 'delete' = any (p_act) and p_act && '{database,table,volume}'
        or v_mine and v_raw && p_act_words
        or v = 'run' and p_program <> '' and (v_mine and not v_sub or v_flags && p_flags))
        || array(select r from unnest(v_raw) r where r = any (p_act_words || case when v_no then p_flags else '{}' end))
        || case when v_verbs = '{skip}' and (p_act && '{uninstall,stop,skiphooks,insecure}'
             or exists (select from unnest(p_act_words || p_flags) w where w ~ '^(disable|uninstall|off|skip|bypass|deinit|untrack|no-)')) then '{skip}' else '{}' end::text[];
      v_hits := v_named + (cardinality(v_met) > 0)::integer + (v_mine or v_family)::integer + 2 * v_path::integer
        + (v_no and v_flags <> '{}')::integer + (v_paths <> '{}' and not v_path)::integer
        + (select count(*) from unnest(v_object || v_places || v_loose) w where pgmem.is_among(w, p_names));
      v_misses := (select count(*) from unnest(v_loose) w where not pgmem.is_among(w, p_names))
        + 0.5 * (select count(*) from unnest(v_object) w where w <> v_head and not pgmem.is_among(w, p_names));
      -- "use", "run": of the program that is named
      v_ok := case
        when v_verbs = '{}' then true
        when cardinality(v_met) > 0 then not (v_met <@ '{run}' and not v_verbs <@ '{run}' and v_hits < 3)
        else v_strange and v_hits >= 2 and v_verbs <> '{skip}' end;
      v_wants := v_needs and v_flags <> '{}' and not v_no and (v_mine or cardinality(v_met) > 0);
      if v_strange then
        v_misses := v_misses + (select count(*) from unnest(v_places) w where not pgmem.is_among(w, p_names));
        v_places := '{}';
      end if;
      v_ok := v_ok and v_wants or v_ok and (v_path or v_head is null or v_family and v_verbs = '{}' or pgmem.is_among(v_head, p_names))
        and not exists (select from unnest(v_places) w where not pgmem.is_among(w, p_names) and not v_path)
        and v_misses <= case when p_standing or p_person then floor(v_hits / 2) else 0 end;
    end if;
    if v_ok then
      v_seen := v_mine or v_family;
      if v_wants then
        null;
      elsif v_verbs = '{}' then
        -- No act is named: a program that is not to be used, or a thing that is not to be changed.
        v_ok := case
          when v_flags <> '{}' then v_seen or v_no
          when v_programs <> '{}' and v_allowed = '{}' then v_family and p_act && '{install,add,test,format,lint,build,update,read,run,deploy,apply,uninstall,publish}'
            or (v_no or v_limits or v_by or v_harms) and v_seen and (v_object || v_places || v_loose) <@ (p_act_words || p_names || array(select w from unnest(v_object || v_places || v_loose) w where pgmem.is_among(w, p_names)))
          else (v_no or v_ask or v_limits or v_by) and not ('read' = any (p_act))
            and (v_path or v_named > 0 or v_head is not null and v_hits >= 1)
            and (v_allowed <> '{}' or v_path or v_named > 0 or v_hits >= 2 or v_no) end;
      elsif v_general and not exists (select from unnest(v_met) m where m not in
              ('delete', 'edit', 'write', 'create', 'run', 'test', 'build', 'stop', 'restart', 'reload', 'update', 'add', 'read', 'move', 'copy', 'download', 'send', 'query', 'close', 'comment', 'restore', 'configure', 'connect', 'open')) then
        v_ok := v_seen or v_path or v_named > 0 or v_allowed <> '{}'
          or (v_no or v_ask or v_limits or v_by) and exists (select from unnest(v_object || v_places || v_loose) u where length(u) > 3 and pgmem.is_among(u, p_names))
          or (v_no or v_ask) and v_object || v_places || v_loose = '{}' and (v_things ? 'scope' or not v_it) and (v_things ? 'scope' or not v_met <@ '{test,run,build,read,add,write,create,edit}');
      end if;
      if v_ok and v_by and not v_no and not (v_verbs <> '{}' or v_path or v_seen) then v_ok := false; end if;
    end if;
    if v_ok and v_level > 0 then
      if v_level = 1 and v_needs and not (v_no or v_ask or v_limits or v_by or v_family) and v_flags = '{}'
         and not (v_verbs <> '{}' and not v_seen and not v_met <@ '{run,test,build,read}') then
        null;
      else
        v_best := greatest(v_best, v_level);
      end if;
    end if;
    -- "We squash when we merge": how an act is done, and this one is done otherwise.
    if p_person and v_best = 0 and v_if_verbs && p_act and v_verbs <> '{}' and not v_verbs && (p_act || p_flags) and not v_no and not v_complied then
      v_best := 1;
    end if;
    v_at := greatest(v_next, v_at + 1);
  end loop;
  return v_best;
end;
$$;
comment on function pgmem.rule_meets is
  'Whether a rule concerns an act: 0 not, 1 it says how the act is done, 2 it forbids it; read_rules and acts_of give its arguments.';


create or replace function pgmem.names_act(p_text text, p_program text, p_words text[], p_args text[], p_act text[], p_paths text[])
returns boolean
language sql stable
begin atomic
  -- "make seed", with the next word an argument of the command too or the end of a phrase. Commands that every session
  -- runs say nothing by themselves.
  select p_program ~ '^[a-z][\w.-]+$' and p_words[1] ~ '^[a-z][\w:-]*$' and not ('read' = any (p_act))
      and (p_program || ' ' || p_words[1]) !~ ('^(git (add|commit|push|pull|checkout|switch|merge|rebase|stash)|(npm|pnpm|yarn|bun|pip|uv|cargo|poetry|go|brew|apt|apt-get) '
        '(install|i|add|ci|run|test|build|sync|get)|docker (run|build|exec|compose|pull|push)|python .*|node .*|make (all|test|build))$')
      and exists (
        select from regexp_matches(lower(p_text), '(?<![\w./-])' || regexp_replace(p_program, '([.+])', '\\\1', 'g') || ' '
          || regexp_replace(p_words[1], '([.+])', '\\\1', 'g') || '(?![\w-])\s*([^\s,;:.`)]*)', 'g') m
        where m[1] = '' or m[1] = any (p_args) or m[1] ~ '^[^\w-]' or pgmem.is_small_word(m[1]) or p_words[2] is null and m[1] !~ '^-')
    or exists (
      select from unnest(p_paths) p where length(p) >= 6 and p ~ '^[\w./@-]+$' and p ~ '\w\.\w+$|/\w' and p !~ '^[\d.]+$'
        and not ('read' = any (p_act))
        and lower(p_text) ~ ('(?<![\w/.-]|--[\w-]+[ =])' || regexp_replace(lower(p), '([.+])', '\\\1', 'g') || '(?![\w/-])'));
end;
comment on function pgmem.names_act is
  'Whether a text names the program of a command with its first word, or one of its files.';


create or replace function pgmem.forbids_code(p_text text, p_content text) returns boolean
language sql immutable parallel safe
begin atomic
  -- Comments and quoted texts of the content do not count.
  select exists (
    select from regexp_matches(
      regexp_replace(regexp_replace(p_text, '(?<![`\w.])([\w.]+\(\))(?!`)', '`\1`', 'g'), '\mkeep\s+([^.;:!?\n]*?)\s+out of\M', 'never \1', 'gi'), '(?:(?:^|[.,;:!?\n]\s*)(?:please )?(?:never|no|do not|don.t|avoid|kein\w*|nie|nunca|jamais|evita|évite[rz]?)\s|禁止|不要|不得|切勿)'
      '[^.;:!?\n`]*`([^`\n]{3,60})`', 'gi') m
    where regexp_replace(p_content, $$//[^\n]*|/\*.*?\*/|(^|\n)\s*#[^\n]*|"[^"\n]*"|'[^'\n]*'$$, ' ', 'g')
      ~ ('(?<![\w$])' || regexp_replace(btrim(m[1]), '([.+*?()\[\]{}^$|\\])', '\\\1', 'g') || '(?![\w$])'));
end;
comment on function pgmem.forbids_code is
  'Whether a text forbids, between backticks, a piece of code that a content has.';


-- Most memories share no word with a command, and reading a rule takes a hundred times as long as this.
create or replace function pgmem.act_trigger(p_concepts text[], p_programs text[], p_names text[], p_paths text[]) returns text
language sql stable
begin atomic
  with word as (
    select rtrim(w.word, '*') as word
    from pgmem.act_words() f cross join lateral unnest(string_to_array(f.words, ' ')) as w(word)
    where f.concept = any (p_concepts || case when 'skiphooks' = any (p_concepts) then '{skip}'::text[] else '{}' end
        || case when p_concepts && '{rewrite,amend}' then '{edit,history}'::text[] else '{}' end
        || case when 'install' = any (p_concepts) then '{add}'::text[] else '{}' end)
    union
    select regexp_replace(pr.name, '([.+*>])', '\\\1', 'g') from unnest(p_programs || array(
      select unnest(f.programs) from pgmem.program_families() f where f.programs && p_programs)) pr(name) where pr.name <> ''
    union
    select regexp_replace(part.name, '([.+*()\[\]{}^$|?\\])', '\\\1', 'g') from unnest(p_paths) path
    cross join lateral regexp_split_to_table(pgmem.plain_letters(path), '/') part(name) where length(part.name) > 2
    union
    select n.name from unnest(p_names) n(name) where not pgmem.is_small_word(n.name)
    union
    -- Expressions of several words, which rule_words makes one.
    select case p.name when 'docker' then 'compose' when 'kubectl' then 'k(8s|ubernetes)' when 'root' then 'sudo|admin|superuser|root'
      when 'systempackage' then '(operating )?system|os|apt|global' when 'lockfile' then 'lock' when 'vendor' then '(third|3rd)[- ]party'
      when 'main' then 'default|protected|shared|public|common|haupt' when 'pr' then '(pull|merge)[- ]req' when 'envfile' then 'env|dotenv'
      when 'skiphooks' then 'hooks?' when 'deploy' then 'roll|go(es)? (out|live)' when 'commit' then 'check(s|ed|ing)? in' when 'database' then 'base' when 'connect' then 'log(s|ged|ging)? (in|on)' when 'install' then 'dependenc|packag|librar'
      when 'production' then 'live' when 'rg' then 'ripgrep' end
    from unnest(p_programs || p_concepts) p(name)
  )
  select '(\m|[\u3040-\u30ff\u3400-\u9fff.*/_-])(' || coalesce(string_agg(w.word, '|') filter (where w.word ~ '^[ -~]+$'), '-') || ')'
    || coalesce('|' || string_agg(w.word, '|') filter (where w.word !~ '^[ -~]+$'), '')
  from word w where w.word <> '';
end;
comment on function pgmem.act_trigger is
  'The regular expression that the text of a rule matches, without accents, if it may concern acts: words of their concepts.';


create or replace function pgmem.memory_for_act(
  p_tool text,
  p_command text default null,
  p_path text default null,
  p_content text default null,
  p_project_id text default null,
  p_branch text default null,
  p_exists boolean default null,
  p_limit pgmem.row_limit default 3,
  p_names text[] default null,
  out matches jsonb,
  out more integer
)
language plpgsql stable security definer set search_path = pgmem, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_caller   pgmem.caller := pgmem.caller();
  v_scope    pgmem.scope_state := pgmem.resolve_scope(v_caller, p_project_id, p_branch);
  v_config   text := coalesce(v_scope.text_config, pgmem.setting_text('text_config'));
  v_filter   pgmem.search_filter;
  v_words    pgmem.search_words;
  v_acts     jsonb;
  v_trigger  text;
  v_memories jsonb;
begin
  matches := '[]';
  more := 0;
  if v_scope.scope_state = 'uncertain' then
    return;
  end if;
  v_acts := (select jsonb_agg(to_jsonb(a)) from pgmem.acts_of(p_tool, p_command, p_path, p_content, p_exists, p_branch) a);
  if v_acts is null or not exists (
      select from jsonb_array_elements(v_acts) a
      where not a -> 'concepts' <@ '["read"]' or a -> 'concepts' ? 'unknown'
        or exists (select from pgmem.program_families() f where a ->> 'program' = any (f.programs))) then
    return;  -- it only looks
  end if;
  v_trigger := (
    select pgmem.act_trigger(array_agg(x.value) filter (where x.key = 'concepts'), array_agg(x.value) filter (where x.key = 'program'),
      array_agg(x.value) filter (where x.key = 'names' and length(x.value) > 3 and x.value !~ '^\d'), array_agg(x.value) filter (where x.key = 'paths'))
    from (
      select 'program' as key, a ->> 'program' as value from jsonb_array_elements(v_acts) a
      union all
      select k.key, v.value from jsonb_array_elements(v_acts) a cross join unnest('{concepts,names,paths}'::text[]) as k(key)
      cross join lateral jsonb_array_elements_text(a -> k.key) v) x);
  if p_path is not null and p_content is not null then
    v_trigger := v_trigger || '|`';
  end if;
  v_filter.tenants := v_caller.tenants;
  v_filter.project_seq := v_scope.project_seq;
  v_filter.moment := pgmem.now();
  v_words := pgmem.search_words(pgmem.query_lexemes(
    regexp_replace(left(coalesce(p_command, p_path, p_tool), 2000), '[^[:alnum:]]+', ' ', 'g'), v_config), v_filter);
  v_memories := (
    with candidate as materialized (
      select t.seq from pgmem.text_candidates(v_words, v_filter, 50) t
      union
      -- Persons write few rules, and one in other words shares none with a command.
      select i.seq from unnest(array[v_scope.project_seq::text, v_scope.project_seq::text || '/' || v_scope.focus, 'global']) as p(place)
      cross join unnest(v_caller.tenants) as t(tenant)
      cross join lateral (
        (select n.seq from pgmem.node n
         where n.place = p.place and n.tenant = t.tenant and n.instructs and pgmem.is_of_a_person(n.source, n.trust_level)
           and pgmem.fits(n, v_filter)
         order by n.created_at desc limit 200)
        union all
        (select n.seq from pgmem.node n
         -- As the predicate of node_said, which the planner does not see in fits.
         where n.place = p.place and n.tenant = t.tenant and n.scope is not null and pgmem.is_of_a_person(n.source, n.trust_level)
           and pgmem.is_live_status(n.status) and not pgmem.named_only(n.label) and pgmem.fits(n, v_filter)
         order by n.created_at desc limit 200)) i
    )
    select jsonb_agg(jsonb_build_object('seq', n.seq, 'id', n.id, 'label', n.label, 'title', n.title, 'created_at', n.created_at,
      'by', said.by, 'standing', n.instructs and said.by = 'person', 'author', coalesce(nullif(n.user_id, ''), 'A person'), 'text', s.text))
    from candidate c
    cross join lateral (select n.* from pgmem.live_node n where n.seq = c.seq offset 0) n
    cross join lateral (select pgmem.said_by(n.source, n.trust_level) as by) said
    cross join lateral (select s.searched_text as text from pgmem.searched_text(n.label, n.title, n.props) s) s
    where n.label not in ('Session', 'Turn', 'Insight') and pgmem.is_memory(n.label) and not pgmem.named_only(n.label)
      and pgmem.plain_letters(left(s.text, 2000)) ~ v_trigger);
  if v_memories is null then
    return;
  end if;
  with act as materialized (
    select a.* from jsonb_to_recordset(v_acts)
      as a(program text, words text[], flags text[], concepts text[], names text[], paths text[], args text[], before text[])
  ), memory as materialized (
    select m.* from jsonb_to_recordset(v_memories) as m(seq bigint, id uuid, label text, title text, created_at timestamptz, by text,
      standing boolean, author text, text text)
  ), rule as materialized (
    select r.* from (select array_agg(m.seq) as seqs, array_agg(m.text) as texts from memory m) m
    cross join lateral pgmem.read_rules(m.seqs, m.texts) r
  ), met as (
    select m.*, f.meets, f.named
    from memory m join rule r on r.id = m.seq
    cross join lateral (
      select greatest(max(pgmem.rule_meets(r.words, r.concepts, r.kinds, m.standing, a.program, a.words, a.flags, a.concepts, a.names, a.paths, a.before, m.by = 'person')),
               max(case when a.program = '' and p_content is not null and pgmem.forbids_code(m.text, p_content) then 2 end)) as meets,
             not r.kinds && '{no,ask,only,before}' and bool_or(pgmem.names_act(m.text, a.program, a.words, a.args, a.concepts, case when a.program = '' then '{}' else a.paths end)) as named
      from act a) f
    where (f.meets > 0 or f.named)
      -- A text that names a file of this name in another folder is about that one.
      and (p_names is null or pgmem.as_line(m.text) !~ pgmem.path_pattern(regexp_replace(p_path, '^.*/', ''), true)
        or exists (select from unnest(p_names) n where pgmem.as_line(m.text) ~ pgmem.path_pattern(n)))
  )
  select coalesce(jsonb_agg(jsonb_build_object('id', m.id, 'label', m.label, 'title', m.title, 'text', m.text, 'standing', m.standing,
           'forbids', m.meets = 2, 'by', m.by, 'author', m.author, 'created_at', m.created_at) order by m.rank) filter (where m.rank <= p_limit), '[]'),
         greatest(count(*) - p_limit, 0)
  into matches, more
  from (select m.*, row_number() over (order by m.meets = 2 and m.by = 'person' desc, m.standing desc, m.meets desc, m.created_at desc, m.seq desc) as rank
        from met m) m;
end;
$$;
comment on function pgmem.memory_for_act is $$
The rules that concern an act of an agent, before it is done, and the memories that name its command or file; mostly none.

Each match holds id, label, title, text, by (person or agent), author (the user whose it is), created_at, standing (an instruction of a person) and forbids
(whether the rule says not to do this). more is how many others concern it.

tool: The tool that is called, such as Bash, Edit or mcp__server__tool.
command: The line of a shell that it runs; its first 8000 characters count.
path: The file that it reads or changes, relative to the repository.
content: The text that it writes, or the arguments of a server's tool.
project_id: Project name; unset: global rules alone.
branch: The branch of the work tree.
exists: Whether the file exists already; unset: it is changed.
names: The names by which texts may mean the file; a text that names one of the same name elsewhere is left out.

InvalidArgument: the limit is out of its bounds.
$$;
select pgmem.declare_verb('memory_for_act', p_rights => 'reader', p_effect => 'read', p_patience => 'answer', p_reads => 5000);
