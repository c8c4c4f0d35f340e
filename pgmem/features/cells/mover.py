"""The move of an organisation to another cell while it saves.

The phases are rows of `front.move`, so that whoever calls again goes on where the last one ended, however it ended:

    copying   its rows are copied, again and again, until a pass copies few
    frozen    its writes wait; the last rows are copied, until a pass finds both cells equal
    gone      its cell refuses it; a move that came this far cannot be taken back
    flipped   the other cell has it, and the directory names it
    done      its rows are deleted where it was

Rows move as they are, with their numbers. A pass compares the rows of both cells by their hashes, table by table,
deletes rows that only the target has and copies the missing ones; the same pass copies first, catches up, and
proves equality.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from pgmem.database.identity import AS_TEXT
from pgmem.errors import Busy, InvalidArgument, PgmemError
from pgmem.features.cells.directory import (
    RESIDENTS,
    Cell,
    Connection,
    Directory,
    Progress,
    connect,
    differences,
    one,
    profile,
)

__all__ = ["Moved", "drain", "move", "place", "publish", "undo"]

_FEW, _SHORT_S = 500, 0.5  # a pass that copies fewer rows, or is faster, is followed by the freeze
_PASSES, _DRAIN_S = 20, 20.0
_MUST_AGREE = ("digest", "labels", "relations", "models", "global_scope", "secret")


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move.

    Attributes:
        org_id: the organisation.
        from_cell: where it was.
        to_cell: where it is.
        phase: done, or undone.
        rows: how many rows were copied since this call began.
        paused_s: seconds that its writes waited; None if they did not in this call.
    """

    org_id: str
    from_cell: int
    to_cell: int
    phase: str
    rows: int = 0
    paused_s: float | None = None


def move(directory: Directory, org_id: str, to: Cell, progress: Progress) -> Moved:
    """Move an organisation, or go on with its move.

    Raises:
        InvalidArgument: it is there already, or another move of it is unfinished; or the cells differ.
        Busy: another process moves it.
        DatabaseUnavailable: a cell does not answer; the same call goes on later.
    """
    if not org_id:
        raise InvalidArgument("Name the organisation to move.")
    if "\x1f" in org_id:  # the key by which the front routes a user
        raise InvalidArgument("A user without an organisation stays in its cell.")
    with _alone(directory, org_id):
        found = _unfinished(directory, org_id)
        if found is not None and found["to_cell"] != to.number:
            raise InvalidArgument(
                f"{org_id} is moving to cell {found['to_cell']}: go on with that, or undo it (--undo) first."
            )
        if found is None:
            found = _begin(directory, org_id, to)
        with _Move(directory, org_id, found, progress) as moving:
            return moving.run()


def undo(directory: Directory, org_id: str, progress: Progress) -> Moved:
    """Give up the move of an organisation, which stays where it was.

    Raises:
        InvalidArgument: no move of it is unfinished, or it has passed the point of no return.
        Busy: another process moves it.
    """
    with _alone(directory, org_id):
        found = _unfinished(directory, org_id)
        if found is None:
            raise InvalidArgument(f"No move of {org_id} is unfinished.")
        if found["phase"] not in ("copying", "frozen"):
            raise InvalidArgument(
                f"{org_id} is in cell {found['to_cell']} already: go on with its move instead."
            )
        with _Move(directory, org_id, found, progress) as moving:
            return moving.undo()


def place(directory: Directory, org_id: str, to: Cell) -> Moved:
    """Choose the cell of an organisation before it has saved anything.

    Raises:
        InvalidArgument: it has rows already.
    """
    home = directory.where(org_id)
    for state in directory.cells():
        with state.connect() as there:
            if one(there, _HELD, (org_id,))["held"]:
                raise InvalidArgument(f"{org_id} has memories in cell {state.number}: use pgmem cells move.")
    # As a move of nothing, so that a first save at the same moment is moved and not left behind.
    return (
        move(directory, org_id, to, lambda _: None)
        if home.cell != to.number
        else _stays(directory, org_id, to)
    )


def _stays(directory: Directory, org_id: str, cell: Cell) -> Moved:
    directory.connection.execute(
        "insert into front.place (org_id, cell) values (%s, %s) on conflict do nothing", (org_id, cell.number)
    )
    return Moved(org_id, cell.number, cell.number, "done")


_HELD: LiteralString = f"select exists ({RESIDENTS} and org_id = %s) as held"


