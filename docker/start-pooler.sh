#!/bin/sh
# PgBouncer reads logins from a file only: the one of pgmem is written from its secret.
set -eu
umask 077
printf '"pgmem" "%s"\n' "$(cat "${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}")" > /tmp/users
exec pgbouncer "${1:-/etc/pgmem/pgbouncer.ini}"
