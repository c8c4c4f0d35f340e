"""A connection by libpq alone, which psycopg's wheel brings.

An agent waits for a hook. Importing psycopg takes longer than everything that a hook does, libpq takes 20 ms, and it
reads the same connection strings. Where no libpq is found psycopg itself is used.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_void_p
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from pgmem.database.identity import BEGIN, Identity, opening

_COMMAND_OK, _TUPLES_OK, _SQLSTATE = 1, 2, ord("C")
_JSON, _BOOL, _NUMBERS = (114, 3802), 16, (20, 21, 23, 700, 701, 1700)


class QueryFailed(Exception):
    """The server cannot be reached or refuses a statement; the message is the server's, of one line.

    Args:
        message: that of the server.
        sqlstate: the code of its error; None where it cannot be reached.
    """

    def __init__(self, message: str, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Connection:
    """A connection that sends one statement at a time and reads rows as lists of Python values.

    Args:
        conninfo: a libpq connection string.

    Raises:
        QueryFailed: the server cannot be reached.
    """

    def __init__(self, conninfo: str) -> None:
        if "connect_timeout" not in conninfo:
            os.environ.setdefault("PGCONNECT_TIMEOUT", "2")
        found = _libpq()
        self._pq, self._connection, self._psycopg = found, None, None
        if found is None:
            self._psycopg = _psycopg(conninfo)
            return
        self._connection = found.PQconnectdb(conninfo.encode())
        if found.PQstatus(self._connection) != 0:
            message = _line(found.PQerrorMessage(self._connection))
            self.close()
            raise QueryFailed(message)
        found.PQsetClientEncoding(self._connection, b"UTF8")

    def begin(self, within_s: float, agent_id: str = "") -> None:
        """Begin a transaction with the tenant of the environment; each of its statements may take so long.

        Raises:
            QueryFailed: the server refuses it.
        """
        self.rows(BEGIN)
        org_id, user_id = (
            os.environ.get(f"PGMEM_{name}", os.environ.get(f"DEFAULT_{name}", ""))
            for name in ("ORG_ID", "USER_ID")
        )
        statement, values = opening(Identity(org_id, user_id, agent_id, source="cli"), within_s)
        for place in range(len(values)):
            statement = statement.replace("%s", f"${place + 1}", 1)
        self.rows(statement, *values)

    def call(self, verb: str, /, **arguments: object) -> dict[str, Any]:
        """Call a verb and return its row; its arguments are named without `p_`, and None is left to its default.

        Raises:
            QueryFailed: the server refuses it.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        named = ", ".join(f"p_{name} => ${place}" for place, name in enumerate(given, 1))
        names, rows = self._send(f"select * from pgmem.{verb}({named})", *given.values())
        return dict(zip(names, rows[0], strict=True))

    def rows(self, statement: str, *values: object) -> list[list[Any]]:
        """Send a statement with `$1`, `$2`, … and return its rows.

        Raises:
            QueryFailed: the server refuses it.
        """
        return self._send(statement, *values)[1]

    def _send(self, statement: str, *values: object) -> tuple[list[str], list[list[Any]]]:
        texts = [_sent(value) for value in values]
        if self._psycopg is not None:
            return _by_psycopg(self._psycopg, statement, texts)
        assert self._pq is not None
        pq = self._pq
        parameters = (c_char_p * len(texts))(*texts) if texts else None
        result = pq.PQexecParams(
            self._connection, statement.encode(), len(texts), None, parameters, None, None, 0
        )
        try:
            if pq.PQresultStatus(result) not in (_COMMAND_OK, _TUPLES_OK):
                code = pq.PQresultErrorField(result, _SQLSTATE)
                raise QueryFailed(_line(pq.PQresultErrorMessage(result)), code.decode() if code else None)
            columns = range(pq.PQnfields(result))
            types = [pq.PQftype(result, column) for column in columns]
            return [pq.PQfname(result, column).decode() for column in columns], [
                [
                    None
                    if pq.PQgetisnull(result, row, column)
                    else _received(types[column], pq.PQgetvalue(result, row, column))
                    for column in columns
                ]
                for row in range(pq.PQntuples(result))
            ]
        finally:
            pq.PQclear(result)

    def close(self) -> None:
        """Close the connection."""
        if self._psycopg is not None:
            self._psycopg.close()
        elif self._pq is not None and self._connection is not None:
            self._pq.PQfinish(self._connection)
            self._connection = None

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@cache
def _libpq() -> ctypes.CDLL | None:
    """Load the libpq beside psycopg's modules; None if there is none."""
    spec = importlib.util.find_spec("psycopg_binary")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    for pattern in (
        "psycopg_binary.libs/libpq-*",
        "psycopg_binary/.dylibs/libpq.*",
        "psycopg_binary.libs/libpq*.dll",
    ):
        for path in sorted(package.parent.glob(pattern)):
            try:
                return _declared(ctypes.CDLL(str(path)))
            except OSError:
                continue
    return None