def drain(directory: Directory, cell: Cell, progress: Progress) -> Iterator[Moved]:
    """Move all organisations of a cell to the others, the one with the fewest first; new ones do not come to it.

    Raises:
        InvalidArgument: no other cell takes new organisations.
    """
    directory.take_new(cell, takes=False)
    for found in directory.moves():
        if found["from_cell"] == cell.number:
            yield move(directory, found["org_id"], directory.cell(found["to_cell"]), progress)
    while True:
        with cell.connect() as there:
            held = there.execute(RESIDENTS).fetchall()
        left = [row["org_id"] for row in held if not row["org_id"].startswith("\x1f")]
        if not left:
            break
        open_cells = [
            state for state in directory.states() if state.up and directory.cell(state.number).takes_new
        ]
        emptiest = min(open_cells, key=lambda state: state.memories)
        progress(f"{left[0]}: to cell {emptiest.number}, {len(left) - 1} left")
        yield move(directory, left[0], directory.cell(emptiest.number), progress)
    if alone := [row["org_id"][1:] for row in held]:
        raise InvalidArgument(
            f"Users without an organisation stay in cell {cell.number}: {', '.join(alone[:5])}."
        )


def publish(directory: Directory, home: Cell, progress: Progress) -> dict[int, int]:
    """Copy the public memories of a cell to every other, as they are; by cell, how many rows were copied or deleted."""
    done = {}
    for cell in directory.cells():
        if cell.number == home.number:
            continue
        with home.connect() as ours, cell.connect() as theirs:
            _require_alike(ours, theirs, home, cell)
            done[cell.number] = 0
            for _ in range(_PASSES):
                changed = _Pass(ours, theirs, "").run()
                done[cell.number] += changed
                if not changed:
                    break
            theirs.execute("select pgmem.refresh_statistics()")
        progress(f"cell {cell.number}: {done[cell.number]} rows")
    return done


@contextmanager
def _alone(directory: Directory, org_id: str) -> Iterator[None]:
    """Hold an organisation against other movers until the end of the process: a row that is never committed."""
    with connect(directory.connection.info.dsn, "The front", autocommit=False) as holder:
        holder.execute("set local lock_timeout = '500ms'; set local idle_in_transaction_session_timeout = 0")
        try:
            holder.execute("insert into front.mover (org_id) values (%s)", (org_id,))
        except psycopg.errors.LockNotAvailable:
            holder.rollback()
            raise Busy(f"Another process is moving {org_id}.") from None
        try:
            yield
        finally:
            if not holder.closed:
                holder.rollback()


def _unfinished(directory: Directory, org_id: str) -> dict[str, Any] | None:
    return next((found for found in directory.moves() if found["org_id"] == org_id), None)


def _begin(directory: Directory, org_id: str, to: Cell) -> dict[str, Any]:
    home = directory.where(org_id)
    if home.cell == to.number:
        raise InvalidArgument(f"{org_id} is in cell {to.number} already.")
    here = directory.cell(home.cell)
    with here.connect() as ours, to.connect() as theirs:
        _require_alike(ours, theirs, here, to)
    with directory.connection.transaction():
        row = one(
            directory.connection,
            "insert into front.place (org_id, cell) values (%s, %s)"
            " on conflict (org_id) do update set version = front.place.version + 1 returning version",
            (org_id, here.number),
        )
        return one(
            directory.connection,
            "insert into front.move (org_id, from_cell, to_cell, phase, version) values (%s, %s, %s, 'copying', %s)"
            " on conflict (org_id) do update set from_cell = excluded.from_cell, to_cell = excluded.to_cell,"
            " phase = excluded.phase, version = excluded.version, begun_at = now(), at = now() returning *",
            (org_id, here.number, to.number, row["version"]),
        )


def _require_alike(ours: Connection, theirs: Connection, here: Cell, there: Cell) -> None:
    if wrong := differences(profile(ours), profile(theirs), _MUST_AGREE):
        raise InvalidArgument(f"Cells {here.number} and {there.number} differ in {'; '.join(wrong)}.")


