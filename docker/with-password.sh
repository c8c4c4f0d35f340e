#!/bin/sh
# Set PGPASSWORD, which libpq reads, from a secret, so that neither the compose file nor a DSN contains it.
set -eu
secret=${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}
if [ -r "$secret" ]; then
  PGPASSWORD=$(cat "$secret")
  export PGPASSWORD
fi
exec "$@"