def _declared(pq: ctypes.CDLL) -> ctypes.CDLL:
    """Give the functions their types; without them ctypes cuts pointers to 32 bits."""
    for name, result, *arguments in (
        ("PQconnectdb", c_void_p, c_char_p),
        ("PQstatus", c_int, c_void_p),
        ("PQerrorMessage", c_char_p, c_void_p),
        ("PQsetClientEncoding", c_int, c_void_p, c_char_p),
        ("PQexecParams", c_void_p, c_void_p, c_char_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_int),
        ("PQresultStatus", c_int, c_void_p),
        ("PQresultErrorMessage", c_char_p, c_void_p),
        ("PQresultErrorField", c_char_p, c_void_p, c_int),
        ("PQnfields", c_int, c_void_p),
        ("PQntuples", c_int, c_void_p),
        ("PQfname", c_char_p, c_void_p, c_int),
        ("PQftype", ctypes.c_uint, c_void_p, c_int),
        ("PQgetisnull", c_int, c_void_p, c_int, c_int),
        ("PQgetvalue", c_char_p, c_void_p, c_int, c_int),
        ("PQclear", None, c_void_p),
        ("PQfinish", None, c_void_p),
    ):
        function = getattr(pq, name)
        function.restype, function.argtypes = result, arguments
    return pq


def _sent(value: object) -> bytes | None:
    """Return a value as the text that PostgreSQL reads; a list of texts or numbers is an array, any other is JSON."""
    if value is None:
        return None
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        quoted = (item.replace("\\", "\\\\").replace('"', '\\"') for item in value)
        value = "{" + ",".join(f'"{item}"' for item in quoted) + "}"
    elif isinstance(value, list) and isinstance(value[0], float):
        value = "{" + ",".join(map(str, value)) + "}"
    elif isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False).replace("\\u0000", " ")
    # A lone surrogate is not UTF-8, and PostgreSQL stores no NUL.
    return str(value).replace("\0", " ").encode("utf-8", "replace")


def _received(kind: int, text: bytes) -> Any:
    if kind in _JSON:
        return json.loads(text)
    if kind == _BOOL:
        return text == b"t"
    if kind in _NUMBERS:
        return float(text) if b"." in text or b"e" in text else int(text)
    return text.decode()


def _line(message: bytes | None) -> str:
    return (message or b"").decode(errors="replace").strip().partition("\n")[0]


def _psycopg(conninfo: str) -> Any:
    import psycopg

    try:
        return psycopg.connect(conninfo, autocommit=True, client_encoding="UTF8")
    except psycopg.Error as error:
        raise QueryFailed(str(error).partition("\n")[0]) from error


def _by_psycopg(
    connection: Any, statement: str, texts: Sequence[bytes | None]
) -> tuple[list[str], list[list[Any]]]:
    import psycopg

    cursor = psycopg.RawCursor(connection)
    try:
        cursor.execute(statement.encode(), [None if text is None else text.decode() for text in texts])
        names = [column.name for column in cursor.description or ()]
        return names, [list(row) for row in cursor.fetchall()] if names else []
    except psycopg.Error as error:
        raise QueryFailed(str(error).partition("\n")[0], error.sqlstate) from error
