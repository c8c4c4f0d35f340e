"""What source files of other languages say: imports that are resolved to files, what is public, symbols."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem.cards import decisions, languages, measured, scan
from pgmem.cards.imports import Imports
from pgmem.cards.source import Source

TREES: dict[str, dict[str, str]] = {
    "ts": {
        "src/till.ts": "import { Stock } from './stock'\n/** Pays. */\nexport const pay = () => 1\nexport class Till { open() {} }\n",
        "src/stock.ts": "export interface Stock { n: number }\n",
    },
    "go": {
        "till/till.go": 'package till\n\nimport "example.com/shop/stock"\n\nfunc Pay() int { return stock.N }\nfunc hidden() {}\n',
        "stock/stock.go": "package stock\n\nvar N = 1\n",
        "go.mod": "module example.com/shop\n",
    },
    "rs": {
        "src/till.rs": "use crate::stock::{Stock, count};\npub fn pay() -> u8 { 1 }\nfn hidden() {}\n",
        "src/stock.rs": "pub struct Stock;\npub fn count() {}\n",
    },
    "java": {
        "src/main/java/shop/Till.java": "package shop;\nimport shop.goods.Stock;\npublic class Till { int pay() { return 1; } }\n",
        "src/main/java/shop/goods/Stock.java": "package shop.goods;\npublic class Stock {}\n",
    },
    "c": {
        "src/till.c": '#include "stock.h"\nint pay(void) { return 1; }\nstatic int hidden(void) { return 0; }\n',
        "src/stock.h": "int count(void);\n",
    },
    "cs": {
        "Till.cs": "using Shop.Goods;\nnamespace Shop { public class Till { public int Pay() { return 1; } } }\n",
        "Stock.cs": "namespace Shop.Goods { public class Stock {} }\n",
    },
    "rb": {
        "lib/till.rb": "require_relative 'stock'\nclass Till\n  def pay\n    1 # why\n  end\nend\n",
        "lib/stock.rb": "class Stock\nend\n",
    },
    "php": {
        "src/Till.php": "<?php\nnamespace Shop;\nuse Shop\\Goods\\Stock;\nclass Till { function pay() { return 1; } }\n",
        "src/Goods/Stock.php": "<?php\nnamespace Shop\\Goods;\nclass Stock {}\n",
    },
}


@pytest.mark.parametrize("suffix", list(TREES))
def test_imports_and_public_names_of_a_language(suffix: str, tmp_path: Path) -> None:
    for name, text in TREES[suffix].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    till = next(one for one in scan(tmp_path)["modules"] if "till" in one["path"].lower())
    assert [path.rpartition("/")[2].partition(".")[0].lower() for path in till["imports"]] == ["stock"]
    assert {name.lower() for name in till["exports"]} & {"pay", "till"}
    assert "hidden" not in till["exports"]
    assert any(name.lower().endswith("pay") for name in till["symbols"])


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
    source = languages.read("ts", TREES["ts"]["src/till.ts"].encode())
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


def test_an_lcov_file_that_names_tests_says_which_lines_they_run(tmp_path: Path) -> None:
    (tmp_path / "lcov.info").write_text(
        "TN:tests/a.test.ts\nSF:src/a.ts\nDA:1,1\nDA:2,1\nend_of_record\n"
        "TN:tests/b.test.ts\nSF:src/a.ts\nDA:1,1\nDA:3,0\nend_of_record\n",
        encoding="utf-8",
    )
    assert measured.read(tmp_path) == {"src/a.ts": {"tests/a.test.ts": 1.0, "tests/b.test.ts": 0.5}}
