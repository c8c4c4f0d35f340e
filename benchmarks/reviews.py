"""How many files `pgmem cards pr` calls missing from a change, and whether it names one that was left out.

Before is the rule of the first release: of the companions in a digest, each file that changes with one of the change
in at least a fifth of its commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from pgmem.answers import LikelyChanges
from pgmem.features.cards.commands import missing
from pgmem.features.cards.covering import is_test
from pgmem.features.cards.files import DOCUMENTS
from pgmem.features.cards.history import MASS
from pgmem.sync import Memory
from pgmem.workspace.git import Commit

_LEFT_OUT = 10
"""A file is left out of changes with at most so many."""


def measure_reviews(
    memory: Memory,
    project: str,
    asked: Collection[Commit],
    alone: Mapping[str, LikelyChanges],
    there: Collection[str],
) -> dict[str, float]:
    """Alarms of changes that were accepted, and the share of files left out that they name.

    Args:
        memory: a store with the cards of the commit before these.
        project: its project.
        asked: the changes.
        alone: what changes with each file that they touch.
        there: the files that the store knows.

    Returns:
        {changes, alarms_before, alarms, left_out, named_before, named}: changes and files left out as counts; alarms
        for one change; the share of the left out files that an alarm names.
    """
    counts: Counter[str] = Counter()

    def alarms(paths: list[str]) -> set[str]:
        sources = [one for one in paths if not one.endswith(DOCUMENTS) and not is_test(one)][:50]
        return set(missing(paths, memory.what_changes(project, sources, 30)) if sources else ())

    def alarms_before(paths: list[str]) -> set[str]:
        return {
            one.path
            for path in paths
            if not path.endswith(DOCUMENTS)
            for one in alone[path].files[:5]
            if one.path not in paths
            and any((why.commits or 0) >= 0.2 * (why.of or 1) for why in one.because if why.commits)
        }

    for commit in asked:
        paths = sorted({path for _, path, _ in commit.changes if path in there and path in alone})
        if not paths or len(commit.changes) > MASS:
            continue
        counts["changes"] += 1
        counts["alarms"] += len(alarms(paths))
        counts["alarms_before"] += len(alarms_before(paths))
        for path in paths if 1 < len(paths) <= _LEFT_OUT else ():
            if not path.endswith(DOCUMENTS):
                rest = [one for one in paths if one != path]
                counts["left_out"] += 1
                counts["named"] += path in alarms(rest)
                counts["named_before"] += path in alarms_before(rest)
    return {
        "changes": counts["changes"],
        **{way: round(counts[way] / max(1, counts["changes"]), 2) for way in ("alarms_before", "alarms")},
        "left_out": counts["left_out"],
        **{way: round(counts[way] / max(1, counts["left_out"]), 2) for way in ("named_before", "named")},
    }
