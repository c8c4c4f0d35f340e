"""The answer of a verb is declared once: a type with a comment on each attribute, which an upgrade may extend."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from pgmem import models
from pgmem.install import schema

LINE = "from_id uuid, rel_type text, to_id uuid, created boolean"


def edge_with(sql_folder: Path, attributes: str) -> None:
    chapter = sql_folder / "core" / "nodes" / "19-edges.sql"
    text = chapter.read_text(encoding="utf-8")
    assert LINE in text
    chapter.write_text(text.replace(LINE, attributes), encoding="utf-8")


def attributes_of(dsn: str, name: str) -> dict[str, str]:
    with psycopg.connect(dsn) as connection:
        return dict(
            connection.execute(
                "select attname, col_description(attrelid, attnum) from pg_attribute"
                " where attrelid = to_regclass('pgmem.' || %s) and attnum > 0 order by attnum",
                (name,),
            ).fetchall()
        )


def test_an_attribute_is_added_at_the_end_by_an_upgrade(dsn: str, sql_folder: Path) -> None:
    edge_with(sql_folder, f"{LINE}\nremark text?: What is to be said\n  about it.")
    schema.upgrade(dsn)
    found = attributes_of(dsn, "edge_answer")
    assert list(found) == [*(field.name for field in fields(models.Edge)), "remark"]
    assert found["remark"] == "text?: What is to be said about it."
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        connection.execute("select pgmem.save_session('begin', 'ferry')")
        for name in ("Ada", "Bo"):
            connection.execute("select pgmem.upsert_entity(%s, 'A person.', 'ferry')", (name,))
        made = connection.execute(
            "select * from pgmem.relate('EntityFact', 'Ada', 'RELATED_TO', 'EntityFact', 'Bo')"
        )
        assert made.fetchone()["remark"] is None  # type: ignore[index]


@pytest.mark.parametrize("attributes", [LINE.replace("rel_type text, ", ""), f"remark text, {LINE}"])
def test_an_attribute_is_neither_removed_nor_put_before_others(
    dsn: str, sql_folder: Path, attributes: str
) -> None:
    edge_with(sql_folder, attributes)
    with pytest.raises(psycopg.Error, match="attributes are added at the end, and none is removed"):
        schema.upgrade(dsn)
    assert list(attributes_of(dsn, "edge_answer")) == [field.name for field in fields(models.Edge)]


def test_what_is_like_another_answer_begins_with_its_attributes_and_may_say_more_of_one(dsn: str) -> None:
    file, edited = attributes_of(dsn, "memory_file"), attributes_of(dsn, "edited_file")
    assert list(edited) == [*file, "line"]
    assert (file["text"], edited["text"]) == ("text?", "text")


def test_every_class_of_an_answer_has_the_attributes_of_a_type() -> None:
    classes = [cls for cls in vars(models).values() if getattr(cls, "__module__", "") == "pgmem.answers"]
    assert len(classes) > 100
    assert all(fields(cls) for cls in classes)
