#!/usr/bin/env bash
# Runs on an empty volume: creates the login pgmem without special rights, its database, and the extensions.
set -euo pipefail
secret=${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}
[ -r "$secret" ] || exit 0  # without the secret, as in tests, the server stays empty
psql --no-psqlrc --set ON_ERROR_STOP=1 --set "password=$(cat "$secret")" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
create role pgmem login password :'password' nosuperuser nocreaterole nocreatedb;
create database memory owner pgmem template template0 encoding 'UTF8' locale 'C.UTF-8';
\connect memory
create schema extensions;
create extension vector schema extensions;
create extension age;
grant usage on schema extensions, ag_catalog to pgmem;
grant all on all tables in schema ag_catalog to pgmem;
SQL
