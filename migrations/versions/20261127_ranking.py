"""How a search ranks is one value; weights that no figure asks to change are settings no longer."""

from __future__ import annotations

from alembic import op

from pgmem.install.schema import run

revision, down_revision = "20261127_ranking", "20261127_noise"


def upgrade() -> None:
    run(op.get_bind(), TYPE + SETTINGS)


TYPE = """
create type pgmem.ranking as (
  given jsonb, fusion text, arm_limit integer, rrf_k float8, alpha float8, titled_alpha float8, graph_beta float8,
  boost_cap float8, trust_gamma float8, confidence_weight float8, usefulness_weight float8, citation_weight float8,
  date_weight float8, time_weight float8, source_weight float8, question_weight float8, session_weight float8,
  prior_weight float8, instruction_weight float8, decay_rate float8, decay_max_age_days integer, neighbours boolean,
  writer text, dates tstzrange[], times tsquery, asks_fact boolean);
comment on type pgmem.ranking is
  'How one search ranks: what each part of a score weighs, and the writer, the dates and the times that its query names.';
"""

SETTINGS = """
do $$
declare
  v_name  text;
  v_value text;
begin
  for v_name, v_value in
    delete from pgmem.setting s using (values
      ('hybrid_arm_limit', '50'), ('rrf_k', '10'), ('hybrid_boost_cap', '0.3'), ('hybrid_confidence_weight', '0.05'),
      ('hybrid_citation_weight', '0.1'), ('hybrid_date_weight', '0.4'), ('hybrid_time_weight', '0.3'),
      ('hybrid_source_weight', '0.15'), ('hybrid_question_weight', '0.2'), ('hybrid_prior_weight', '0.25'),
      ('bm25_k1', '1.2'), ('bm25_b', '0.9'), ('relevance_slope', '15'), ('relevance_middle', '0.3')) as f(name, value)
    where s.name = f.name returning s.name, case when s.value <> f.value then s.value end
  loop
    if v_value is not null then
      raise warning 'The setting % is gone, and its value % with it: send it as weights of a search.', v_name, v_value;
    end if;
  end loop;
end $$;
alter table pgmem.setting drop constraint weights_in_range;
alter table pgmem.setting add constraint weights_in_range check (
  case when name = 'hybrid_fusion' then value in ('linear', 'rrf')
       when name in ('hybrid_alpha', 'hybrid_titled_alpha', 'answered_yes', 'answered_no') then value::float8 between 0 and 1
       when name like 'hybrid%' then value::float8 between 0 and 1000000
       when name = 'agent_token_limit' then value::integer between 100 and 1000000
       else true end);
"""
