"""The facts of source files of other languages: definitions, symbols, and the imports and exports of scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem.features.cards import decisions, languages, measured, scan
from pgmem.features.cards.imports import Imports
from pgmem.features.cards.source import Source

TILLS: dict[str, str] = {
    "ts": "/** Pays. */\nexport const pay = () => 1\nexport class Till { open() {} }\n",
    "go": "package till\n\nfunc Pay() int { return 1 }\n",
    "rs": "pub fn pay() -> u8 { 1 }\n",
    "java": "package shop;\npublic class Till { int pay() { return 1; } }\n",
    "c": "int pay(void) { return 1; }\n",
    "cpp": "int Till::pay() { return 1; }\n",
    "cs": "namespace Shop { public class Till { public int Pay() { return 1; } } }\n",
    "rb": "class Till\n  def pay\n    1 # why\n  end\nend\n",
    "php": "<?php\nnamespace Shop;\nclass Till { function pay() { return 1; } }\n",
}


@pytest.mark.parametrize("suffix", list(TILLS))
def test_definitions_of_a_language_are_offered_and_have_digests(suffix: str) -> None:
    found = languages.read(suffix, TILLS[suffix].encode())
    assert {name.lower() for name in found.exports} & {"pay", "till"}
    assert any(name.lower().endswith("pay") for name in found.symbols)


def test_a_script_offers_only_what_it_exports(tmp_path: Path) -> None:
    (tmp_path / "till.ts").write_text(
        "import { Stock } from './stock.js'\nexport class Till {}\nconst hidden = 1\n", encoding="utf-8"
    )
    (tmp_path / "stock.ts").write_text("export interface Stock { n: number }\n", encoding="utf-8")
    till = next(one for one in scan(tmp_path)["modules"] if one["path"] == "till.ts")
    assert (till["imports"], till["exports"]) == (["stock.ts"], ["Till"])


def test_a_name_is_found_where_it_is_defined_through_files_that_pass_it_on() -> None:
    texts = {
        "src/index.ts": "export * from './all'\n",
        "src/all.ts": "export { pay as settle } from './till'\n",
        "src/till.ts": "export function pay() {}\n",
        "src/till.test.ts": "import { settle } from '.'\n",
    }
    sources = {path: languages.read("ts", text.encode()) for path, text in texts.items()}
    assert Imports(sources, {}, {}).used("src/till.test.ts") == {"src/till.ts": {"settle"}}


def test_comments_and_formatting_do_not_change_the_digest_of_a_symbol() -> None:
    plain = languages.read("ts", b"export function pay(a: number) { return a }\n")
    other = languages.read(
        "ts", b"// new\nexport function pay(\n  a: number,\n) {\n  // why\n  return a\n}\n"
    )
    changed = languages.read("ts", b"export function pay(a: number) { return -a }\n")
    assert plain.symbols == other.symbols
    assert plain.symbols != changed.symbols


def test_a_parsed_file_is_the_same_after_the_cache() -> None:
    source = languages.read("ts", TILLS["ts"].encode())
    assert Source.from_json(source.as_json()) == source


@pytest.mark.parametrize(
    ("text", "state", "by"),
    [
        (
            "# 7. Retry\n\n## Status\n\nAccepted\n\n## Decision\n\nRetries live in the transport.\n",
            "accepted",
            None,
        ),
        (
            "# Retry\n\n* Status: superseded by [ADR-9](0009-x.md)\n\n## Decision Outcome\n\nRetries live in the client.\n",
            "superseded",
            "9",
        ),
        ("# Retry\n\n## Status\n\nProposed\n\n## Decision\n\nRetries live nowhere.\n", "proposed", None),
    ],
)
def test_a_decision_record_keeps_its_decision_and_state(text: str, state: str, by: str | None) -> None:
    """An ADR became "names httpx._transports.default": the decision was lost."""
    found = decisions.decision("docs/adr/0007-retry.md", text)
    assert found is not None
    assert found.statement.startswith("Retry: Retries live")
    assert (found.state, found.superseded_by) == (state, by)


def test_rules_and_owners_are_read() -> None:
    assert decisions.rules(
        "CONTRIBUTING.md", "# Rules\n\n- You must add a test for each fix.\n- Be kind.\n"
    ) == [("You must add a test for each fix.", [])]
    text = "* @all\n/src/pay/ @till  # money\n*.md @docs\n/src/pay/log/ @log\n"
    owners = decisions.Owners(list(decisions.code_owners({"CODEOWNERS": text})))
    found = [
        owners.of(path) for path in ("src/pay/a.py", "src/pay/log/b.py", "src/pay/a.md", "docs/a.md", "a.py")
    ]
    assert found == [("@till",), ("@log",), ("@docs",), ("@docs",), ()]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        (
            "docs/contributing.md",
            "-   `tox r -e stress` runs stress tests\n    $ tox r -e py3.14\n",
            (2, "tox r -e py3.14"),
        ),
        ("docs/contributing.md", "Run `tox r -e stress` for races.\n", None),
        (
            ".github/workflows/tests.yaml",
            "- run: uv run --locked --group dev tox run\n",
            (0, "uv run --locked --group dev tox run"),
        ),
        (".github/workflows/ci.yml", "- run: bun run test:deno\n- run: bun run test\n", (0, "bun run test")),
        (".github/workflows/nightly.yaml", "- run: pytest -x slow\n", (3, "pytest -x slow")),
        ("package.json", '{"scripts": {"test": "vitest --run"}}', (1, "npm test")),
        ("web/package.json", '{"scripts": {"test": "vitest --run"}}', None),
        ("pyproject.toml", "[tool.tox]\n", (1, "tox")),
        ("Makefile", "test:\n\t$(BIN)/python -m pytest\n", (1, "make test")),
        ("README.md", "The latest test is green.\n", None),
    ],
)
def test_the_command_of_the_tests_is_that_of_the_repository_and_of_no_special_environment(
    path: str, text: str, found: tuple[int, str] | None
) -> None:
    assert decisions.runs(path, text) == found


def test_an_lcov_file_that_names_tests_says_which_lines_they_run(tmp_path: Path) -> None:
    (tmp_path / "lcov.info").write_text(
        "TN:tests/a.test.ts\nSF:src/a.ts\nDA:1,1\nDA:2,1\nend_of_record\n"
        "TN:tests/b.test.ts\nSF:src/a.ts\nDA:1,1\nDA:3,0\nend_of_record\n",
        encoding="utf-8",
    )
    assert measured.read(tmp_path) == {"src/a.ts": {"tests/a.test.ts": 1.0, "tests/b.test.ts": 0.5}}
