"""The effect of a line of a shell, and the rules that concern it: pairs in many wordings, and in five languages."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.rows import DictRow

Rows = psycopg.Connection[DictRow]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "cd a && FOO=1 sudo -u x pnpm publish --access public",
            [("cd", ["a"]), ("pnpm", ["publish", "public"])],
        ),
        ('git commit -am "push it; rm -rf /"', [("git", ["commit"])]),
        ("kubectl --context prod delete pod a", [("kubectl", ["delete", "pod", "a"])]),
        ("uv run python -m pytest -q", [("pytest", [])]),
        ('bash -c "git push -f origin main"', [("git", ["push", "origin", "main"]), ("bash", [])]),
        ("ssh box 'rm -rf /srv/x'", [("rm", ["/srv/x"]), ("ssh", [])]),
        ("cat <<EOF > a.txt\nrm -rf /\nEOF\n", [("cat", [])]),
        ("grep -rn 'git push' src", [("grep", ["", "src"])]),
        ("echo hi > .env", [("echo", [])]),
        ("# git push\nls", [("ls", [])]),
        ("", []),
        ("'", []),
        ("a && || ; | (", [("a", [])]),
    ],
)
def test_a_line_is_taken_apart_into_simple_commands(
    connection: Rows, line: str, expected: list[tuple[str, list[str]]]
) -> None:
    found = connection.execute("select program, words from pgmem.simple_commands(%s)", (line,)).fetchall()
    assert [(row["program"], row["words"]) for row in found] == expected


def test_a_file_that_a_line_writes_is_one_that_it_changes(connection: Rows) -> None:
    row = connection.execute("select concepts, paths from pgmem.acts_of('Bash', 'echo x > .env')").fetchone()
    assert row is not None
    assert "envfile" in row["concepts"]
    assert row["paths"] == [".env"]


MEETS = [
    ("Never force push", "git push -f"),
    ("Never push to main.", "git push origin HEAD:main"),
    ("NEVER commit unless explicitly asked to.", "git commit -m x"),
    ("Don't use npm or yarn here, we're on bun.", "yarn add react"),
    ("Package manager is pnpm", "npm ci"),
    ("Never run the full test suite locally.", "npm test"),
    ("No usar `docker compose down -v`.", "docker compose down -v"),
    ("No editar migraciones ya aplicadas.", "@supabase/migrations/0001_init.sql"),
    ("Do not edit generated files: `src/routeTree.gen.ts`.", "@src/routeTree.gen.ts"),
    ("Never run migrations, a human applies them.", "npx prisma migrate deploy"),
    ("Never `git add -A`, stage files by name.", "git add -A"),
    ("Never amend an existing commit.", "git commit --amend"),
    ("Agents must not open pull requests.", "gh pr create --fill"),
    ("Never install packages globally.", "npm install -g typescript"),
    ("We don't rewrite published history.", "git rebase -i HEAD~3"),
    ("Do not use sudo.", "sudo rm -rf /x"),
    ("Always run make lint before you commit.", "git commit -m x"),
    ("Run tests before pushing.", "git push"),
    ("Kein force-push, nirgends.", "git push --force"),
    ("Vor jedem Commit die Tests laufen lassen.", "git commit -m x"),
    ("Ne modifie jamais les fichiers de migration.", "@db/migrate/001_x.rb"),
    ("不要直接推送到主分支", "git push origin main"),
    ("The vendor directory is off limits.", "@vendor/lib/x.go"),
    ("Leave package-lock.json alone.", "@package-lock.json"),
    ("Lock files are written by tools, never by hand.", "@yarn.lock"),
    ("Hands off the CI workflows.", "@.github/workflows/ci.yml"),
    ("Never print secrets or the contents of .env", "cat .env"),
    ("Use rg, not grep.", "grep -rn foo src"),
    ("Never drop tables in production.", "psql -h prod1 -c 'DROP TABLE orders'"),
    ("Deployments to prod need a second pair of eyes: ask first.", "kubectl --context prod apply -f x.yaml"),
    ("Squash when merging, never create merge commits.", "git merge feature/x"),
    ("Never skip CI hooks with --no-verify.", "git commit --no-verify -m x"),
    ("Don't bump dependencies on your own.", "npm update"),
    ("Terraform is applied by the pipeline only; locally you may plan.", "terraform apply"),
    ("Don't disable TLS verification, not even for a test.", "curl -k https://a.test"),
    ("Do not use sudo on the build machine.", "sudo apt-get install -y jq"),
    ("Don't run the game with administrator rights.", "sudo ./game"),
    ("Stashes get lost here: commit on a branch instead of stashing.", "git stash push -m wip"),
    ("Don't upgrade numpy; the compiled extension breaks.", "pip install --upgrade numpy"),
    ("Dropping tables on the warehouse is for Ines alone.", "psql warehouse -c 'drop table sales'"),
    ("Only the nightly job restarts the scheduler.", "systemctl restart scheduler"),
    ("No new dependency without a word from Sam.", "pip install celery"),
    ("Prefer ripgrep to grep.", "grep -rn x src"),
    ("The audit table is append-only: no updates, no deletes.", "psql c -c 'delete from audit'"),
    ("Patient data never leaves this machine: no copying to the cloud.", "aws s3 cp p.csv s3://x/"),
    ("Always build images with --platform linux/amd64.", "docker build -t api ."),
    ("kubectl apply goes to staging only.", "kubectl --context prod apply -f k8s/"),
    ("Credentials stay unread.", "cat .env"),
    ("Three people work on develop, so don't rebase it.", "git checkout develop && git rebase main"),
    ("Pull requests are merged by reviewers, not by agents.", "gh pr merge 118"),
    ("When you copy to the archive with rsync, leave out --delete.", "rsync -a --delete data/ archive:/srv/"),
    ("Staging may be reset, production must not.", "psql \"$PRODUCTION_URL\" -c 'drop table x'"),
    ("Tokens are not printed, so no echo of API_TOKEN.", "echo $API_TOKEN"),
    ("We squash when we merge.", "gh pr merge 42 --merge"),
]
FOREIGN = [
    ("Never force push", "git push"),
    ("Never push to main.", "git push origin dev"),
    ("NEVER commit unless explicitly asked to.", "git status"),
    ("Don't use npm or yarn here, we're on bun.", "bun add react"),
    ("Never run the full test suite locally.", "pytest tests/test_a.py::test_b"),
    ("No usar `docker compose down -v`.", "docker compose down"),
    ("No editar migraciones ya aplicadas.", "@src/app.ts"),
    ("Never `git add -A`, stage files by name.", "git add src/a.py"),
    ("Never install packages globally.", "npm install typescript"),
    ("Always run make lint before you commit.", "make lint"),
    ("不要直接推送到主分支", "git push origin dev"),
    ("Never drop tables in production.", "psql -d dev -c 'DROP TABLE orders'"),
    ("Never skip CI hooks with --no-verify.", "git commit -m x"),
    ("Prefer small commits.", "git commit -m x"),
    ("Send push notifications only through Firebase.", "git push"),
    ("The press must never be forced.", "git push --force"),
    ("Never commit to dates in mails to customers.", "git commit -m x"),
    ("Never delete customer mails.", "rm -rf build"),
    ("We publish the newsletter on Mondays only.", "npm publish"),
    ("Drop shipping is not offered.", "psql -c 'drop table x'"),
    ("Main meals are never before noon.", "git push origin main"),
    ("The test kitchen is closed, never book it.", "pytest"),
    ("Merge fields in letters are never empty.", "git merge x"),
    ("Always write tests for new code.", "@src/new.py"),
    ("Install the fridge before the party.", "npm install"),
    ("Release notes are written in the past tense, never in the future.", "gh release create v1"),
    ("Never stop the line.", "docker stop web"),
    ("Do not amend commits.", "git commit -m x"),
    ("Releases are tagged by Mara; do not create tags.", "git tag --list 'v2.*'"),
    ("Yarn is retired; bun installs the packages.", "bun add zod"),
    ("Stashes get lost here: commit on a branch instead of stashing.", "git commit -m x"),
    ("Prefer ripgrep to grep.", "rg x src"),
    ("The audit table is append-only: no updates, no deletes.", "psql c -c 'update room set n = 4'"),
    ("Always build images with --platform linux/amd64.", "docker build --platform linux/amd64 -t api ."),
    ("kubectl apply goes to staging only.", "kubectl --context staging apply -f k8s/"),
    ("Three people work on develop, so don't rebase it.", "git checkout x && git rebase main"),
    ("Never use terraform destroy without a target.", "terraform destroy -target=aws_instance.x"),
    ("Do not restart nginx, reload it.", "systemctl reload nginx"),
    ("Before you push, run make lint.", "make lint && git push"),
    ("When you copy to the archive with rsync, leave out --delete.", "rsync -a data/ archive:/srv/"),
    ("Cassettes are recorded with make cassettes.", "make cassettes"),
    ("We squash when we merge.", "gh pr merge 42 --squash"),
]


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        ("No `any` in TypeScript.", "const x: any[] = [];", True),
        ("No `any` in TypeScript.", "// any number of them\nconst x: Photo[] = [];", False),
        ("No `any` in TypeScript.", "const many = 1;", False),
        ("Use `unknown`, never `any`.", "const x: unknown = 1;", False),
        ("Use `unknown`, never `any`.", "const x: any = 1;", True),
        ("Never leave `console.log` in.", "console.log(1)", True),
    ],
)
def test_code_that_a_rule_names_between_backticks_is_looked_for_in_an_edit(
    connection: Rows, text: str, content: str, found: bool
) -> None:
    row = connection.execute("select pgmem.forbids_code(%s, %s) as found", (text, content)).fetchone()
    assert row == {"found": found}


def test_who_may_and_reports_of_the_past_are_told_apart(connection: Rows) -> None:
    reads = "select max(pgmem.rule_meets(r.words, r.concepts, r.kinds, false, a.program, a.words, a.flags,"
    reads += " a.concepts, a.names, a.paths)) as meets from pgmem.read_rules(array[1]::bigint[], array[%s]) r"
    reads += " cross join pgmem.acts_of('Bash', 'git push origin main') a"
    rows = [
        (connection.execute(reads, (text,)).fetchone() or {}).get("meets")
        for text in (
            "Nobody pushes straight to main; open a pull request.",
            "Nobody pushed to main last week.",
        )
    ]
    assert rows == [2, 0]


def meets(connection: Rows, rule: str, act: str) -> int:
    command, path = (None, act[1:]) if act.startswith("@") else (act, None)
    row = connection.execute(
        "select max(pgmem.rule_meets(r.words, r.concepts, r.kinds, true, a.program, a.words, a.flags, a.concepts,"
        " a.names, a.paths, a.before)) as meets from pgmem.read_rules(array[1]::bigint[], array[%s]) r"
        " cross join pgmem.acts_of(%s, %s, %s, null, true) a",
        (rule, "Bash" if command else "Edit", command, path),
    ).fetchone()
    assert row is not None
    return row["meets"] or 0


def test_rules_in_many_wordings_meet_the_acts_that_they_are_about(connection: Rows) -> None:
    assert [(rule, act) for rule, act in MEETS if meets(connection, rule, act) == 0] == []


def test_rules_about_something_else_do_not(connection: Rows) -> None:
    assert [(rule, act) for rule, act in FOREIGN if meets(connection, rule, act) > 0] == []


def test_a_rule_is_found_by_an_act_that_shares_no_word_with_it(connection: Rows) -> None:
    connection.execute("set local pgmem.source = 'cli'")
    connection.execute("select pgmem.save_session(p_objective => 'begin', p_project_id => 'shop')")
    connection.execute("select pgmem.save_context(p_content => %s, p_project_id => 'shop')", (MEETS[14][0],))
    row = connection.execute(
        "select matches from pgmem.memory_for_act('Bash', 'git commit --amend', p_project_id => 'shop')"
    ).fetchone()
    assert row is not None
    assert [match["forbids"] for match in row["matches"]] == [True]
