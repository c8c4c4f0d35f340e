"""An installer that lacks a right: the message is the grant."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgmem.errors import UnsuitableDatabase
from pgmem.install import schema
from tests.conftest import as_admin, new_database

pytestmark = pytest.mark.direct("a front is made by another command")


@pytest.mark.parametrize("attributes", ["", "createdb createrole"])
def test_a_login_that_may_not_make_a_schema_is_told_the_grant_which_helps(
    server: str, createrole: None, make_login: Callable[..., str], attributes: str
) -> None:
    login = make_login(attributes=attributes)
    with new_database(server, "template0") as dsn:
        database = str(conninfo_to_dict(dsn)["dbname"])
        with psycopg.connect(as_admin(dsn), autocommit=True) as admin:
            admin.execute(f'revoke all on database "{database}" from public'.encode())
            admin.execute(f'grant connect on database "{database}" to "{login}"'.encode())
            own = make_conninfo(dsn, user=login, password="only-for-tests")
            grant = f'grant create on database "{database}" to "{login}"'
            with pytest.raises(UnsuitableDatabase, match=f"as its owner or a superuser: {grant}"):
                schema.upgrade(own, ())
            admin.execute(grant.encode())
        assert schema.upgrade(own, ()).changed
