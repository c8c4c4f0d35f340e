"""The verbs of operators as a separate class; each calls the method of `Memory`.

Written by scripts/generate from the chapters of sql/; do not edit.
"""

from __future__ import annotations

from pgmem.calls.methods import Verbs
from pgmem.calls.operators import Operators, of

__all__ = ["Admin"]


class Admin(Operators):
    """The verbs of operators over a memory: `memory.admin`."""

    set_setting = of(Verbs.set_setting)
    activate_model = of(Verbs.activate_model)
    drop_model = of(Verbs.drop_model)
    embedding_status = of(Verbs.embedding_status)
    dedup_due = of(Verbs.dedup_due)
    refresh_dedup = of(Verbs.refresh_dedup)
    issue_token = of(Verbs.issue_token)
    revoke_token = of(Verbs.revoke_token)
    list_tokens = of(Verbs.list_tokens)
    bind_role = of(Verbs.bind_role)
    list_tenants = of(Verbs.list_tenants)
    adopt = of(Verbs.adopt)
    erase_subject = of(Verbs.erase_subject)
    forget_by_ttl = of(Verbs.forget_by_ttl)
    decay_scores = of(Verbs.decay_scores)
    supersede = of(Verbs.supersede)
    merge_entities = of(Verbs.merge_entities)
    settle_conflict = of(Verbs.settle_conflict)
    edit_memory = of(Verbs.edit_memory)
    resolve_review = of(Verbs.resolve_review)
    decide_rule = of(Verbs.decide_rule)
    approve_card = of(Verbs.approve_card)
    reject_card = of(Verbs.reject_card)
    archive_card = of(Verbs.archive_card)
    vacuum_cards = of(Verbs.vacuum_cards)
    spend_extraction_tokens = of(Verbs.spend_extraction_tokens)
    backlog = of(Verbs.backlog)
    sweep = of(Verbs.sweep)
    renew = of(Verbs.renew)
    rebuild_graph = of(Verbs.rebuild_graph)
    check_graph = of(Verbs.check_graph)
    run_cypher = of(Verbs.run_cypher)
    make_report_login = of(Verbs.make_report_login)
