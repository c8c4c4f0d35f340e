-- Commands: the effects of a line of a shell
--
-- A command is compared with a rule by its effect, so a line is taken apart: each simple command with its program,
-- the words after it, its flags, its other arguments and the files that it writes. A program that only carries a command
-- (sudo, env, xargs, npx, uv run, sh -c, ssh) is passed through. A text that a command only says is none of its targets: the
-- message of a commit, the pattern of grep, a here-document.
--
-- act_forms says which acts these are, and target_forms which things a path or an argument stands for. Both are knowledge
-- about tools, which no store of a user holds; a program that they do not name is compared by its name and its words.
--
-- Locks: none.


create or replace function pgmem.shell_words(p_command text) returns table (place bigint, word text, is_text boolean)
language sql immutable
begin atomic
  select m.place, regexp_replace(m.found[1], $$"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)$$, '\1\2\3', 'g'),
         m.found[1] ~ $$^["']$$ and m.found[1] ~ '\s'
  from regexp_matches(
    regexp_replace(regexp_replace(left(p_command, 8000), $$<<-?\s*["']?(\w+)["']?.*?\n\s*\1\M$$, ' ', 'g'),
                   '(^|\n)\s*#[^\n]*', '\1', 'g'),
    $re$((?:[^\s"'|&;<>()\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+|\|\||&&|>>|[|&;()<>\n])$re$, 'g')
    with ordinality as m(found, place);
end;
comment on function pgmem.shell_words is
  'The words and signs of a line of a shell in order, without quotes; is_text: a quoted text of several words.';


-- The value of a flag is not a sub-command. An unknown flag has none.
create or replace function pgmem.takes_value(p_program text, p_flag text) returns boolean
language sql immutable parallel safe
begin atomic
  select p_flag ~ ('^(-C|--cwd|--context|--namespace|--kubeconfig|--prefix|--filter|--profile|--region|--project|--host|--dir|--user|'
      '--file|--message|--title|--body|--output|--tag|--env|--target|--branch|--port|--dbname|--database|--username|--author|'
      '--manifest-path|--package|--config|--remote|--cluster|--app|--stage|--workspace|--format|--notes)$')
    or p_program ~ '^(kubectl|helm)$' and p_flag ~ '^-[nfl]$'
    or p_program ~ '^(psql|pg_dump|pg_restore|createdb|dropdb|mysql)$' and p_flag ~ '^-[hUdpfc]$'
    or p_program = 'git' and p_flag ~ '^-[cmb]$' or p_program = 'make' and p_flag ~ '^-[fj]$'
    or p_program ~ '^(docker|podman)$' and p_flag ~ '^-[tfpHe]$' or p_program = 'cargo' and p_flag ~ '^-[pj]$'
    or p_program ~ '^(pytest|go)$' and p_flag ~ '^-[knpmo]$' or p_program ~ '^(ssh|scp)$' and p_flag ~ '^-[pi]$'
    or p_program ~ '^(sudo|doas)$' and p_flag ~ '^-[ug]$' or p_program = 'xargs' and p_flag ~ '^-[nIP]$'
    or p_program ~ '^(grep|rg|ag)$' and p_flag ~ '^-[eABC]$' or p_program = 'curl' and p_flag ~ '^-[XHdo]$';
end;
comment on function pgmem.takes_value is 'Whether the word after a flag of a program is the value of the flag.';


create or replace function pgmem.simple_commands(p_command text, p_depth integer default 0) returns table (
  program text,
  words text[],
  flags text[],
  args text[],
  writes text[],
  is_root boolean
)
language plpgsql immutable set search_path = pgmem, pg_temp as $$
declare
  v_all    text[];
  v_texts  boolean[];
  v_size   integer;
  v_at     integer := 1;
  v_end    integer;
  v_word   text;
  v_more   text;
  v_value  boolean;
  v_inner  record;
begin
  select array_agg(s.word order by s.place), array_agg(s.is_text order by s.place), count(*) into v_all, v_texts, v_size
  from pgmem.shell_words(p_command) s;
  while v_at <= v_size loop
    program := null; words := '{}'; flags := '{}'; args := '{}'; writes := '{}'; is_root := false;
    v_end := v_at;
    while v_end <= v_size and not v_all[v_end] in ('|', '||', '&', '&&', ';', '(', ')', e'\n') loop
      v_end := v_end + 1;
    end loop;
    v_value := false;
    v_inner := null;
    while v_at < v_end loop
      v_word := v_all[v_at];
      v_at := v_at + 1;
      if v_word in ('>', '>>') then
        if v_at < v_end then writes := writes || v_all[v_at]; v_at := v_at + 1; end if;
      elsif v_word = '<' then
        v_at := v_at + 1;
      elsif program is null then
        if v_word ~ '^[A-Za-z_]\w*=' then
          flags := flags || lower(split_part(v_word, '=', 1) || '=' || split_part(v_word, '=', 2));
          continue;
        end if;
        v_word := regexp_replace(lower(v_word), '^.*[/\\]|\.exe$', '', 'g');
        if v_word in ('sudo', 'doas') then
          is_root := true;
        end if;
        if v_word in ('sudo', 'doas', 'env', 'time', 'nohup', 'nice', 'exec', 'command', 'builtin', 'xargs', 'timeout', 'then',
                      'do', 'else', 'if', 'while', '!', '{', 'stdbuf', 'caffeinate', 'npx', 'bunx', 'pnpx', 'uvx', 'pipx', 'dotenv') then
          while v_at < v_end and (v_all[v_at] ~ '^-' or v_word = 'timeout' and v_all[v_at] ~ '^\d' or v_all[v_at] = 'run' and v_word = 'pipx') loop
            v_at := v_at + 1 + pgmem.takes_value(v_word, v_all[v_at])::integer;
          end loop;
        elsif v_word in ('uv', 'poetry', 'pipenv', 'hatch', 'pdm', 'rye', 'conda', 'mise', 'direnv')
              and v_all[v_at] in ('run', 'exec') and v_at + 1 < v_end
              or v_word in ('pnpm', 'yarn', 'bun', 'npm') and v_all[v_at] in ('exec', 'dlx', 'x') and v_at + 1 < v_end
              or v_word = 'bundle' and v_all[v_at] = 'exec' and v_at + 1 < v_end then
          v_at := v_at + 1;
          while v_at < v_end and v_all[v_at] ~ '^-' loop
            v_at := v_at + 1 + pgmem.takes_value(v_word, v_all[v_at])::integer;
          end loop;
        elsif v_word ~ '^(python|python3|py|python3\.\d+)$' and v_all[v_at] = '-m' and v_at + 1 < v_end then
          v_at := v_at + 1;
        else
          program := regexp_replace(v_word, '^(pip|python|node|psql)[\d.]+$', '\1');
        end if;
      elsif v_word ~ '^-' and length(v_word) > 1 and v_word <> '--' then
        v_more := substring(v_word from '^--?[\w-]+=(.*)$');
        v_word := regexp_replace(v_word, '=.*$', '');
        if v_word ~ '^--' then
          flags := flags || lower(substr(v_word, 3));
        elsif v_word ~ '^-[A-Za-z]{2,4}$' and program not in ('terraform', 'tofu', 'java', 'find', 'go') then
          flags := flags || string_to_array(substr(v_word, 2), null);
        else
          flags := flags || ltrim(v_word, '-');
        end if;
        if program in ('bash', 'sh', 'zsh', 'dash', 'fish', 'eval') and v_word ~ '^-\w*c$' and v_at < v_end and p_depth < 3 then
          return query select s.* from pgmem.simple_commands(v_all[v_at], p_depth + 1) s;
          v_at := v_at + 1;
        elsif v_more is null and v_at < v_end and (pgmem.takes_value(program, v_word)
              or v_word ~ '^-[a-z]*[mc]$' and program in ('git', 'psql') and coalesce(v_texts[v_at], false)) then
          v_more := v_all[v_at];
          v_at := v_at + 1;
        end if;
        if v_more is not null and not v_word ~ '^(--(message|title|body|author|notes|description|format)|-[a-z]*m)$' then
          args := args || v_more;
        end if;
      elsif v_word = '--' then
        flags := flags || '--'::text;
      elsif program in ('echo', 'printf', 'read', 'export', 'alias') and v_word !~ '^\$\{?\w' then
        continue;
      elsif program in ('grep', 'rg', 'ag', 'sed', 'awk', 'jq', 'perl') and cardinality(args) = 0 and cardinality(words) = 0
            and not 'e' = any (flags) then
        words := words || ''::text;  -- a pattern
      else
        if cardinality(words) < 3 then
          words := words || lower(v_word);
        end if;
        args := args || v_word;
      end if;
    end loop;
    if program = 'ssh' and cardinality(args) > 1 and p_depth < 3 then
      for v_inner in select s.* from pgmem.simple_commands(array_to_string(args[2:], ' '), p_depth + 1) s loop
        return query select v_inner.program, v_inner.words, v_inner.flags, v_inner.args || array[args[1]], v_inner.writes, v_inner.is_root;
      end loop;
      args := args[:1];
      words := '{}';
      return next;
    elsif program is not null then
      return next;
    elsif writes <> '{}' then
      program := '>';
      return next;
    end if;
    v_at := v_end + 1;
  end loop;
end;
$$;
comment on function pgmem.simple_commands is
  'The simple commands of a line of a shell: program, the words after it, flags without dashes, arguments, files written.';


create or replace function pgmem.act_forms() returns table (program text, sub text, flag text, concepts text)
language sql immutable
begin atomic
  -- words: as is below
  select f.program, f.sub, f.flag, f.concepts
  from (values
    ('git', '^push\M', null, 'push'),
    ('git', '^push\M', '^(f|force|force-with-lease|force-if-includes|mirror)$', 'force rewrite'),
    ('git', '^push\M.* \+', null, 'force rewrite'),
    ('git', '^push\M', '^(d|delete)$', 'delete branch'),
    ('git', '^push\M', '^(tags|follow-tags)$', 'tag'),
    ('git', '^commit\M', null, 'commit'),
    ('git', '^commit\M', '^(amend|fixup|squash)$', 'amend rewrite'),
    ('git', '^(commit|push|merge|rebase)\M', '^no-verify$', 'skiphooks'),
    ('git', '^commit\M', '^n$', 'skiphooks'),
    ('git', '^rebase\M', null, 'rebase rewrite'),
    ('git', '^(filter-branch|filter-repo|replace)\M', null, 'rewrite'),
    ('git', '^merge\M', null, 'merge'),
    ('git', '^merge\M', '^squash$', 'squash'),
    ('git', '^cherry-pick\M', null, 'cherrypick'),
    ('git', '^revert\M', null, 'revert'),
    ('git', '^reset\M', null, 'reset'),
    ('git', '^reset\M', '^hard$', 'discard hard rewrite delete'),
    ('git', '^clean\M', null, 'delete discard untracked'),
    ('git', '^(checkout|restore)\M', '^(--|worktree|w|f|force)$', 'discard'),
    ('git', '^(checkout|restore) \.', null, 'discard'),
    ('git', '^restore\M', null, 'discard'),
    ('git', '^(checkout|switch)\M', null, 'checkout'),
    ('git', '^(checkout|switch)\M', '^(b|B|c|C|create|orphan)$', 'create branch'),
    ('git', '^branch\M', '^(d|D|delete)$', 'delete branch'),
    ('git', '^branch [^ ]', null, 'create branch'),
    ('git', '^tag [^ ]', null, 'tag'),
    ('git', '^stash\M(?! (list|show|pop|apply))', null, 'stash'),
    ('git', '^stash (drop|clear)\M', null, 'delete discard'),
    ('git', '^add\M', null, 'stage'),
    ('git', '^add (\.|\*|-a)', null, 'everything'),
    ('git', '^(add|commit)\M', '^(A|all)$', 'everything'),
    ('git', '^commit\M', '^a$', 'everything'),
    ('git', '^pull\M', null, 'pull'),
    ('git', '^pull\M', '^rebase$', 'rebase'),
    ('git', '^submodule\M', null, 'submodule'),
    ('git', '^config\M', null, 'configure edit'),
    ('git', '^rm\M', null, 'delete'),
    ('git', '^mv\M', null, 'move'),
    ('git', '^(status|log|diff|show|blame|fetch|ls-files|rev-parse|describe|remote|grep)\M', null, 'read'),
    ('gh|glab', '^(pr|mr) merge\M', null, 'merge pr'),
    ('gh|glab', '^(pr|mr) create\M', null, 'create open pr'),
    ('gh|glab', '^(pr|mr|issue) close\M', null, 'close pr'),
    ('gh|glab', '^issue create\M', null, 'create issue'),
    ('gh|glab', '^(pr|mr|issue) (comment|review)\M', null, 'comment pr'),
    ('gh|glab', '^release (create|upload)\M', null, 'publish release'),
    ('gh|glab', '^(release|repo) delete\M', null, 'delete release repository'),
    ('gh|glab', '^(workflow|run) (run|rerun)\M', null, 'run ci'),
    ('gh|glab', '^secret\M', null, 'secret edit'),
    ('npm|pnpm|yarn|bun', '^(install|i|add|ci)\M', null, 'install add dependency'),
    ('yarn', '^$', null, 'install dependency'),
    ('npm|pnpm|yarn|bun', '^(uninstall|remove|rm|un)\M', null, 'uninstall delete dependency'),
    ('npm|pnpm|yarn|bun', '^(update|upgrade|up|outdated)\M', null, 'update dependency'),
    ('npm|pnpm|yarn|bun', '^audit fix\M', null, 'update dependency'),
    ('npm|pnpm|yarn|bun', '', '^(g|global)$', 'global'),
    ('npm|pnpm|yarn|bun', '', '^(f|force|legacy-peer-deps)$', 'force'),
    ('npm|pnpm|yarn|bun', '^(npm )?publish\M', null, 'publish release package registry'),
    ('npm|pnpm|yarn|bun', '^unpublish\M', null, 'unpublish delete package'),
    ('npm|pnpm|yarn|bun', '^version\M', null, 'release version'),
    ('npm|pnpm|yarn|bun', '^(test|t)\M', null, 'test run'),
    ('pip|pip3', '^install\M', null, 'install add dependency'),
    ('pip|pip3', '^uninstall\M', null, 'uninstall delete dependency'),
    ('pip|pip3', '^install\M', '^(U|upgrade)$', 'update'),
    ('pip|pip3', '^install\M', '^break-system-packages$', 'systempackage'),
    ('uv', '^(add|sync|pip install|tool install)\M', null, 'install add dependency'),
    ('uv', '^(remove|pip uninstall)\M', null, 'uninstall delete dependency'),
    ('uv|poetry|pdm', '^(lock|update)\M', null, 'update lockfile dependency'),
    ('uv|poetry|pdm|flit|hatch|twine', '^(publish|upload)\M', null, 'publish release package'),
    ('poetry|pdm|pipenv|conda|mamba', '^(add|install)\M', null, 'install add dependency'),
    ('poetry|pdm|pipenv|conda|mamba', '^(remove|uninstall)\M', null, 'uninstall delete dependency'),
    ('apt|apt-get|brew|dnf|yum|apk|pacman|zypper|choco|winget|snap|port', '^(install|add)\M', null, 'install add systempackage'),
    ('pacman', '', '^S', 'install systempackage'),
    ('apt|apt-get|brew|dnf|yum|apk|pacman|zypper|choco|winget|snap', '^(upgrade|update|dist-upgrade|full-upgrade)\M', null, 'update systempackage'),
    ('apt|apt-get|brew|dnf|yum|apk|pacman|zypper|choco|winget|snap', '^(remove|purge|uninstall|autoremove|del)\M', null, 'uninstall delete systempackage'),
    ('cargo', '^add\M', null, 'install add dependency'),
    ('cargo', '^install\M', null, 'install'),
    ('cargo', '^(rm|remove|uninstall)\M', null, 'uninstall delete dependency'),
    ('cargo', '^update\M', null, 'update dependency lockfile'),
    ('cargo', '^(publish|yank)\M', null, 'publish release package'),
    ('cargo', '^(test|nextest)\M', null, 'test run'),
    ('cargo', '^(build|b)\M', null, 'build'),
    ('cargo', '^(run|r)\M', null, 'run'),
    ('cargo', '^clean\M', null, 'delete build'),
    ('cargo', '^fix\M', null, 'edit'),
    ('cargo', '^clippy\M', null, 'lint'),
    ('cargo', '^fmt\M', null, 'format'),
    ('go', '^get\M', null, 'install add dependency update'),
    ('go', '^mod tidy\M', null, 'update dependency'),
    ('go', '^test\M', null, 'test run'),
    ('go', '^build\M', null, 'build'),
    ('go', '^fmt\M', null, 'format'),
    ('gem|bundle|composer', '^(install|add|require)\M', null, 'install add dependency'),
    ('gem|bundle|composer', '^update\M', null, 'update dependency'),
    ('gem', '^push\M', null, 'publish release package'),
    ('mvn|gradle|gradlew', '', null, 'build'),
    ('mvn|gradle|gradlew', '\mtest\M', null, 'test run'),
    ('mvn|gradle|gradlew', '\m(deploy|publish|release)\M', null, 'publish release deploy'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?down\M', null, 'stop container'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?down\M', '^(v|volumes)$', 'delete volume'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?(stop|kill|pause)\M', null, 'stop container'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?restart\M', null, 'restart container'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?(up|start|run|create)\M', null, 'start run container'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?(rm|container (rm|prune))\M', null, 'delete container'),
    ('docker|podman|docker-compose|podman-compose', '^(compose )?rm\M', '^(v|volumes)$', 'delete volume'),
    ('docker|podman', '^volume (rm|prune|remove)\M', null, 'delete volume'),
    ('docker|podman', '^system prune\M', null, 'delete container image cache'),
    ('docker|podman', '^system prune\M', '^volumes$', 'volume'),
    ('docker|podman', '^(rmi|image (rm|prune))\M', null, 'delete image'),
    ('docker|podman', '^builder prune\M', null, 'delete cache'),
    ('docker|podman', '^network (rm|prune)\M', null, 'delete network'),
    ('docker|podman|docker-compose', '^(compose |image )?push\M', null, 'push publish image'),
    ('docker|podman|docker-compose', '^(compose |buildx )?(build|bake)\M', null, 'build image'),
    ('docker|podman|docker-compose', '^(compose )?(build|pull)\M', null, 'image'),
    ('docker|podman|docker-compose', '^(compose )?exec\M', null, 'run container'),
    ('docker|podman|docker-compose', '^(compose )?(ps|logs|images|ls|inspect|stats|top|volume ls|image ls|network ls|volume inspect)\M', null, 'read'),
    ('kubectl|oc|k9s', '^(delete|drain|cordon)\M', null, 'delete resource'),
    ('kubectl|oc', '^(apply|create|replace|patch|set)\M', null, 'apply deploy edit resource'),
    ('kubectl|oc', '^edit\M', null, 'edit resource'),
    ('kubectl|oc', '^scale\M', null, 'scale edit resource'),
    ('kubectl|oc', '^rollout (restart|undo)\M', null, 'restart deploy'),
    ('kubectl|oc', '^exec\M', null, 'run container'),
    ('kubectl|oc', '^(get|describe|logs|top|diff)\M', null, 'read'),
    ('kubectl|oc', '^(delete) (ns|namespace)s?\M', null, 'namespace'),
    ('kubectl|oc|helm', '', '^(n|namespace)$', 'namespace'),
    ('aws|gsutil|gcloud|az|rclone|s3cmd|mc', '^(s3 |storage |blob )?(cp|mv|sync|copy|put|upload|rsync)\M', null, 'copy send'),
    ('helm|helmfile', '^(upgrade|install|apply|sync)\M', null, 'deploy apply'),
    ('helm|helmfile', '^(uninstall|delete|destroy)\M', null, 'delete uninstall'),
    ('helm', '^rollback\M', null, 'rollback deploy'),
    ('terraform|tofu|terragrunt|pulumi|cdk', '^(apply|up|deploy|run-all apply)\M', null, 'apply deploy'),
    ('terraform|tofu|terragrunt|pulumi|cdk', '^destroy\M', null, 'delete resource'),
    ('terraform|tofu|terragrunt', '^(import|state (rm|mv|push)|taint|force-unlock)\M', null, 'edit state'),
    ('terraform|tofu|terragrunt', '', '^(auto-approve|yes)$', 'unattended'),
    ('terraform|tofu|terragrunt', '^(plan|show|validate|fmt|output)\M', null, 'read'),
    ('ansible-playbook', '', null, 'run apply deploy'),
    ('ansible-playbook', '', '^(check|C)$', 'read dryrun'),
    ('vercel|netlify|now|surge|wrangler|firebase|fly|flyctl|heroku|serverless|sls|sam|eb|railway|render|gcloud|az|aws|amplify|skaffold|kamal|cap|dokku',
     '\m(deploy|release|publish|promote)\M', null, 'deploy'),
    ('vercel|now|heroku', '^$', null, 'deploy'),
    ('vercel|netlify|now|railway|amplify|wrangler|firebase', '', '^(prod|production|p)$', 'production'),
    ('vercel|netlify|now', '^$', '^prod$', 'deploy'),
    ('aws|gcloud|az|gsutil|heroku|fly|flyctl|doctl', '\m(delete|rm|rb|terminate|destroy|purge|remove)\M|:delete|:destroy|\m(delete|terminate)-', null, 'delete resource'),
    ('aws|gcloud|az|doctl', '\m(create|update|put|modify|set)\M|\m(create|put|update|modify|run)-', null, 'edit create resource'),
    ('aws|gsutil', '^s3\M|\m(rm|rb)\M', null, 'bucket'),
    ('psql|mysql|mariadb|sqlite3|duckdb|sqlcmd|mongosh|mongo|redis-cli|clickhouse-client|cqlsh', '', null, 'database query'),
    ('dropdb', '', null, 'delete database'),
    ('createdb', '', null, 'create database'),
    ('pg_restore|mysqlimport', '', null, 'restore database edit'),
    ('pg_dump|mysqldump', '', null, 'dump backup database read'),
    ('redis-cli', '\mflush(all|db)\M', null, 'delete'),
    ('alembic', '^(upgrade|downgrade|stamp)\M', null, 'migrate migration run database'),
    ('alembic', '^downgrade\M', null, 'rollback'),
    ('alembic', '^(revision|merge)\M', null, 'create migration'),
    ('manage.py|django-admin', '^(migrate|flush)\M', null, 'migrate migration run database'),
    ('manage.py|django-admin', '^(flush|reset_db|sqlflush)\M', null, 'delete database'),
    ('python', 'manage\.py (migrate)\M', null, 'migrate migration run database'),
    ('python', 'manage\.py (flush|reset_db)\M', null, 'delete database'),
    ('python', 'manage\.py test\M', null, 'test run'),
    ('rails|rake', '\mdb:(migrate|rollback)', null, 'migrate migration run database'),
    ('rails|rake', '\mdb:(drop|reset|purge|setup)|\mdb:schema:load', null, 'delete database migrate migration'),
    ('prisma', '^migrate (deploy|dev)|^db push', null, 'migrate migration run database'),
    ('prisma', '^migrate reset', null, 'delete database migrate migration'),
    ('drizzle-kit|knex|sequelize|typeorm|flyway|liquibase|dbmate|goose|atlas|diesel|sqlx|migrate', '\m(push|migrate|up|latest|migration:run|run|apply)\M|migrate:latest|db:migrate', null, 'migrate migration run database'),
    ('flyway|diesel|dbmate|sequelize', '\m(clean|drop|reset)\M|db:drop', null, 'delete database'),
    ('pytest|unittest|nose|tox|nox|jest|vitest|mocha|phpunit|rspec|ctest|cypress|playwright|behave|ava', '', null, 'test run'),
    ('eslint|ruff|flake8|pylint|mypy|tsc|clippy|shellcheck|biome|stylelint|golangci-lint|rubocop', '', null, 'lint check'),
    ('ruff', '^format\M', null, 'format'),
    ('prettier|black|isort|gofmt|rustfmt|autopep8|yapf|clang-format', '', null, 'format'),
    ('eslint|ruff|biome|rubocop', '', '^(fix|write|autocorrect|autocorrect-all)$', 'edit'),
    ('rubocop', '', '^[aA]$', 'edit autocorrect'),
    ('make|just|task|rake|npm|pnpm|yarn|bun|invoke|nx|turbo|gulp|grunt', '', null, 'run'),
    ('rm|unlink|shred|rmdir|trash|del', '', null, 'delete'),
    ('rm', '', '^(r|R|recursive)$', 'recursive'),
    ('rm', '', '^(f|force)$', 'force'),
    ('truncate|dd|mkfs|wipefs', '', null, 'delete write'),
    ('mv|rename', '', null, 'move edit'),
    ('cp|rsync|scp|install', '', null, 'copy'),
    ('rsync', '', '^delete$', 'delete'),
    ('tee|>|patch|dos2unix', '', null, 'edit write'),
    ('sed|perl', '', '^(i|in-place|pi|i\..*)$', 'edit write'),
    ('touch|mkdir|ln', '', null, 'create'),
    ('chmod|chown|chgrp', '', null, 'permission edit'),
    ('chmod', '^(-r )?777\M', null, 'open'),
    ('cat|less|more|head|tail|bat|view|open|xxd|strings|printenv|env|nl', '', null, 'read print open'),
    ('ls|find|grep|rg|ag|wc|stat|file|du|tree|diff|jq|awk|sort|uniq|cut|which|pwd|cd|echo|printf|date|ps', '', null, 'read'),
    ('find', '', '^delete$', 'delete'),
    ('kill|pkill|killall|taskkill', '', null, 'stop kill process'),
    ('systemctl|service|launchctl|supervisorctl|pm2', '\m(stop|disable|kill|delete)\M', null, 'stop service'),
    ('systemctl|service|launchctl|supervisorctl|pm2', '\mrestart\M', null, 'restart service'),
    ('systemctl|service|launchctl|supervisorctl|pm2', '\mreload\M', null, 'reload service'),
    ('systemctl|service|launchctl|supervisorctl|pm2', '\m(start|enable)\M', null, 'start service'),
    ('reboot|shutdown|halt|poweroff', '', null, 'restart stop machine'),
    ('curl|wget|http|httpie', '', null, 'download network request'),
    ('curl|http', '', '^(x|X|request|data|d|F)$', 'send'),
    ('ssh|telnet|mosh', '', null, 'connect network'),
    ('crontab|at', '', null, 'schedule edit'),
    ('iptables|ufw|firewall-cmd', '', null, 'firewall edit'),
    ('useradd|usermod|passwd|adduser|deluser', '', null, 'user edit'),
    ('nvim|vim|vi|nano|emacs|code', '', null, 'edit'),
    ('vault|aws-vault|op|gpg|openssl|security|pass|doppler|sops', '', null, 'secret'),
    ('*', '', '^(no-verify|husky=0|husky_skip_hooks=1)$', 'skiphooks'),
    ('*', '', '^(prod|production)$', 'production'),
    ('*', '', '^(dry-run|whatif|noop|just-print)$', 'read dryrun'),
    ('*', '', '^(insecure|no-check-certificate|no-verify-ssl|insecure-skip-tls-verify|skip-tls-verify|trusted-host|allow-insecure|tls-skip-verify|ssl-no-verify)$|tls_reject_unauthorized=0|ssl_no_verify=', 'insecure'),
    ('curl|http', '', '^k$', 'insecure'),
    ('git', 'sslverify[= ](false|0)', null, 'insecure'),
    ('npm|pnpm|yarn', 'strict-ssl[= ]false', null, 'insecure')
  ) f(program, sub, flag, concepts);
end;
comment on function pgmem.act_forms is $$
The effects of commands: the concepts of a program whose words and flags match.

program: Names of programs, separated by a bar; an asterisk: every program.
sub: A regular expression for the words after the program.
flag: A regular expression for one of its flags, without dashes; null: no flag is needed.
$$;


create or replace function pgmem.target_forms() returns table (of text, form text, concepts text)
language sql immutable
begin atomic
  -- words: as is below
  select f.of, f.form, f.concepts
  from (values
    ('ref', '^\+?(.*:)?(refs/heads/)?(main|master|trunk)$', 'main'),
    ('ref', '^\+?(.*:)?(refs/heads/)?(release|hotfix)([/-].*)?$', 'releasebranch'),
    ('ref', '^\+?(.*:)?(refs/heads/)?(develop|dev)$', 'develop'),
    ('arg', '(^|[^a-z])(prod|production|live)($|[^a-z])', 'production'),
    ('arg', '(^|[^a-z])(staging|stage|stg)($|[^a-z])', 'staging'),
    ('arg', '(^|[/@.-])(registry\.npmjs\.org|pypi\.org|crates\.io)', 'registry'),
    ('arg', '^(s3|gs|az)://', 'bucket'),
    ('arg', '^\$\{?\w*(password|passwd|secret|token|api_?key|credential)', 'envfile secret'),
    ('path', '(^|/)\.env(\.|$|rc)|(^|/)(secrets?|credentials?)(\.|/|$)|\.(pem|key|p12|pfx|kdbx)$|(^|/)id_(rsa|ed25519)|(^|/)\.(netrc|npmrc|pypirc|pgpass|aws)', 'envfile secret'),
    ('path', '(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|pdm\.lock|pipfile\.lock|cargo\.lock|gemfile\.lock|composer\.lock|go\.sum|flake\.lock)$', 'lockfile'),
    ('path', '(^|/)(migrations?|alembic/versions|db/migrate|versions)/|(^|/)v\d+__', 'migration'),
    ('path', '(^|/)(_*generated_*|gen|autogen|codegen|__generated__|autogenerated)(/|$)|\.(gen|generated|g|freezed|pb|designer)\.\w+$|_pb2(_grpc)?\.py$|\.pb\.go$', 'generated'),
    ('path', '(^|/)(vendor|vendored|third[_-]?party|node_modules|external|site-packages)(/|$)', 'vendor'),
    ('path', '(^|/)\.(github/(workflows|actions)|circleci|buildkite)(/|$)|\.gitlab-ci\.yml$|jenkinsfile$|azure-pipelines|bitbucket-pipelines', 'ci'),
    ('path', '(^|/)(dist|build|target|out|\.next|public/build)(/|$)|\.min\.(js|css)$', 'buildoutput'),
    ('path', '(^|/)(tests?|__tests__|spec|specs|e2e)/|[._](test|spec)\.\w+$|(^|/)test_[^/]*$|_test\.\w+$', 'testfile'),
    ('path', '(^|/)__snapshots__/|\.(snap|approved\.\w+|golden)$|(^|/)(golden|snapshots?|baselines?)/', 'snapshot'),
    ('path', '(^|/)(fixtures?|testdata)(/|$)', 'fixture'),
    ('path', '(^|/)(license|licence|copying|notice)(\.\w+)?$', 'license'),
    ('path', '(^|/)(changelog|changes|history|news)(\.\w+)?$', 'changelog'),
    ('path', '(^|/)readme(\.\w+)?$', 'readme'),
    ('path', '(^|/)docs?/|\.(md|rst|adoc)$', 'document'),
    ('path', '(^|/)(dockerfile|containerfile)(\.\w+)?$', 'dockerfile'),
    ('path', '(^|/)(docker-)?compose(\.\w+)?\.ya?ml$', 'composefile'),
    ('path', '(^|/)(package\.json|pyproject\.toml|cargo\.toml|go\.mod|gemfile|composer\.json|requirements[^/]*\.txt|setup\.(py|cfg)|pom\.xml|build\.gradle(\.kts)?)$', 'manifest'),
    ('path', '\.(proto|graphql|gql|avsc|xsd)$|(^|/)(openapi|swagger)[^/]*$|(^|/)schema\.(sql|prisma|rb|json)$', 'schema'),
    ('path', '\.ipynb$', 'notebook'),
    ('path', '\.(tf|tfvars)$', 'infrastructure'),
    ('path', '\.tfstate', 'state'),
    ('path', '(^|/)(locales?|i18n|translations?|lang)/|\.(po|pot|arb)$', 'translation'),
    ('path', '(^|/)\.git(/|$)', 'gitfolder'),
    ('path', '\.(csv|parquet|tsv|xlsx)$', 'datafile'),
    ('path', '(^|/)(claude|agents|gemini)\.md$|(^|/)\.cursor/rules|(^|/)\.claude/', 'agentfile'),
    ('path', '\.(ya?ml|toml|ini|cfg|conf)$|(^|/)config(/|\.|$)', 'config'),
    ('path', '^/(etc|usr|var|opt|boot|lib)/', 'systemfile'),
    ('path', '(^|/)backups?(/|\.|$)|\.(bak|dump)$', 'backup'),
    ('sql', '\mdrop\s+(table|materialized|view|index|column|database|schema|sequence|type|function)\M', 'delete'),
    ('sql', '\m(truncate)\M', 'delete table'),
    ('sql', '\mdelete\s+from\M', 'delete table row'),
    ('sql', '\mupdate\s+\S+\s+set\M', 'update edit table row'),
    ('sql', '\minsert\s+into\M|\mcopy\s+\S+\s+from\M', 'insert edit table row'),
    ('sql', '\malter\s+(table|type|role|database)\M', 'edit alter schema table'),
    ('sql', '\m(table)\M', 'table'),
    ('sql', '\m(database)\M', 'database'),
    ('sql', '\m(index)\M', 'index'),
    ('sql', '\m(column)\M', 'column'),
    ('sql', '\m(grant|revoke)\M', 'permission edit'),
    ('sql', '\mcreate\s+(table|index|view|database|role|user)\M', 'create'),
    ('sql', '^\s*(select|with|explain|show|\\d)', 'read')
  ) f(of, form, concepts);
end;
comment on function pgmem.target_forms is
  'The things that paths, branches, arguments and statements of SQL stand for, by regular expressions in lower case.';
