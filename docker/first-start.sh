#!/usr/bin/env bash
# On an empty volume: the login of pgmem, who may do nothing special, the database he owns, and the extensions in it.
set -euo pipefail
secret=${PGMEM_PASSWORD_FILE:-/run/secrets/pgmem_password}
[ -r "$secret" ] || exit 0  # as an image for tests it holds an empty server
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
