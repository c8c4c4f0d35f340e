"""The effective period of every recorded state, and the vectors of what is hidden."""

from __future__ import annotations

from alembic import op

from pgmem.database.schema import run

revision, down_revision = "0007", "0006"


def upgrade() -> None:
    run(op.get_bind(), COLUMNS + FIRST_STATES + LATER_STATES + ARCHIVED)


COLUMNS = """
alter table pgmem.node add column begins_at timestamptz;
comment on column pgmem.node.begins_at is
  'Where its effective period begins: valid_from, or where it took the place of other content, or when it was made; null: an open start.';
alter table pgmem.node_version add column begins_at timestamptz, add column ends_at timestamptz;
comment on column pgmem.node_version.begins_at is 'Where its effective period began; null: an open start.';
comment on column pgmem.node_version.ends_at is
  'Where its effective period ended: valid_to, or where the state after it took its place; -infinity: that one restated it, and it holds nowhere.';
"""

# Rewrites the table instead of updating it: no trigger fires, and no dead rows are left.
FIRST_STATES = """
alter table pgmem.node alter column begins_at type timestamptz
  using coalesce(valid_from, case when valid_to is null then created_at end);
"""

# The rules of pgmem.state_begins and pgmem.state_ends as they are in this release.
LATER_STATES = """
alter table pgmem.node disable trigger user;
do $$
declare
  v_state  record;
  v_before record;
  v_same   boolean;
  v_begins timestamptz;
begin
  for v_state in
    select s.*, s.version = min(s.version) over (partition by s.seq) as is_first
    from (select v.node_seq as seq, v.version, v.title, v.props, v.valid_from, v.valid_to, v.created_at, v.ingested_at,
                 false as is_present
          from pgmem.node_version v
          union all
          select n.seq, n.version, n.title, n.props, n.valid_from, n.valid_to, n.created_at, n.recorded_at, true
          from pgmem.node n where exists (select from pgmem.node_version v where v.node_seq = n.seq)) s
    order by s.seq, s.version
  loop
    if v_state.is_first then
      v_begins := coalesce(v_state.valid_from, case when v_state.valid_to is null then v_state.created_at end);
    else
      v_same := v_state.title = v_before.title and v_state.props = v_before.props;
      v_begins := case
        when v_state.valid_from is not null then v_state.valid_from
        when not v_same and v_state.ingested_at <= coalesce(v_state.valid_to, 'infinity') then v_state.ingested_at
        when v_begins <= coalesce(v_state.valid_to, 'infinity') then v_begins end;
      update pgmem.node_version v set ends_at = case
        when not v_same then coalesce(v_before.valid_to, v_begins, '-infinity')
        when v_begins > v_before.valid_to then v_before.valid_to
        else '-infinity' end
      where v.node_seq = v_before.seq and v.version = v_before.version;
    end if;
    if v_state.is_present then
      update pgmem.node n set begins_at = v_begins where n.seq = v_state.seq and n.begins_at is distinct from v_begins;
    else
      update pgmem.node_version v set begins_at = v_begins where v.node_seq = v_state.seq and v.version = v_state.version;
    end if;
    v_before := v_state;
  end loop;
end $$;
alter table pgmem.node enable trigger user;
"""

# Without a type of pgvector: the server may have none.
ARCHIVED = """
create table pgmem.archived_vector (
  node_seq        bigint not null references pgmem.node on delete cascade,
  model_id        smallint not null references pgmem.embedding_model on delete cascade,
  text_hash       text not null,
  vector          real[] not null,
  primary key (node_seq, model_id)
);
comment on table pgmem.archived_vector is 'The vectors of hidden memories, which no search sees; they are put back with the memory.';
comment on column pgmem.archived_vector.text_hash is 'SHA-256 of the text that the vector was made from.';
"""
