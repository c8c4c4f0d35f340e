"""Other projects' own tests, run against the integrations; docs/reference/integrations.md counts the tests that do not apply."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from tests.upstream import folder

__all__ = ["EXCEPTIONS", "applying", "load"]

Prepare = Callable[[ModuleType], None]


def load(suite: str, file: str, prepare: Mapping[str, ModuleType]) -> ModuleType:
    """A file of a suite as a module. `prepare` holds the modules that it imports under the names of its project."""
    found = folder(suite)
    name = f"upstream_{suite}_{file}".replace("-", "_").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, found / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = {key: sys.modules.get(key) for key in prepare}
    sys.modules.update(prepare)
    try:
        spec.loader.exec_module(module)
    finally:
        for key, kept in before.items():
            if kept is None:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = kept
    return module


def stand_in(name: str, **contents: Any) -> ModuleType:
    """A module of the other project, with the names that its tests take from it."""
    module = ModuleType(name)
    vars(module).update(contents)
    return module


def applying(suite: str, module: ModuleType, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The tests of a module and their fixtures, without those of EXCEPTIONS and the fixtures that are ours."""
    left_out = {*EXCEPTIONS[suite], *without}
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.startswith("__") or name in left_out:
            continue
        if isinstance(value, type) and name.startswith("Test"):
            for test in [test for test in vars(value) if test in left_out]:
                delattr(value, test)
        found[name] = value
    return found


EXCEPTIONS: dict[str, dict[str, str]] = {
    "langgraph-store": {
        "test_escape_like_literal": "of a function of their SQL",
        "test_namespace_match_pattern": "of a function of their SQL",
        "test_nonnull_migrations": "of their migrations",
        "test_abatch_uses_single_pool_checkout": "of their connection pool",
        "test_omit_expired_disabled_preserves_expired_rows": "an expired item is never returned here, swept or not",
    },
    "anthropic-memory-tool": {
        "test_mkdir_parents_not_world_writable_under_permissive_umask": "of modes of files on disk",
        "test_symlink_validation_reject_symlink_pointing_outside_memories": "symbolic links do not exist",
        "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside": "symbolic links do not exist",
        "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside": "symbolic links do not exist",
        "test_validate_path_returns_resolved_path_not_symlink_target": "symbolic links do not exist",
    },
    "openai-agents-session": {
        "test_await_mutation_cancellation_hides_later_failure_without_loop_error": "of a function of theirs",
        "test_sqlite_session_close_closes_worker_thread_connections": "of the connections of their session",
        "test_sqlite_session_closed_rejects_empty_add_items": "a session is not closed, its memory is",
        "test_sqlite_session_file_lock_is_shared_across_instances": "of the lock of their file",
        "test_sqlite_session_failed_add_items_releases_write_lock": "of the lock of their file",
        "test_sqlite_session_failed_clear_session_rolls_back": "of the connections of their session",
        "test_sqlite_session_failed_pop_item_releases_write_lock": "of the lock of their file",
        "test_sqlite_session_rollback_failure_evicts_connection": "of the connections of their session",
        "test_sqlite_session_close_retries_quarantined_connection": "of the connections of their session",
        "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome": "of the connections of their session",
        "test_sqlalchemy_session_defaults_to_escaped_non_ascii_storage": "of the text in a column of theirs",
        "test_sqlalchemy_session_can_store_non_ascii_without_escaping": "of the text in a column of theirs",
        "test_sqlite_fallback_reserves_writer_before_tail_claim": "of statements that their session sends",
        "test_pop_item_supports_unknown_delete_rowcount": "of statements that their session sends",
        "test_pop_item_retries_returning_claim_lost_to_concurrent_delete": "of statements that their session sends",
        "test_mutation_cancellation_waits_for_transaction_exit": "of the transactions of their session",
        "test_add_items_waits_for_transient_sqlite_write_lock": "of the lock of their file",
        "test_add_items_cancelled_waiter_does_not_strand_table_init_lock": "of the lock under which their tables are made",
        "test_create_tables_false_does_not_allocate_shared_init_lock": "of the lock under which their tables are made",
        "test_get_items_same_timestamp_consistent_order": "of statements that their session sends",
        "test_get_items_orders_by_id_for_ties": "of statements that their session sends",
        "test_engine_property_from_url": "of an engine of SQLAlchemy",
        "test_engine_property_from_external_engine": "of an engine of SQLAlchemy",
        "test_engine_property_is_read_only": "of an engine of SQLAlchemy",
        "test_sqlite_configuration_registry_releases_collected_engines": "of an engine of SQLAlchemy",
        "test_sqlite_configuration_registry_does_not_grow_unbounded": "of an engine of SQLAlchemy",
        "test_runner_passes_same_wrapper_to_context_aware_session": "of the runner with sessions of the test's own",
        "test_runner_preserves_legacy_session_call_shapes": "of the runner with sessions of the test's own",
        "test_runner_does_not_treat_legacy_kwargs_as_wrapper_opt_in": "of the runner with sessions of the test's own",
        "test_runner_preserves_legacy_calls_when_signature_inspection_fails": "of the runner with sessions of the test's own",
        "test_runner_does_not_partially_enable_context_aware_session": "of the runner with sessions of the test's own",
        "test_retry_rewind_uses_same_context_scope_for_reads_pops_and_cleanup": "of the runner with sessions of the test's own",
        "test_retry_rewind_restores_partial_pops_in_the_same_context_scope": "of the runner with sessions of the test's own",
        "test_input_guardrail_persists_in_the_context_scope": "of the runner with sessions of the test's own",
        "test_resumed_run_persists_in_the_context_scope": "of the runner with sessions of the test's own",
        "test_compaction_session_keeps_context_aware_underlying_on_legacy_scope": "of the runner with sessions of the test's own",
        "test_session_wrapper_method_requires_named_wrapper_parameter": "of the runner with sessions of the test's own",
        "test_session_wrapper_opt_in_requires_all_history_operations": "of the runner with sessions of the test's own",
    },
    "server-memory": {
        "should persist data across manager instances": "of the file of that server",
        "should handle JSONL format correctly": "of the file of that server",
        "should strip type field from entities when loading from file": "of the file of that server",
        "should strip type field from searchNodes results": "of the file of that server",
        "should strip type field from openNodes results": "of the file of that server",
        "should return empty graph when file does not exist": "of the file of that server; an empty graph is read here",
        "declares the resources.subscribe capability": "the resource is read and not subscribed to",
        "registers subscribe and unsubscribe request handlers": "the resource is read and not subscribed to",
        "subscribe and unsubscribe handlers acknowledge with an empty result": "the resource is read and not subscribed to",
    },
}
