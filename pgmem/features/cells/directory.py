"""The directory of a front: its cells, and which of them an organisation is in.

A front is a database with PL/Proxy that holds no memory; `front.sql` is its part that does not depend on a release.
Each change is one transaction of the front, which the next call of a verb sees, on replicas of the front too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import class_row, dict_row

from pgmem.database.dsn import without_secrets
from pgmem.errors import Busy, DatabaseUnavailable, InvalidArgument, UnsuitableDatabase, first_line
from pgmem.install import schema

Connection = psycopg.Connection[dict[str, Any]]
Progress = Callable[[str], object]

FRONT_SQL = Path(__file__).parent / "front.sql"
COMMON = ("release", "digest", "settings", "labels", "relations", "models", "global_scope", "secret")
"""The common properties of all cells of a front, by the names of `pgmem.cell_profile`."""

LOGINS = ("pgmem_front_agent", "pgmem_front_reviewer", "pgmem_front_owner")
"""The logins of a front at its cells (`pgmem.make_front_logins`)."""

RESIDENTS: LiteralString = "select org_id from pgmem.residents() where away is null"
"""The organisations that have rows in a cell, and users without one."""

_CONNECT_S = 5
_STANDBY_S = 60.0
"""So long a change of the map waits for the standbys of the front."""

_ATTEMPTS = 5
"""Locks of an upgrade: each waits for those of agents, and they wait for it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as the directory has it.

    Attributes:
        number: 0 to 255, as `pgmem init --cell` gave it to the store.
        name: for people.
        dsn: how the front reaches it, through PgBouncer.
        admin_dsn: how `pgmem cells` reaches it, as its owner.
        takes_new: whether organisations that are in no cell yet come here.
    """

    number: int
    name: str
    dsn: str
    admin_dsn: str
    takes_new: bool

    def connect(self) -> Connection:
        """Connect to it as its owner.

        Raises:
            DatabaseUnavailable: it does not answer.
        """
        return connect(self.admin_dsn, f"Cell {self.number}")


@dataclass(frozen=True, slots=True)
class Home:
    """Where an organisation is.

    Attributes:
        org_id: the organisation.
        cell: the number of its cell.
        name: the name of its cell.
        state: here; moving, if its writes wait.
        placed: whether it was placed or moved; else the hash of its name decides.
        dsn: how the owner reaches its cell, for calls that need the cell itself: export, cypher, a caller's
            transaction.
    """

    org_id: str
    cell: int
    name: str
    state: str
    placed: bool
    dsn: str


@dataclass(frozen=True, slots=True)
class State:
    """A cell now.

    Attributes:
        number: of the cell.
        name: of the cell.
        up: whether it answers its owner.
        release: of its store; None if it does not answer.
        organisations: that have rows in it.
        memories: of all of them, and public ones.
        waiting: texts without a vector.
        bytes: of its database, with indexes.
        trouble: why it does not answer.
        build: the state of pgmem within the release: the beginning of the digest of its SQL.
    """

    number: int
    name: str
    up: bool
    release: str | None = None
    organisations: int = 0
    memories: int = 0
    waiting: int = 0
    bytes: int = 0
    trouble: str | None = None
    build: str | None = None


def connect(dsn: str, what: str, *, autocommit: bool = True) -> Connection:
    """Connect to a front or a cell.

    Raises:
        DatabaseUnavailable: it does not answer; the message names it, without its address.
    """
    try:
        return psycopg.connect(
            dsn,
            autocommit=autocommit,
            row_factory=dict_row,
            connect_timeout=_CONNECT_S,
            prepare_threshold=None,
        )
    except psycopg.OperationalError as error:
        reason = first_line(error).rpartition("FATAL: ")[2].rpartition("failed: ")[2]
        raise DatabaseUnavailable(f"{what} does not answer: {reason.strip()}") from None


def one(connection: Connection, query: LiteralString, parameters: Iterable[object] = ()) -> dict[str, Any]:
    """Return the only row of a query."""
    row = connection.execute(query, tuple(parameters)).fetchone()
    assert row is not None
    return row


class Directory:
    """The directory of a front, by a connection of its owner.

    Args:
        connection: to the front's primary, as a superuser; autocommit.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    @contextmanager
    def open(cls, dsn: str) -> Iterator[Directory]:
        """Connect to a front that exists.

        Raises:
            DatabaseUnavailable: the front does not answer.
            UnsuitableDatabase: the database is not a front.
        """
        with connect(dsn, "The front") as connection:
            if not schema.holds(connection, "front.cell"):
                raise UnsuitableDatabase("This database is not a front: pgmem cells init makes one.")
            yield cls(connection)

    def cells(self) -> list[Cell]:
        """Return all cells by their numbers."""
        with self.connection.cursor(row_factory=class_row(Cell)) as cursor:
            return cursor.execute("select * from front.cell order by number").fetchall()

    def cell(self, named: str | int) -> Cell:
        """Return a cell by its number or its name.

        Raises:
            InvalidArgument: there is none.
        """
        known = self.cells()
        for cell in known:
            if str(named) in (str(cell.number), cell.name):
                return cell
        names = ", ".join(f"{cell.number} ({cell.name})" for cell in known)
        raise InvalidArgument(f"Unknown cell {named}. Known: {names or 'none'}.")

    def where(self, org_id: str) -> Home:
        """Return the cell that an organisation is in, or would come to with its first save."""
        row = one(self.connection, "select * from front.home(%s)", (org_id,))
        cell = self.cell(row["cell"])
        state = "moving" if row["moving"] else "here"
        return Home(org_id, cell.number, cell.name, state, row["placed"], cell.admin_dsn)

    def states(self) -> list[State]:
        """Ask each cell how it is; one that does not answer has `trouble`."""
        return [self._state(cell) for cell in self.cells()]

    @staticmethod
    def _state(cell: Cell) -> State:
        try:
            with cell.connect() as there:
                row = one(there, _STATE)
        except (DatabaseUnavailable, psycopg.Error) as error:
            return State(cell.number, cell.name, up=False, trouble=first_line(error))
        return State(cell.number, cell.name, up=True, **row)

    def moves(self) -> list[dict[str, Any]]:
        """Return the moves that are not finished."""
        return self.connection.execute(
            "select * from front.move where phase not in ('done', 'undone') order by begun_at"
        ).fetchall()

    # Changes

    def add(
        self,
        admin_dsn: str,
        through: str | None = None,
        name: str | None = None,
        password: str | None = None,
    ) -> Cell:
        """Take a store as a cell: it has a number, and in all else it is like the cells there are.

        Args:
            admin_dsn: of the store, as its owner, without PgBouncer.
            through: how the front reaches it, without user; None takes the host and database of `admin_dsn`.
            name: for people; None makes cell0, cell1, …
            password: of the logins by which the front reaches it; None leaves theirs.

        Raises:
            InvalidArgument: the store has no number or one that is taken, differs from the other cells, or is
                not the one that the front reaches; the message says which.
        """
        _require_no_password(admin_dsn, through)
        with connect(admin_dsn, "The store") as there:
            found = profile(there)
            if found["cell"] is None:
                raise InvalidArgument("This store has no number yet: run pgmem init --roles --cell N on it.")
            known = self.cells()
            if any(cell.number == found["cell"] for cell in known):
                raise InvalidArgument(f"There is a cell {found['cell']} already.")
            for cell in known[:1]:
                with cell.connect() as other:
                    if wrong := differences(profile(other), found, COMMON[:-1]):
                        raise InvalidArgument(
                            f"The store differs from cell {cell.number} in {'; '.join(wrong)}."
                        )
            residents = self._new_residents(there, known)
            there.execute("select pgmem.make_front_logins()")
            if password is not None:
                _set_password(there, password)
            for cell in known[:1]:
                with cell.connect() as other:
                    secret = one(other, "select secret from pgmem.store_secret")["secret"]
                there.execute("select pgmem.take_secret(%s)", (secret,))
        number = int(found["cell"])
        reach = through or make_conninfo(
            **{key: str(value) for key, value in conninfo_to_dict(admin_dsn).items() if key != "user"}
        )
        with self.connection.transaction():
            self.connection.execute(
                "insert into front.cell (number, name, dsn, admin_dsn) values (%s, %s, %s, %s)",
                (number, name or f"cell{number}", reach, admin_dsn),
            )
            self.connection.execute("select front.connect_cells()")
            if not known:
                self.connection.execute(
                    "insert into front.slot select n, %s from generate_series(0, 1023) n", (number,)
                )
                self._make(found["cell"])
            self._ping(number)
            self._place_at(number, residents)
        self.share()
        return self.cell(number)

    def _new_residents(self, there: Connection, known: list[Cell]) -> list[str]:
        """The organisations of a store that is added; an error if one of them is in another cell."""
        found = [row["org_id"] for row in there.execute(RESIDENTS)]
        for cell in known if found else ():
            with cell.connect() as other:
                both = other.execute(f"{RESIDENTS} and org_id = any (%s)", (found,)).fetchall()
            if both:
                names = ", ".join(row["org_id"] for row in both[:5])
                raise InvalidArgument(
                    f"Organisations of the store are in cell {cell.number} already: {names}."
                )
        return found

    def _place_at(self, number: int, names: list[str]) -> None:
        self.connection.execute(
            "insert into front.place (org_id, cell) select n, %s from unnest(%s::text[]) n on conflict do nothing",
            (number, names),
        )

    def share(self) -> None:
        """Share the organisations to come evenly among the cells that take new ones; those that exist stay.

        The names of those that exist are written down before the hash of a name means another cell, and once more after
        the last call that was routed by the hash before, also by a standby of the front.

        Raises:
            InvalidArgument: no cell takes new organisations.
            Busy: a standby of the front has not seen the change in a minute.
        """
        cells = self.cells()
        open_cells = self._require_open()
        held: dict[int, list[int]] = {cell.number: [] for cell in cells}
        for row in self.connection.execute("select slot, cell from front.slot order by slot"):
            held[row["cell"]].append(row["slot"])
        fair = {number: 1024 // len(open_cells) for number in open_cells}
        for number in open_cells[: 1024 % len(open_cells)]:
            fair[number] += 1
        spare = [(slot, number) for number, slots in held.items() for slot in slots[fair.get(number, 0) :]]
        if not spare:
            return
        donors = {number for _, number in spare}
        self._write_down(donors, cells)
        with self.connection.transaction():
            for number in open_cells:
                for _ in range(fair[number] - len(held[number])):
                    slot, _donor = spare.pop()
                    self.connection.execute("update front.slot set cell = %s where slot = %s", (number, slot))
            changed = one(self.connection, "select pg_current_xact_id()::text::bigint as id")["id"]
        while not one(self.connection, _NO_OLDER, (changed,))["done"]:
            time.sleep(0.02)
        late = self._await_standbys(changed)
        self._write_down(donors, cells)
        if late:
            raise Busy(
                f"A standby of the front does not follow it: {', '.join(late)}. Until it does, it sends"
                " organisations that are new to the cells as they were shared before; then run pgmem doctor --cells."
            )

    def _await_standbys(self, transaction: int) -> list[str]:
        """Wait until the standbys have seen a transaction and ended the calls from before it; those that have not."""
        place = one(self.connection, "select pg_current_wal_lsn()::text as place")["place"]
        deadline = time.monotonic() + _STANDBY_S
        while late := self.connection.execute(_LATE, (place, transaction)).fetchall():
            if time.monotonic() > deadline:
                return [str(row["name"]) for row in late]
            time.sleep(0.02)
        return []

    def _write_down(self, donors: set[int], cells: list[Cell]) -> None:
        for cell in cells:
            if cell.number not in donors:
                continue
            with cell.connect() as there:
                names = [row["org_id"] for row in there.execute(RESIDENTS)]
            self._place_at(cell.number, names)

    def take_new(self, cell: Cell, *, takes: bool) -> None:
        """Let organisations that are in no cell yet come to a cell, or not."""
        with self.connection.transaction():
            self.connection.execute(
                "update front.cell set takes_new = %s where number = %s", (takes, cell.number)
            )
            self._require_open()
        # After the commit, so that the names are written down once more when calls see the change.
        self.share()

    def _require_open(self) -> list[int]:
        """The cells that take new organisations; an error if there is none."""
        found = [cell.number for cell in self.cells() if cell.takes_new]
        if not found:
            raise InvalidArgument("No other cell takes new organisations: add one first.")
        return found

    def fail_over(self, cell: Cell, through: str, admin_dsn: str | None = None) -> Cell:
        """Let the front reach a cell by another address, that of its promoted replica.

        Raises:
            InvalidArgument: the address is not that cell's.
        """
        _require_no_password(admin_dsn, through)
        with self.connection.transaction():
            self.connection.execute(
                "update front.cell set dsn = %s, admin_dsn = coalesce(%s, admin_dsn) where number = %s",
                (through, admin_dsn, cell.number),
            )
            self.connection.execute("select front.connect_cells()")
            self._ping(cell.number)
        return self.cell(cell.number)

    def upgrade(self, progress: Progress) -> str:
        """Upgrade the cells one by one, then write the front anew; the front before works with the cells after.

        Returns:
            the release of all of them.
        """
        cells = self.cells()
        for done, cell in enumerate(cells):
            progress(f"cell {cell.number} ({done + 1} of {len(cells)})")
            _once_more(partial(schema.upgrade, cell.admin_dsn))
        _once_more(self._renew)
        return schema.release()

    def _renew(self) -> None:
        with self.connection.transaction():
            _write_own(self.connection)
            self.make()

    def make(self) -> int:
        """Write the functions of the front anew, from the signatures of its cells; how many verbs.

        Raises:
            InvalidArgument: the cells are of different states.
        """
        cells = self.cells()
        states = {}
        for cell in cells:
            with cell.connect() as there:
                found = profile(there)
                states[cell.number] = (found["release"], found["digest"])
        if len(set(states.values())) > 1:
            said = ", ".join(f"{number} has {schema.build(*state)}" for number, state in states.items())
            raise InvalidArgument(f"The cells are of different releases ({said}): run pgmem cells upgrade.")
        with self.connection.transaction():
            return self._make(cells[0].number) if cells else 0

    def _make(self, number: int) -> int:
        with self.cell(number).connect() as there:
            signatures = one(there, "select pgmem.signatures() as made")["made"]
        made = one(self.connection, "select front.make(%s) as verbs", (json.dumps(signatures),))
        return int(made["verbs"])

    def _ping(self, number: int) -> None:
        """Refuse an address by which the front reaches another store, or none."""
        try:
            found = one(self.connection, "select cell from relay.ping(%s)", (number,))["cell"]
        except psycopg.Error:
            raise InvalidArgument(
                f"The front does not reach cell {number} by this address: check it, the logins {', '.join(LOGINS)},"
                " and the password file of the front's server."
            ) from None
        if found != number:
            raise InvalidArgument(f"By this address the front reaches cell {found}, not cell {number}.")


def _once_more(transaction: Callable[[], object]) -> None:
    """Make a transaction again that agents, who save meanwhile, may end by a deadlock."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(psycopg.errors.DeadlockDetected):
            transaction()
            return
    transaction()


def _set_password(cell: Connection, password: str) -> None:
    """Give the logins of a front a password; the server gets the verifier and not the password itself."""
    for login in LOGINS:
        kept = cell.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
        cell.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(login), sql.Literal(kept)))


_STATE: LiteralString = """
select v.release, left(v.digest, 8) as build,
  (select count(*) from pgmem.residents() r where r.away is null) as organisations,
  (select count(*) from pgmem.node n where pgmem.is_memory(n.label)) as memories,
  (select count(*) from pgmem.embedding_queue) as waiting, pg_database_size(current_database()) as bytes
from pgmem.schema_version v
"""

_NO_OLDER: LiteralString = """
select not exists (select from pg_stat_activity a where a.datname = current_database() and a.pid <> pg_backend_pid()
  and age(a.backend_xmin) >= age((%s & x'ffffffff'::bigint)::text::xid)) as done
"""


# With hot_standby_feedback a standby reports the oldest snapshot of its calls, by a slot or without one.
_LATE: LiteralString = """
select coalesce(nullif(r.application_name, ''), r.client_addr::text, 'unnamed') as name
from pg_stat_replication r left join pg_replication_slots s on s.active_pid = r.pid
where r.state = 'streaming'
  and (r.replay_lsn < %s::pg_lsn
       or age(coalesce(s.xmin, r.backend_xmin)) >= age((%s & x'ffffffff'::bigint)::text::xid))
"""


def init(front_dsn: str, cells: Iterable[str]) -> tuple[int, list[Cell]]:
    """Make a database a front, or write the functions of a front anew; then add cells.

    Args:
        front_dsn: of a database without memories, as a superuser.
        cells: their DSNs, as their owners.

    Returns:
        the number of verbs, and all cells.

    Raises:
        UnsuitableDatabase: the server has no PL/Proxy, the login is not a superuser, or the database holds memories.
        InvalidArgument: as `Directory.add` does.
    """
    with connect(front_dsn, "The front") as connection:
        row = one(connection, _SUITS)
        if row["holds"]:
            raise UnsuitableDatabase(
                "This database holds memories. A front needs a database without any; its cells hold them."
            )
        if not row["offered"]:
            raise UnsuitableDatabase(
                "The server has no PL/Proxy: install its package, such as postgresql-15-plproxy, and run this again."
            )
        if not row["super"]:
            raise UnsuitableDatabase("PL/Proxy needs a superuser: connect to the front as one.")
        with connection.transaction():
            _write_own(connection)
        directory = Directory(connection)
        for dsn in cells:
            directory.add(dsn)
        return directory.make(), directory.cells()


def _write_own(front: Connection) -> None:
    """Write the directory and the functions of a front that do not depend on its cells."""
    front.execute("set local client_min_messages = warning")
    front.execute(FRONT_SQL.read_bytes())


_SUITS: LiteralString = """
select to_regclass('pgmem.node') is not null as holds,
  exists (select from pg_available_extensions where name = 'plproxy') as offered,
  (select rolsuper from pg_roles where rolname = current_user) as super
"""


def profile(cell: Connection) -> dict[str, Any]:
    """Return the properties that a cell shares with the others, and its number.

    Raises:
        UnsuitableDatabase: the database holds no store of this release or a later one.
    """
    try:
        found: dict[str, Any] = one(cell, "select pgmem.cell_profile() as is_like")["is_like"]
    except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName):
        raise UnsuitableDatabase(
            "This is not a store that can be a cell: run pgmem init --roles --cell N on it."
        ) from None
    return found


def _get_along(here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether vectors of one cell can be searched in another: a model that one lacks is registered by the mover."""
    active = {name for models in (here, there) for name, model in models.items() if model["active"]}
    return len(active) <= 1 and all(
        here[name]["dimensions"] == there[name]["dimensions"] for name in here.keys() & there.keys()
    )


def differences(
    one_cell: Mapping[str, Any], other: Mapping[str, Any], aspects: Iterable[str] = COMMON
) -> list[str]:
    """Name the properties in which two cells differ; empty if they are alike."""
    said = []
    for what in aspects:
        here, there = one_cell[what], other[what]
        if here == there or (what == "models" and _get_along(here, there)):
            continue
        if isinstance(here, dict) and isinstance(there, dict):
            names = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
            said.append(
                f"{what}: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
            )
        elif what != "digest" or one_cell["release"] == other["release"]:
            said.append(f"{what}: {str(here)[:12]} and {str(there)[:12]}")
    return said


def _require_no_password(*dsns: str | None) -> None:
    for dsn in filter(None, dsns):
        if without_secrets(dsn) != dsn:
            raise InvalidArgument(
                "A DSN of the directory holds no password: put it into a password file (~/.pgpass)."
            )
