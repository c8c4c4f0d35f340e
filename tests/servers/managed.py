"""A server as a managed service sets it up: a login that may do nothing special, and a pooler before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.servers.roots import PASSWORD, Root, free_port, wait_for

LOGIN = "memory"
# Round robin is the worst case: two transactions of one client meet in one session only by chance.
CONFIGURATION = """
[databases]
* = host={host} port={port}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
pool_mode = transaction
server_round_robin = 1
default_pool_size = 8
max_client_conn = 400
auth_type = scram-sha-256
auth_file = {folder}/users
auth_user = {admin}
server_login_retry = 1
autodb_idle_timeout = 10
"""


def make_login(admin: str) -> None:
    """The plain role that owns one database: no superuser, no CREATEROLE, no CREATEDB."""
    with psycopg.connect(admin, autocommit=True) as connection:
        made = sql.SQL("create role {} login password {} nosuperuser nocreaterole nocreatedb")
        connection.execute(made.format(sql.Identifier(LOGIN), PASSWORD))


@contextmanager
def pooler(root: Root, admin: str) -> Iterator[str]:
    """PgBouncer in transaction mode before a server, as the plain role reaches it."""
    given = conninfo_to_dict(admin)
    port = free_port()
    text = CONFIGURATION.format(
        host=given["host"], port=given["port"], listen=port, folder=root.data, admin=given["user"]
    )
    folder = root.folder / root.data.removeprefix("/")
    (folder / "pgbouncer.ini").write_text(text)
    # Other logins are looked up by the superuser, as the tests make them.
    (folder / "users").write_text("".join(f'"{user}" "{PASSWORD}"\n' for user in (LOGIN, given["user"])))
    dsn = make_conninfo(admin, user=LOGIN, port=port)
    with root.process("pgbouncer", f"{root.data}/pgbouncer.ini"):
        wait_for(dsn)
        yield dsn
