"""Connection strings: time limits for the network, and the database that a DSN names."""

from __future__ import annotations

import os
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem.errors import InvalidArgument

# The parts of a DSN that name a database and a login, each with the variable from which libpq takes its default.
_PLACE = {
    "service": "PGSERVICE",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
}
_SECRETS = ("password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")


def with_limits(dsn: str, seconds: float) -> str:
    """Add a time limit to every wait for the network; limits that the DSN sets itself stay.

    Args:
        dsn: a libpq connection string or URI.
        seconds: to connect, and until sent data must be acknowledged. libpq takes at least 2 s to connect.
    """
    limits: dict[str, int] = {
        "connect_timeout": max(2, round(seconds)),
        "tcp_user_timeout": int(seconds * 1000),
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    given = conninfo_to_dict(dsn)
    return make_conninfo(dsn, **{name: value for name, value in limits.items() if name not in given})


def without_secrets(dsn: str) -> str:
    """Return a DSN without its passwords and keys; one that holds none stays as it is written.

    Args:
        dsn: a libpq connection string or URI.

    Raises:
        InvalidArgument: the DSN cannot be parsed.
    """
    given = _parsed(dsn)
    kept = {name: value for name, value in given.items() if name not in _SECRETS}
    return dsn if kept == given else make_conninfo(**kept)


def _parsed(dsn: str, setting: str = "PGMEM_DSN") -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.ProgrammingError:
        raise InvalidArgument(
            f"Invalid {setting}: use a connection string such as postgresql://user@host/database or host=… dbname=…"
        ) from None


def place(dsn: str, setting: str = "PGMEM_DSN") -> str:
    """Return the database and the login that a DSN names, as `name=value` pairs without passwords.

    Args:
        dsn: a libpq connection string or URI.
        setting: the variable that holds it, for the message.

    Raises:
        InvalidArgument: the DSN cannot be parsed.
    """
    given = _parsed(dsn, setting)
    found = {name: str(given.get(name) or os.environ.get(variable, "")) for name, variable in _PLACE.items()}
    return " ".join(f"{name}={value}" for name, value in found.items() if value)