class _Move:
    """A move that is under way; `run` goes on from its phase.

    Each line of progress is reached after the work that it names is committed.
    """

    def __init__(self, directory: Directory, org_id: str, found: dict[str, Any], progress: Progress) -> None:
        self.front, self.org, self.progress = directory.connection, org_id, progress
        self.phase, self.version = found["phase"], found["version"]
        self.here, self.there = directory.cell(found["from_cell"]), directory.cell(found["to_cell"])
        self.rows, self.frozen_at, self.paused = 0, None, None  # type: int, float | None, float | None

    def __enter__(self) -> _Move:
        self.source = self.here.connect()
        self.target = self.there.connect()
        return self

    def __exit__(self, *error: object) -> None:
        self.source.close()
        self.target.close()

    def run(self) -> Moved:
        if self.phase == "copying":
            self._copy()
        if self.phase == "frozen":
            self._freeze()
        if self.phase == "gone":
            self._open()
        if self.phase == "flipped":
            self._clear()
        return self._moved("done")

    def undo(self) -> Moved:
        with self.target.transaction():
            # Only rows that this move brought: the gate is its own, and no one else has written behind it.
            if self._gate_of(self.target) == "arriving":
                self.target.execute("select pgmem.remove_moved(%s)", (self.org,))
                self._gate(self.target, None)
        if self._gate_of(self.source) is not None:
            self._gate(self.source, None)
        with self.front.transaction():
            self.front.execute("update front.place set state = 'here' where org_id = %s", (self.org,))
            self._note("undone")
        self.progress("undone")
        return self._moved("undone")

    def _moved(self, phase: str) -> Moved:
        return Moved(self.org, self.here.number, self.there.number, phase, self.rows, self.paused)

    def _note(self, phase: str) -> None:
        self.front.execute(
            "update front.move set phase = %s, at = now() where org_id = %s", (phase, self.org)
        )
        self.phase = phase

    def _gate(self, cell: Connection, state: str | None) -> int:
        row = one(cell, "select pgmem.set_away(%s, %s, %s) as transaction", (self.org, state, self.version))
        return int(row["transaction"])

    def _gate_of(self, cell: Connection) -> str | None:
        row = cell.execute("select state from pgmem.away where org_id = %s", (self.org,)).fetchone()
        return None if row is None else str(row["state"])

    def _copy(self) -> None:
        self._gate(self.target, "arriving")
        self.progress("copying")
        for number in range(1, _PASSES):
            began = time.monotonic()
            changed = _Pass(self.source, self.target, self.org).run()
            took = time.monotonic() - began
            self.rows += changed
            self.progress(f"pass {number}: {changed} rows in {took:.1f} s")
            if changed < _FEW or took < _SHORT_S:
                break
        self.progress(f"freezing: its writes wait about {2 * took:.1f} s")
        self._note("frozen")

    def _freeze(self) -> None:
        self.frozen_at = time.monotonic()
        self.front.execute("update front.place set state = 'moving' where org_id = %s", (self.org,))
        self.progress("moving")
        self._drain(self._gate(self.source, "leaving"))
        self.progress("drained")
        for _ in range(_PASSES):
            changed = _Pass(self.source, self.target, self.org).run()
            self.rows += changed
            if not changed:
                break
        else:
            raise PgmemError(f"The cells do not become equal: run the move of {self.org} again, or undo it.")
        self.target.execute("select pgmem.forget_counts(%s)", (self.org,))
        self.progress("equal")
        self._gate(self.source, "gone")
        self.progress("closed")
        self._note("gone")

    def _drain(self, transaction: int) -> None:
        """Wait for every statement that may not have seen the gate; one that goes on and on ends the freeze."""
        self.progress("leaving")
        deadline = time.monotonic() + _DRAIN_S
        while not one(self.source, "select pgmem.is_drained(%s) as drained", (transaction,))["drained"]:
            if time.monotonic() > deadline:
                self._gate(self.source, None)
                with self.front.transaction():
                    self.front.execute("update front.place set state = 'here' where org_id = %s", (self.org,))
                    self._note("copying")
                raise Busy(
                    f"A transaction in cell {self.here.number} does not end, so that {self.org} cannot leave it:"
                    " end it (pg_stat_activity), then run the move again."
                )
            time.sleep(0.005)

    def _open(self) -> None:
        self._gate(self.target, None)
        self.progress("opened")
        with self.front.transaction():
            self.front.execute(
                "update front.place set cell = %s, state = 'here', version = version + 1 where org_id = %s",
                (self.there.number, self.org),
            )
            self._note("flipped")
        if self.frozen_at is not None:
            self.paused = round(time.monotonic() - self.frozen_at, 3)
        self.progress("flipped")

    def _clear(self) -> None:
        self.target.execute("select pgmem.refresh_statistics()")
        with self.source.transaction():
            self.source.execute("select pgmem.remove_moved(%s)", (self.org,))
        self.progress("cleared")
        self._note("done")


