"""${message}"""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    run(op.get_bind(), """
    """)
