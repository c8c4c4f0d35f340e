#!/bin/sh
# libpq reads PGPASSWORD; here it comes from a secret, so that it stands in no compose file and in no DSN.
set -eu
secret=${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}
if [ -r "$secret" ]; then
  PGPASSWORD=$(cat "$secret")
  export PGPASSWORD
fi
exec "$@"
