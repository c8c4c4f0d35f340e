-- A person's verb: the caller must own the schema or be a reviewer; never an MCP tool.
-- security definer: clients hold no rights on tables.
create or replace function pgmem.resolve_review(p_save_id uuid, p_outcome text, p_by text) returns pgmem.save_result
language plpgsql security definer
set search_path = pgmem, pg_temp
as $$
#variable_conflict use_column
declare
  v_caller  pgmem.caller := pgmem.require_writer();
  v_by      text := pgmem.clean_key(p_by, 'by');
  v_attempt pgmem.save_attempt;
  v_result  pgmem.save_result;
begin
  if not pgmem.is_reviewer() then
    raise exception using errcode = 'PM004', message = 'Reviews are decided by a reviewer: connect as a member of pgmem_reviewer.';
  end if;
  if p_outcome is null or p_outcome not in ('new', 'supersede', 'drop') then
    raise exception using errcode = 'PM001', message = 'outcome is new, supersede or drop.';
  end if;
  if v_by is null then
    raise exception using errcode = 'PM001', message = 'by must not be empty; send who decides.';
  end if;
  -- What is stored is stored for whoever asked for it, not for who decides.
  select a.org_id, a.user_id, a.tenant into v_caller.org_id, v_caller.user_id, v_caller.tenant
  from pgmem.visible_attempt a where a.save_id = p_save_id and a.dedup_outcome = 'manual_review'
  order by a.status = 'failed' desc, a.tenant = v_caller.tenant desc limit 1;
  v_caller.tenants := v_caller.tenants[array_position(v_caller.tenants, v_caller.tenant) :];
  perform pg_advisory_xact_lock(hashtextextended(v_caller.tenant || p_save_id::text, 1));
  select a.* into v_attempt from pgmem.visible_attempt a where a.save_id = p_save_id and a.tenant = v_caller.tenant;
  if v_attempt.dedup_outcome is distinct from 'manual_review' or v_attempt.status <> 'failed' then
    raise exception using errcode = 'PM002', message = format('No save %s waits for a review; see pgmem review.', p_save_id);
  end if;
  if p_outcome = 'drop' then
    v_result := row('dropped', null, 'manual_review', v_attempt.candidate_id, 'Dropped by ' || v_by, null, p_save_id, false)::pgmem.save_result;
  else
    v_result := pgmem.store(v_attempt.verb, v_attempt.arguments,
      pgmem.resolve_scope(v_caller, v_attempt.arguments ->> 'project_id', v_attempt.arguments ->> 'focus'), v_caller, p_review => p_outcome);
    v_result.save_id := p_save_id;
  end if;
  perform pgmem.record_attempt(v_caller, v_attempt.verb, v_attempt.arguments, v_attempt.arguments_hash, v_result);
  update pgmem.save_attempt a set resolved_by = v_by where a.tenant = v_attempt.tenant and a.save_id = p_save_id;
  return v_result;
end;
$$;
comment on function pgmem.resolve_review(uuid, text, text) is
  'Decide a save that waits for review: store it as new, let it supersede its candidate, or drop it.';
