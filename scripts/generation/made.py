"""sql/made.sql: the functions that chapters make of declarations, as a file that is searched and compared."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg

__all__ = ["made"]

SQL = Path(__file__).parent.parent.parent / "sql"
SPELLED_OUT = re.compile(r"(?<!format\(\$sql\$)\ncreate or replace function pgmem\.(\w+)\(")

HEAD = """\
-- Functions that chapters make
--
-- Written by scripts/generate; do not edit, and no install runs it. It shows the functions that the chapters write with
-- format: of each declared kind of memory its save verb and its constructor, of all of them store and what an approval
-- compares (25-kinds), constants of the registry of labels, and the rows that a view reads (90-views). Left out are the
-- triggers of the graph (91-projection), which a server without AGE has not.
"""

_MADE = """
select pg_get_functiondef(p.oid), split_part(btrim(obj_description(p.oid, 'pg_proc'), e'\\n'), e'\\n', 1)
from pg_proc p
where p.pronamespace = 'pgmem'::regnamespace and p.prokind = 'f' and p.proname <> all (%s)
  and p.prorettype <> 'trigger'::regtype and p.proname <> 'label_number'
order by p.proname
"""


def made(connection: psycopg.Connection[tuple[str, str | None]]) -> str:
    """Return the definitions of the functions that no chapter spells out, in the order of their names."""
    chapters = (path.read_text(encoding="utf-8") for path in SQL.rglob("[0-9][0-9]-*.sql"))
    spelled_out = sorted({name for text in chapters for name in SPELLED_OUT.findall(text)})
    parts = [HEAD]
    for definition, comment in connection.execute(_MADE, (spelled_out,)):
        text = "\n".join(line.rstrip() for line in definition.strip().splitlines())
        lowered = text.replace("CREATE OR REPLACE FUNCTION", "create or replace function", 1)
        parts += ["\n\n", f"-- {comment}\n" if comment else "", lowered, ";\n"]
    return "".join(parts)
