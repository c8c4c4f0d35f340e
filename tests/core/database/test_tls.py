"""TLS: the certificate options of a DSN reach libpq, at every way pgmem connects."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import trustme
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem import Memory
from pgmem.errors import DatabaseUnavailable
from pgmem.install import schema
from pgmem.settings import Settings
from tests.core.hygiene.test_freshness_and_surface import pgmem as surface

SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"


class Terminator:
    """A TLS end before the server, as a provider has it, with a certificate of this test's own authority."""

    def __init__(self, dsn: str, context: ssl.SSLContext) -> None:
        given = conninfo_to_dict(dsn)
        self._host, self._port = str(given["host"]), int(given.get("port") or 5432)
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.encrypted = 0
        threading.Thread(target=self._accept, daemon=True).start()
        self.dsn = make_conninfo(
            dsn,
            host="localhost",
            hostaddr="127.0.0.1",
            port=self._listener.getsockname()[1],
            gssencmode="disable",
        )

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError):
            if plain.recv(8, socket.MSG_WAITALL) != SSL_REQUEST:
                return  # whoever speaks without TLS is sent away
            plain.sendall(b"S")
            with self._context.wrap_socket(plain, server_side=True) as client, self._connect() as server:
                self.encrypted += 1
                while True:  # one thread for both ways: a TLS socket is not to be read and written at once
                    ready = [client] if client.pending() else select.select([client, server], [], [])[0]
                    for source in ready:
                        if not (data := source.recv(65536)):
                            return
                        (server if source is client else client).sendall(data)

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return server

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def terminator(dsn: str, authority: trustme.CA) -> Iterator[Terminator]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    terminator = Terminator(dsn, context)
    yield terminator
    terminator.close()


@pytest.fixture
def trusting(tmp_path: Path) -> Callable[[trustme.CA], str]:
    """`trusting(ca)`: a file with the certificate of this authority."""

    def trusting(authority: trustme.CA) -> str:
        path = tmp_path / "root.crt"
        authority.cert_pem.write_to_path(path)
        return str(path)

    return trusting


@pytest.mark.anyio
async def test_every_way_to_the_server_goes_by_the_certificate_that_is_trusted(
    terminator: Terminator, authority: trustme.CA, trusting: Callable[[trustme.CA], str], tmp_path: Path
) -> None:
    dsn = make_conninfo(terminator.dsn, sslmode="verify-full", sslrootcert=trusting(authority))
    assert schema.upgrade(dsn).changed is False
    installing = terminator.encrypted
    assert installing > 0
    async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path)) as memory:
        saved = await memory.save_session("Open the shop", "shop")
    assert saved.status == "saved"
    assert terminator.encrypted > installing
    calling = terminator.encrypted
    assert surface("surface", "shop", PGMEM_DSN=dsn).returncode == 0
    assert terminator.encrypted > calling


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_a_server_of_another_authority_is_refused_with_the_reason(
    terminator: Terminator, trusting: Callable[[trustme.CA], str], tmp_path: Path, mode: str
) -> None:
    dsn = make_conninfo(terminator.dsn, sslmode=mode, sslrootcert=trusting(trustme.CA()))
    with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
        schema.upgrade(dsn)
    with pytest.raises(DatabaseUnavailable, match="certificate verify failed"):
        async with Memory.connect(Settings(dsn=dsn, data_dir=tmp_path)):
            pass
    assert terminator.encrypted == 0


@pytest.mark.anyio
async def test_a_server_of_another_name_is_refused_where_the_name_is_verified(
    terminator: Terminator, authority: trustme.CA, trusting: Callable[[trustme.CA], str], tmp_path: Path
) -> None:
    root = trusting(authority)
    other = make_conninfo(terminator.dsn, host="db.example.com", sslrootcert=root)
    with pytest.raises(DatabaseUnavailable, match="does not match host name"):
        async with Memory.connect(Settings(dsn=f"{other} sslmode=verify-full", data_dir=tmp_path)):
            pass
    async with Memory.connect(Settings(dsn=f"{other} sslmode=verify-ca", data_dir=tmp_path)) as memory:
        assert (await memory.status()).tier


@pytest.mark.anyio
async def test_without_tls_a_server_that_demands_it_is_not_reached(
    terminator: Terminator, tmp_path: Path
) -> None:
    with pytest.raises(DatabaseUnavailable):
        async with Memory.connect(Settings(dsn=f"{terminator.dsn} sslmode=disable", data_dir=tmp_path)):
            pass
    assert terminator.encrypted == 0
