#!/bin/sh
# Write the login of pgmem from its secret to a file, because PgBouncer reads logins only from files.
set -eu
umask 077
printf '"pgmem" "%s"\n' "$(cat "${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}")" > /tmp/users
exec pgbouncer "${1:-/etc/pgmem/pgbouncer.ini}"
