"""Writers of one organisation, and the outcomes of their saves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.features.cells.fleet import Fleet
from tests.waiting import until


class Writers:
    """Processes that save for one organisation through the front, each with an outbox.

    `sources` is a folder with the pgmem that they are programs of; without it this one.
    """

    def __init__(
        self,
        fleet: Fleet,
        org: str,
        folder: Path,
        count: int,
        processes: int = 2,
        pause: float = 0,
        sources: Path | None = None,
    ) -> None:
        self.fleet, self.org = fleet, org
        self.logs = [folder / f"w{n}.jsonl" for n in range(processes)]
        self.boxes = [folder / f"box{n}" for n in range(processes)]
        self.processes = []
        for n, log in enumerate(self.logs):
            name = f"{'e' if sources else 'w'}{n}"  # what a writer says is made of its name
            words = ["write", fleet.dsn, org, name, str(count), str(self.boxes[n]), str(pause)]
            with log.open("w") as out:
                program = [sys.executable, str(Path(__file__).with_name("moving.py")), *words]
                environment = os.environ | ({"PYTHONPATH": str(sources)} if sources else {})
                self.processes.append(subprocess.Popen(program, stdout=out, env=environment))
        with fleet.session() as connection:
            until(
                lambda: all("\n" in log.read_text() for log in self.logs), connection, "no writer has saved"
            )

    def __enter__(self) -> Writers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def acknowledged(self) -> int:
        """How many saves have been acknowledged so far, those that wait in an outbox left out."""
        return sum(log.read_text().count('"saved"') for log in self.logs)

    def stop(self) -> None:
        """End them before they have saved all."""
        assert all(process.poll() is None for process in self.processes), "a writer has ended before"
        for box in self.boxes:
            box.mkdir(mode=0o700, exist_ok=True)  # an outbox is made when something waits
            (box / "stop").touch()

    def check(self, refused: str | None = None) -> Counter[str]:
        """Wait for their end; each save that was acknowledged is there once, and in one cell.

        A save may have failed where it was for this reason.
        """
        for process in self.processes:
            assert process.wait(timeout=300) == 0
        lines = [json.loads(line) for log in self.logs for line in log.read_text().splitlines()]
        if refused is not None:
            lines = [line for line in lines if line[1] != "failed" or refused not in line[3]]
        counts = Counter(status for _, status, _, _ in lines)
        assert counts.keys() <= {"saved", "pending_retry"}, [line for line in lines if line[1] == "failed"][
            :3
        ]
        ids, texts = Counter[str](), Counter[str]()
        saved = "select save_id::text as id from pgmem.save_attempt where org_id = %s and status = 'saved'"
        kept = (
            "select coalesce(props ->> 'content', title) as text from pgmem.node"
            " where org_id = %s and label in ('Context', 'Decision')"
        )
        for number in self.fleet.numbers:
            with self.fleet.cell(number) as cell:
                ids.update(row["id"] for row in cell.execute(saved.encode(), (self.org,)))
                texts.update(row["text"] for row in cell.execute(kept.encode(), (self.org,)))
        assert {line[2] for line in lines} <= ids.keys(), "lost"
        assert max(ids.values()) == 1, "doubled"
        written = Counter(line[0] for line in lines)
        assert {text: texts[text] for text in written} == written
        assert len(self.fleet.rows_of(self.org)) == 1
        return counts