class _Pass:
    """One comparison of the rows of an organisation in two cells, and the copy of the differing ones."""

    def __init__(self, source: Connection, target: Connection, org_id: str) -> None:
        self.source, self.target, self.org = source, target, org_id

    def run(self) -> int:
        """Return how many rows were deleted and copied: 0 if both cells were equal.

        A worker of the target may write the same vector at the same moment; then the pass is made again.
        """
        for left in reversed(range(5)):
            try:
                with self.source.transaction(), self.target.transaction():
                    self.source.execute("set transaction isolation level repeatable read")
                    for cell in (self.source, self.target):
                        cell.execute(f"{AS_TEXT}; set local jit = off")
                    for row in self.source.execute(
                        "select name, dimensions from pgmem.embedding_model order by active desc"
                    ).fetchall():
                        self.target.execute(
                            "select pgmem.register_model(%s, %s)", (row["name"], row["dimensions"])
                        )
                    tables = self.source.execute(
                        "select * from pgmem.moved_tables(%s)", (self.org,)
                    ).fetchall()
                    changed = sum(map(self._table, tables))
                    self.target.execute("select pgmem.settle(%s)", (self.org,))
                    return changed
            except (psycopg.errors.UniqueViolation, psycopg.errors.DeadlockDetected):
                if not left:
                    raise
        raise AssertionError

    def _hashes(self, cell: Connection, table: dict[str, Any]) -> dict[int, list[str]]:
        """The rows as a multiset: by the hash of a row, where it is."""
        query = sql.SQL(
            "select hashtextextended(row({})::text, 0) as h, t.ctid::text as c from {} t where {}"
        ).format(
            sql.SQL(table["listed"]), sql.Identifier("pgmem", table["name"]), sql.SQL(table["condition"])
        )
        held: dict[int, list[str]] = defaultdict(list)
        for row in cell.execute(query):
            held[row["h"]].append(row["c"])
        return held

    def _table(self, table: dict[str, Any]) -> int:
        ours, theirs = self._hashes(self.source, table), self._hashes(self.target, table)
        extra = [place for h, places in theirs.items() for place in places[len(ours.get(h, ())) :]]
        missing = [place for h, places in ours.items() for place in places[len(theirs.get(h, ())) :]]
        name = sql.Identifier("pgmem", table["name"])
        if extra:
            self.target.execute(
                sql.SQL("delete from {} where ctid = any (%s::text[]::tid[])").format(name), (extra,)
            )
        if missing:
            self._copy(table, name, missing)
        return len(extra) + len(missing)

    def _copy(self, table: dict[str, Any], name: sql.Identifier, missing: list[str]) -> None:
        columns = [sql.Identifier(column) for column in table["columns"]]
        self.source.execute("create temporary table picked (place tid) on commit drop")
        with self.source.cursor().copy("copy picked from stdin") as sent:
            for place in missing:
                sent.write_row((place,))
        select = sql.SQL(
            "copy (select {} from {} t where t.ctid in (select place from picked)) to stdout"
        ).format(sql.SQL(table["listed"]), name)
        # A model has another number in each cell: its rows arrive with the name.
        by_name = "model_id" in table["columns"]
        into = sql.Identifier("arrived") if by_name else name
        if by_name:
            kept = sql.SQL(", ").join(
                sql.SQL("null::text as model_id") if column == "model_id" else sql.Identifier(column)
                for column in table["columns"]
            )
            self.target.execute(
                sql.SQL("create temporary table arrived on commit drop as select {} from {} limit 0").format(
                    kept, name
                )
            )
        listed = sql.SQL(", ").join(columns)
        take = sql.SQL("copy {} ({}) from stdin").format(into, listed)
        with self.source.cursor().copy(select) as out, self.target.cursor().copy(take) as taken:
            for block in out:
                taken.write(block)
        if by_name:
            values = sql.SQL(", ").join(
                sql.SQL("m.id") if column == "model_id" else sql.Identifier("a", column)
                for column in table["columns"]
            )
            self.target.execute(
                sql.SQL(
                    "insert into {} ({}) select {} from arrived a join pgmem.embedding_model m on m.name = a.model_id"
                ).format(name, listed, values)
            )
            self.target.execute("drop table arrived")
        self.source.execute("drop table picked")
