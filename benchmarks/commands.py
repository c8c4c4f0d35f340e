"""`python -m benchmarks`: speed and retrieval quality, measured on this machine; a function a benchmark."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import typer
from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TaskID

from benchmarks.databases import Progress
from benchmarks.timing import Report
from pgmem.cli.group import CONTEXT, Group
from pgmem.cli.options import Rows, exit_on_error, given, stop, terminal
from pgmem.data_folder import running_dsn
from pgmem.errors import InvalidArgument
from pgmem.memory import Memory
from pgmem.server.embedded import temporary_server
from pgmem.settings import load

R = TypeVar("R")

app = typer.Typer(
    cls=Group,
    add_completion=False,
    help="Measure speed and retrieval quality on this machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)

JsonFile = Annotated[
    Path | None, typer.Option("--json", dir_okay=False, help="Write the figures to this file.")
]
Databases = Annotated[
    str | None,
    typer.Option("--dsn", help="A server to create databases on. Default: a temporary embedded one."),
]


@app.command()
def speed(
    json_file: JsonFile = None,
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--size", min=10, help="Decisions in the project; repeat to compare. Default: 1000 and 100000."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few rounds on little data: a smoke test.")] = False,
    dsn: Databases = None,
) -> None:
    """Measure saves, retrieval, search, graph queries and startup, each beside a floor of the same run."""
    from benchmarks.speed import run

    wanted = partial(run, dsn, sizes=sizes or (1_000, 100_000), quick=quick)
    report = _reported(json_file, lambda bars: anyio.run(partial(wanted, progress=bars)))
    rows = []
    for row in report.rows:
        times = (row.p50_ms, row.p95_ms, row.floor_p50_ms, row.ratio, row.rate_per_s)
        rows.append((row.name, row.n, *times, row.share, row.bar, _met(row.met)))
    _print(
        f"PostgreSQL {report.server_version}, tier {report.tier}; p50 and p95 in ms",
        ("", "n", "p50", "p95", "floor p50", "ratio", "a second", "share", "bar", "met"),
        rows,
    )


ServerDsn = Annotated[
    str | None,
    typer.Option(
        "--dsn", help="A server on this machine to create databases on. Default: a temporary embedded one."
    ),
]


@app.command()
def calls(
    json_file: JsonFile = None,
    dsn: Databases = None,
    beside: Annotated[
        str | None, typer.Option("--beside", metavar="COMMIT", help="Count this commit too, for ratios.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=5, help="Calls of each kind.")] = 30,
    record: Annotated[
        bool, typer.Option("--record", help="Write the figures to benchmarks/calls.json.")
    ] = False,
) -> None:
    """Count the functions that calls run in client and server; fail where there are 3 % more than recorded."""
    from benchmarks.calls import RECORDED, grown, run

    with temporary_server(dsn) as (server, _):
        report, figures = _reported(
            None, lambda bars: run(server, beside=beside, rounds=rounds, progress=bars)
        )
    if json_file is not None:
        json_file.write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    rows = []
    for row in report.rows:
        shares = (row.beside, row.beside_cpu) if beside is not None else ()
        rows.append((row.call, row.interface, row.python, row.c, row.cpu_ms, row.server, *shares))
    of_beside = (f"of {beside}", "CPU") if beside is not None else ()
    headings = ("call", "interface", "Python", "C", "CPU ms", "server", *of_beside)
    _print("function calls in client and server, and processor time of the client", headings, rows)
    if record:
        RECORDED.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else None
    if recorded is None or any(recorded[name] != figures[name] for name in ("python", "rounds")):
        stop(f"no figures are recorded for Python {figures['python']} and {rounds} rounds: use --record")
    if sentences := grown(figures, recorded):
        stop("\n".join(sentences))


@app.command()
def fairness(json_file: JsonFile = None, dsn: ServerDsn = None) -> None:
    """Measure over HTTP what one tenant notices beside attacks: floods, slow forms, unread answers, large pages."""
    from benchmarks.fairness import run

    with temporary_server(dsn) as (server, _):
        report = _reported(json_file, lambda bars: anyio.run(partial(run, server, progress=bars)))
    rows = []
    for row in report.rows:
        answers = ", ".join(f"{count} × {status}" for status, count in sorted(row.flood_answers.items()))
        figures = (row.quiet_p95_ms, row.flooded_p95_ms, row.ratio, "< 3", _met(row.met))
        rows.append((row.flood, row.call, *figures, answers))
    _print(
        "p95 in ms of one tenant, quiet and beside an attack",
        ("attack", "call", "quiet", "attacked", "ratio", "bar", "met", "answers to the attacker"),
        rows,
    )


@app.command()
def http(json_file: JsonFile = None, dsn: ServerDsn = None) -> None:
    """Measure calls a second and a core over HTTP and stdio beside the library."""
    from benchmarks.http import run

    with temporary_server(dsn) as (server, _):
        report = _reported(json_file, lambda bars: anyio.run(partial(run, server, progress=bars)))
    rows = []
    for row in report.rows:
        figures = (row.calls_per_s, row.calls_per_core_s, row.share)
        rows.append((row.call, row.interface, *figures, "" if row.met is None else "≥ 0.5", _met(row.met)))
    _print(
        "calls a second, by the clock and by the processor time of server and PostgreSQL",
        ("call", "interface", "a second", "a second and core", "of the library", "bar", "met"),
        rows,
    )


def _reported(json_file: Path | None, measure: Callable[[Progress], R]) -> R:
    """Run a benchmark with progress bars; return its report, and write it to the file."""
    with _progress_bars() as progress:
        report = exit_on_error(lambda: measure(progress))
    if json_file is not None:
        figures = asdict(report) if isinstance(report, Report) else report
        json_file.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return report


def _print(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    terminal().print(Rows(headings, rows, title))


def _print_means(title: str, metrics: Sequence[str], rows: dict[str, dict[str, Any]]) -> None:
    """Print a table of mean metrics; a row that no question counts for is left out."""
    figures = (
        (name, row["n"], *(f"{row[metric]:.1f}" for metric in metrics))
        for name, row in rows.items()
        if row["n"]
    )
    _print(title, ("", "n", *metrics), figures)


def _met(met: bool | None) -> str:
    return {None: "", True: "yes", False: "NO"}[met]


DataFile = Annotated[
    Path,
    typer.Option("--data", exists=True, dir_okay=False, help="The data set, which is not part of pgmem."),
]
Provider = Annotated[
    str | None, typer.Option("--provider", help="The embedding provider. Default: PGMEM_EMBEDDING_PROVIDER.")
]
Model = Annotated[str | None, typer.Option("--model", help="The provider's model, or the directory of one.")]
StoreDsn = Annotated[
    str | None, typer.Option("--dsn", help="An empty store to fill. Default: a temporary embedded one.")
]


@dataclass(frozen=True)
class EmptyStore:
    """The store that a benchmark fills, the provider of its vectors, and the file of its figures."""

    dsn: str | None
    provider: str | None
    model: str | None
    json_file: Path | None
    data: str = "--data"
    """Return the name of the data set, for the message that it is in another layout."""

    def measure(
        self, run: Callable[..., Awaitable[dict[str, Any]]], *arguments: Any, **options: Any
    ) -> dict[str, Any]:
        """Run a benchmark on the store, with progress bars; return the report, and write it to the file."""

        async def start(progress: Progress) -> dict[str, Any]:
            with tempfile.TemporaryDirectory(prefix="pgmem-bench-", ignore_cleanup_errors=True) as folder:
                # Never the DSN of the environment: that store may be in use.
                settings = load(
                    data_dir=Path(folder), embedding_provider=self.provider, embedding_model=self.model
                )
                settings = settings.model_copy(update={"dsn": self.dsn})
                async with Memory.connect(settings, source="sdk") as memory:
                    await self._require_empty(memory)
                    return await run(memory, *arguments, progress=progress, **options)

        try:
            return _reported(self.json_file, lambda bars: anyio.run(start, bars))
        except ValueError as error:
            stop(f"{self.data}: {error}", 2)

    async def _require_empty(self, memory: Memory) -> None:
        if held := (await memory.status()).memories:
            raise InvalidArgument(f"--dsn: the store holds {sum(held.values())} memories; name an empty one.")
        if self.provider not in (None, "none") and not await memory.register_embedder():
            raise InvalidArgument(
                f"--provider {self.provider}: it gives no vectors, so the figures would be those of full text; "
                "the warning above says why."
            )


def _empty_store(
    json_file: JsonFile = None, provider: Provider = None, model: Model = None, dsn: StoreDsn = None
) -> EmptyStore:
    return EmptyStore(dsn, provider, model, json_file)


store_command = given(_empty_store)
"""Adds `--json`, `--provider`, `--model` and `--dsn` to a command, which receives its `EmptyStore`."""


@app.command()
@store_command
def locomo(
    store: EmptyStore,
    data: DataFile,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Ask again without each signal, to show its effect.")
    ] = False,
) -> None:
    """Measure how well search finds the evidence of LoCoMo's questions."""
    from benchmarks import locomo as bench

    report = store.measure(bench.run, data, ablation=ablation)
    metrics = ("R@1", "R@5", "R@10", "R@20", "hit@10", "all@10", "NDCG@10", "MRR")
    for split, means in report["splits"].items():
        rows = {}
        for unit in ("turn", "session"):
            rows[f"by {unit}"] = means[unit]
            rows[f"by {unit}, no adversarial"] = means[unit]["without_adversarial"]
            if unit == "turn":
                rows |= means[unit]["by_category"]
        n, error = means["turn"]["n"], means["turn"].get("SE(R@10)")
        _print_means(
            f"LoCoMo, {split} conversations, {report['provider']}: {n} questions, SE(R@10) {error}",
            metrics,
            rows,
        )
        _print_trust(report)
    if ablation:
        splits = ("odd", "all")
        whole = {split: report["splits"][split]["turn"] for split in splits}
        _print(
            "Turn R@10 / NDCG@10 when a signal is left out",
            ("", *splits),
            (
                (name, *(f"{row[split]['R@10']:.1f} / {row[split]['NDCG@10']:.1f}" for split in splits))
                for name, row in {"with every signal": whole, **report["ablation"]}.items()
            ),
        )


def _print_trust(figures: dict[str, Any]) -> None:
    """Abstention and budgeted recall, where a report has them."""
    for name in ("abstention", "budget"):
        if figures.get(name):
            terminal().print(
                f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures[name].items())
            )


@app.command()
@store_command
def beam(
    store: EmptyStore,
    data: Annotated[
        Path, typer.Option("--data", exists=True, file_okay=False, help="A folder with one folder a chat.")
    ],
) -> None:
    """Measure how well the evidence of BEAM's questions about long chats is found, by message."""
    from benchmarks import beam as bench

    report = store.measure(bench.run, data)
    _print_means(
        f"BEAM, {report['provider']}: {report['questions']} questions about {report['messages']} messages",
        ("R@1", "R@5", "R@10", "all@10", "NDCG@10", "MRR"),
        {"all": report["all"], **report["by_kind"]},
    )
    for name, spread in report["leave_one_out"].items():
        terminal().print(f"{name} when one chat is left out: {spread['least']} to {spread['most']}")
    _print_trust(report)


@app.command()
@store_command
def hops(
    store: EmptyStore,
    talks: Annotated[Path, typer.Option("--locomo", exists=True, dir_okay=False, help="LoCoMo's file.")],
    chats: Annotated[
        Path,
        typer.Option("--beam", exists=True, file_okay=False, help="BEAM's folder, with one folder a chat."),
    ],
) -> None:
    """Measure what a further step from the best results of a search would bring, on LoCoMo and BEAM."""
    from benchmarks import hops as bench

    steps = replace(store, data="--locomo, --beam").measure(bench.run, talks, chats)["steps"]
    corpora = list(next(iter(steps.values())))
    _print(
        "R@10 / NDCG@10 of a step",
        ("", *corpora),
        (
            (name, *(f"{row[corpus]['R@10']:.1f} / {row[corpus]['NDCG@10']:.1f}" for corpus in corpora))
            for name, row in steps.items()
        ),
    )


@app.command()
@store_command
def longmemeval(store: EmptyStore, data: DataFile) -> None:
    """Measure how well search finds the evidence of LongMemEval's questions, by session and by turn."""
    from benchmarks import longmemeval as bench

    report = store.measure(bench.run, data)
    rows = {f"by {unit}": report[unit] for unit in ("session", "turn")}
    rows |= {f"{kind}, by session": means["session"] for kind, means in report["by_type"].items()}
    _print_means(
        f"LongMemEval's schema, {report['provider']}: {report['questions']} questions, "
        f"{report['left_out']} abstention questions left out",
        ("any@1", "any@5", "any@10", "all@5", "all@10", "NDCG@10"),
        rows,
    )
    _print_trust(report)


@app.command()
@store_command
def notes(
    store: EmptyStore,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            exists=True,
            file_okay=False,
            help="A git work tree with Markdown files, or a folder of notes with questions.",
        ),
    ],
) -> None:
    """Measure how written notes are found by commit subjects and identifiers, beside Okapi BM25."""
    from benchmarks import notes as bench

    report = store.measure(bench.run, data)
    metrics = ("hit@1", "R@5", "R@10", "MRR")
    rows = []
    for name, row in report["sets"].items():
        for kind, part in row["kinds"].items():
            if part["pgmem"]["n"]:
                compared = (f"{part['won']}:{part['lost']}", f"{part['p']:.2g}")
                for who, beside in (("pgmem", compared), ("okapi", ("", ""))):
                    figures = (f"{part[who][metric]:.1f}" for metric in metrics)
                    rows.append((f"{name}, {kind}", who, part["pgmem"]["n"], *figures, *beside))
    _print(
        f"notes, {report['provider']}: first places that only one has right (won:lost) and p of the sign test; "
        f"a search p50 {report['p50_ms']} ms",
        ("", "", "n", *metrics, "won:lost", "p"),
        rows,
    )
    if report["confidence"]:
        terminal().print(
            "own questions, and those of the next set: "
            + ", ".join(f"{key} {value}" for key, value in report["confidence"].items())
        )


@app.command()
@store_command
def shown(store: EmptyStore) -> None:
    """Measure what an agent is shown of 80 notes asked for in two styles, and of 40 questions without an answer."""
    from benchmarks import shown as bench

    report = store.measure(bench.run)
    metrics = ("n", "first", "shown", "results", "yes", "yes_at_floor")
    _print(
        f"shown, {report['provider']}: right notes first for a person, shown to an agent, and answered; floor "
        f"{report['floor']} of the first set; {report['alike']} of {report['asked']} lists are in a person's order",
        ("", *metrics),
        [
            (f"{name}, {style}", *(row[metric] for metric in metrics))
            for name, styles in report["sets"].items()
            for style, row in styles.items()
        ],
    )


@app.command()
@store_command
def languages(store: EmptyStore) -> None:
    """Measure how notes in twelve languages are found by another form of a word, and by a name beside it."""
    from benchmarks import languages as bench

    report = store.measure(bench.run)
    metrics = ("n", "words", "among_three", "names")
    _print(
        f"languages, {report['provider']}: notes that are first by a word and by a name",
        ("", *metrics),
        [(name, *(row[metric] for metric in metrics)) for name, row in report["languages"].items()],
    )


@app.command()
@store_command
def facts(store: EmptyStore, data: DataFile) -> None:
    """Measure whether the newest of contradicting facts is first: FactConsolidation, as contexts and as facts."""
    from benchmarks import facts as bench

    report = store.measure(bench.run, data)
    metrics = ("questions", "first", "pairs", "above", "among five")
    _print(
        f"FactConsolidation, {report['provider']}: newest fact first, and a stale one above it or among five, in %",
        ("", *metrics),
        ((f"{row['facts']} {row['saved']}", *(row[name] for name in metrics)) for row in report["rows"]),
    )


@app.command()
@store_command
def decisions(
    store: EmptyStore,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", exists=True, dir_okay=False, help="Other sets of pairs.")
    ] = None,
) -> None:
    """Save pairs of decisions and notes: what is named, replaced, in conflict, and settled in one call."""
    from benchmarks import decisions as bench

    report = store.measure(bench.run, pairs or bench.PAIRS)
    for names, columns in (
        ("decisions", ("named", "conflict", "replaced", "waits", "written", "settled", "found")),
        ("notes", ("conflict", "both", "marked")),
    ):
        rows = [row for row in report["rows"] if ("both" in row) == (names == "notes")]
        _print(
            f"Pairs of {names}: how many",
            ("", "half", "pairs", *columns),
            (
                (row["set"], row["half"], row["pairs"], *(row.get(name, "") for name in columns))
                for row in rows
            ),
        )
    _print("Pairs with another outcome than expected", ("set", "first", "second"), report["missed"])


@app.command()
@store_command
def alarms(
    store: EmptyStore,
    talks: Annotated[
        Path | None, typer.Option("--locomo", exists=True, dir_okay=False, help="LoCoMo's file.")
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts",
            exists=True,
            dir_okay=False,
            help="Texts, one a line, or descriptions of Debian's packages.",
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="How many of the texts.")] = 5_000,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Save the first sentence of each as a decision.")
    ] = False,
) -> None:
    """Count the contradictions that saves name among texts that do not contradict each other; show ten."""
    from benchmarks import alarms as bench

    if talks is None and texts is None:
        stop("--locomo or --texts: name at least one file.", 2)
    report = replace(store, data="--locomo, --texts").measure(bench.run, talks, texts, count, decisions)
    for row in report["rows"]:
        _print(
            f"{row['corpus']}: {len(row['alarms'])} alarms in {row['saves']} saves: "
            + ", ".join(f"{count} {outcome}" for outcome, count in row["outcomes"].items()),
            ("axis", "theirs", "ours"),
            row["alarms"][:10],
        )


@app.command()
@store_command
def precision(
    store: EmptyStore,
    data: Annotated[
        Path,
        typer.Option(
            "--data", exists=True, file_okay=False, help="The folder of precisionMemBench's fixtures."
        ),
    ],
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Forget what the data calls superseded or resolved.")
    ] = False,
) -> None:
    """Measure whether a search brings what answers and nothing else: precisionMemBench."""
    from benchmarks import precision as bench

    report = store.measure(bench.run, data, superseded=superseded)
    metrics = ("active_passed", "active", "precision", "recall", "p50_ms")
    _print(
        f"precisionMemBench, {report['provider']}: {report['passed']} of {report['cases']} cases pass",
        metrics,
        [[report[name] for name in metrics]],
    )
    terminal().print(f"{report['turns_passed']} of {report['turns']} turns of sessions pass")
    for case, failed in report["failures"].items():
        terminal().print(f"{case}: {'; '.join(failed)}", highlight=False)


@app.command()
def poison(
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts", exists=True, dir_okay=False, help="Harmless texts, one a line: how many would be held."
        ),
    ] = None,
    json_file: JsonFile = None,
    dsn: ServerDsn = None,
) -> None:
    """Write what poisons a memory as an agent, and read it back in another session (agent-memory-guard)."""
    from benchmarks import poison

    report = _reported(json_file, lambda progress: poison.measure(dsn, texts, progress))
    rows = [(name, report["runs"][name]) for name in report["runs"]]
    _print(
        f"{report['succeeded']} of {report['attacks']} attacks succeeded, {report['kept']} of {report['benign']}"
        f" benign writes kept; score {report['score']:.0f}, grade {report['grade']}",
        ("scenario", "outcome"),
        rows,
    )
    if texts is not None:
        shown = [(kind, text[:100]) for kind, text in report["alarms"][:10]]
        _print(f"{len(report['alarms'])} of {report['texts']} texts would be held", ("form", "text"), shown)


@app.command()
def steering(
    shown: Annotated[bool, typer.Option("--texts", help="Print the texts that are judged wrongly.")] = False,
    dsn: ServerDsn = None,
) -> None:
    """Count the honest notes that the rule about steering texts holds, and the ill ones that pass."""
    import psycopg

    from benchmarks import steering as bench
    from benchmarks.databases import filled_database

    with (
        temporary_server(dsn) as (server, _),
        filled_database(server, 10) as database,
        psycopg.connect(database) as connection,
    ):
        found = bench.held(connection)
    _print("Held", ("texts", "half", "held"), [(one[0], one[1], f"{one[3]} of {one[2]}") for one in found])
    for text in (text for one in found for text in one[4] if shown):
        terminal().print(text, highlight=False, markup=False)


@app.command()
def texts(
    data: DataFile,
    json_file: JsonFile = None,
    count: Annotated[int, typer.Option("--texts", min=10, help="Texts to save.")] = 50_000,
    asked: Annotated[int, typer.Option("--queries", min=1, help="Queries to put.")] = 1_000,
    dsn: StoreDsn = None,
) -> None:
    """Measure what search by the rarest words loses and saves beside BM25 over all matches, on texts of a file."""
    from benchmarks import texts as bench

    store = EmptyStore(dsn, "none", None, json_file)
    report = store.measure(bench.run, data, texts=count, asked=asked)
    terminal().print(
        f"{report['queries']} queries on {report['texts']} texts: {report['kept']:.1%} of the best ten are kept"
    )
    for way in ("bounded", "full"):
        terminal().print(f"{way}: p50 {report[way]['p50_ms']:.2f} ms, p95 {report[way]['p95_ms']:.2f} ms")


@app.command()
def hooks(
    json_file: JsonFile = None,
    memories: Annotated[int, typer.Option("--memories", min=10, help="Decisions in the project.")] = 1_000,
    rounds: Annotated[int, typer.Option("--rounds", min=2, help="Sessions to measure.")] = 40,
    prompts_only: Annotated[
        bool, typer.Option("--prompts-only", help="Count right lines alone, of tickets.json.")
    ] = False,
) -> None:
    """Measure how long a session waits for each event of `pgmem hook`, or which prompts it answers rightly."""
    from benchmarks import hooks as bench

    async def run(progress: Progress) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pgmem-bench-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o711)  # if root runs this, the server has another user
            settings = load(data_dir=Path(folder) / "data").model_copy(update={"dsn": None})
            async with Memory.connect(settings, source="sdk") as memory:
                place = Path(folder) / "work"
                place.mkdir()
                environment = {"PGMEM_DATA_DIR": str(settings.data_dir)}
                if prompts_only:
                    dsn = running_dsn(None, settings.data_dir)
                    assert dsn is not None
                    return await bench.tickets(memory, dsn, place, progress=progress)
                return await bench.run(
                    memory, place, environment, memories=memories, rounds=rounds, progress=progress
                )

    report = _reported(json_file, lambda bars: anyio.run(run, bars))
    if prompts_only:
        names = ("store", "half", "prompts", "right", "lines", "right_lines", "with_opening", "answered")
        _print("Prompts: how many", names, [tuple(row[name] for name in names) for row in report["rows"]])
        _print("Not brought", ("store", "prompt"), report["missed"])
        return
    rows = []
    for row in report["rows"]:
        figures = (f"{row[name]:.0f}" for name in ("p50_ms", "p95_ms", "cpu_p50_ms"))
        rows.append((row["event"], row["n"], *figures, _met(row["met"])))
    _print(
        f"pgmem hook as a process, {memories} memories; ms; bar: p95 up to {report['bar_ms']:g}",
        ("event", "n", "p50", "p95", "processor p50", "met"),
        rows,
    )
    typer.echo(f"{report['prompts']['answered']} of {report['prompts']['asked']} prompts were answered.")


@app.command()
def week(
    json_file: JsonFile = None,
    shown: Annotated[bool, typer.Option("--openings", help="Print each opening.")] = False,
) -> None:
    """Replay twelve sessions of a week through the hook, and count what each opening holds of what is open."""
    from benchmarks import week as bench

    async def run(progress: Progress) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pgmem-bench-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o711)  # if root runs this, the server has another user
            settings = load(data_dir=Path(folder) / "data").model_copy(update={"dsn": None})
            async with Memory.connect(settings, source="mcp") as memory:
                dsn = running_dsn(None, settings.data_dir)
                assert dsn is not None
                return await bench.run(memory, dsn, Path(folder), progress=progress)

    report = _reported(json_file, lambda bars: anyio.run(run, bars))
    names = ("session", "tokens", "open", "shown", "decisions", "listed", "work")
    _print("Openings of a week", names, [tuple(row[name] for name in names) for row in report["rows"]])
    for text in report["openings"] if shown else ():
        typer.echo(text)


@app.command()
def acts(
    json_file: JsonFile = None,
    rounds: Annotated[int, typer.Option("--rounds", min=2, help="Events to time, of each kind.")] = 40,
) -> None:
    """Measure which rules come before a command and which repair after an error, and how long a session waits."""
    from benchmarks import acts as bench

    async def run(progress: Progress) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pgmem-bench-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o711)  # if root runs this, the server has another user
            settings = load(data_dir=Path(folder) / "data").model_copy(update={"dsn": None})
            async with (
                Memory.connect(settings, source="sdk") as agents,
                Memory.connect(settings, source="cli") as persons,
            ):
                environment = {"PGMEM_DATA_DIR": str(settings.data_dir)}
                return await bench.run(
                    persons, agents, Path(folder), environment, rounds=rounds, progress=progress
                )

    report = _reported(json_file, lambda bars: anyio.run(run, bars))
    rows = []
    for name in ("acts", "errors"):
        least, _, most, _ = bench.BARS[name]
        for part in report[name]:
            if part == "missed" or not report[name][part]["foreign"]:
                continue
            found = report[name][part]
            met = found["met"] >= least and found["alarms"] <= most if part == "known" else None
            said = (
                f"{found['met']} of {found['of']}",
                f"{found['alarms']} of {found['foreign']}",
                found["beside"],
            )
            rows.append((f"{name}, {part}", *said, _met(met)))
        for missed in report[name]["missed"]:
            typer.echo(f"{name}: {missed['case']}: wanted {missed['wanted']!r}, brought {missed['brought']}")
    _print("Brought at the act", ("cases", "met", "alarms", "others beside", "met"), rows)
    times = [
        (
            row["event"],
            row["n"],
            f"{row['p50_ms']:.0f}",
            f"{row['p95_ms']:.0f}",
            f"{row['cpu_p95_ms']:.0f}",
            _met(row["p95_ms"] <= row["bar_ms"]),
        )
        for row in report["times"]
    ]
    _print("pgmem hook as a process, ms", ("event", "n", "p50", "p95", "p95 of its work", "met"), times)
    for name, listed in report["lists"].items():
        counted = listed["tokens"] or "not counted, pip install bpe-openai"
        typer.echo(
            f"toolset {name}: {listed['tools']} tools, tokens as a model sees them (o200k_base): {counted}"
        )


@app.command()
def rules(
    talks: Annotated[
        Path | None, typer.Option("--locomo", exists=True, dir_okay=False, help="LoCoMo's file.")
    ] = None,
    notes: Annotated[
        Path | None, typer.Option("--notes", exists=True, dir_okay=False, help="A file of notes.")
    ] = None,
    shown: Annotated[bool, typer.Option("--shown", help="Print each pair that is named.")] = False,
    json_file: JsonFile = None,
    dsn: Databases = None,
) -> None:
    """Compare rules with each other: contradictions and copies named, and alarms among other texts."""
    import psycopg

    from benchmarks import rules as bench
    from benchmarks.databases import filled_database

    with (
        temporary_server(dsn) as (server, _),
        filled_database(server, 10) as database,
        psycopg.connect(database) as connection,
    ):
        report = _reported(json_file, lambda bars: bench.run(connection, talks, notes, progress=bars))
    _print(
        "Pairs of rules: how many are named",
        ("set", "pairs", "against", "copy"),
        ((row["set"], row["pairs"], row["against"], row["copy"]) for row in report["pairs"]),
    )
    _print(
        "Pairs named among other texts, all compared with all",
        ("texts", "number", "against", "copy", "s"),
        (
            (row["corpus"], row["texts"], row["against"], row["copy"], f"{row['seconds']:.1f}")
            for row in report["alarms"]
        ),
    )
    for one in (one for row in report["alarms"] for one in row["named"] if shown):
        terminal().print(" | ".join(one).replace("\n", " "), highlight=False, markup=False)


@app.command()
def ui(
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", exists=True, help="Real texts: LoCoMo's file or a folder of BEAM; repeat for several."
        ),
    ] = None,
    memories: Annotated[int, typer.Option(min=100, help="Memories in the store.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=5, help="Requests for each page.")] = 30,
    json_file: JsonFile = None,
    dsn: Databases = None,
) -> None:
    """Measure the pages of pgmem ui on a large store: server time and weight; exit code 1 if a bar is missed."""
    from benchmarks import ui as bench

    wanted = partial(bench.run, dsn, memories=memories, rounds=rounds, data=data or ())
    report = _reported(json_file, lambda bars: wanted(progress=bars))
    rows = []
    for row in report["pages"]:
        met = row["p95_ms"] <= report["bar_ms"] and row["weight"] <= report["bar_weight"]
        figures = (f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}", f"{row['weight'] / 1000:.1f}")
        rows.append((row["page"], *figures, _met(met)))
    _print(
        f"{report['memories']} memories; bars: p95 {report['bar_ms']:g} ms,"
        f" {report['bar_weight'] // 1000} kB compressed",
        ("page", "p50 ms", "p95 ms", "kB", "met"),
        rows,
    )
    if not report["met"]:
        raise typer.Exit(1)


@contextmanager
def _progress_bars() -> Iterator[Progress]:
    """One progress bar per step on stderr, if that is a terminal."""
    console = Console(stderr=True)
    with Bars(console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield advance


@app.command()
def cards(
    repository: Annotated[
        Path,
        typer.Option("--repository", exists=True, file_okay=False, help="A git repository with its history."),
    ],
    json_file: JsonFile = None,
    skip: Annotated[
        int, typer.Option("--skip", min=0, help="Leave out this many newer commits, to ask about older ones.")
    ] = 0,
    tree: Annotated[
        int, typer.Option("--tree", min=0, help="Time a tree of so many installed Python files too; 0: none.")
    ] = 0,
    commits: Annotated[
        int, typer.Option("--commits", min=0, help="Commits of that tree's history.")
    ] = 20_000,
    dsn: Databases = None,
) -> None:
    """Measure how well cards predict joint changes and the tests of a file, and how fast a tree is read."""
    from benchmarks.held_back import IDLE, measure
    from benchmarks.tree import time_tree

    def run(progress: Progress) -> dict[str, Any]:
        report = measure(repository, progress, dsn, skip=skip)
        return {**report, "times": time_tree(dsn, tree, commits, progress)} if tree else report

    report = _reported(json_file, run)
    precision = report["precision"]
    ways = (
        ("what_changes", "what_changes"),
        ("cards", "ranking"),
        ("co_change", "changed together"),
        ("name", "same name"),
        ("most_changed", "most changed files"),
    )
    rows = [(name, precision[way]["files"], precision[way]["tests"]) for way, name in ways]
    rows.append(("best possible", report["best_possible"]["files"], report["best_possible"]["tests"]))
    rows.append(("ranking / best baseline", report["ratio"]["files"], report["ratio"]["tests"]))
    rows.append(("questions", report["questions"].get("files", 0), report["questions"].get("tests", 0)))
    _print(
        f"{report['repository']}, {report['commits']} commits after {report['base'][:9]}",
        ("", "changes with, P@5", "tests, P@3"),
        rows,
    )
    for name, value in report["recall_at_10"].items():
        typer.echo(f"changes with, R@10, {dict(ways)[name]}: {value}")
    within = report["within_five"]
    typer.echo(
        f"A file of the commit within five: which_files {within['which_files']}, BM25 of the texts {within['bm25']}, "
        f"of {within['of']} messages"
    )
    typer.echo(
        f"Brought with a prompt: files for {within['clear']} of {within['of']} subjects, right for "
        f"{within['clear_right']}; for {within['idle']} of {len(IDLE)} prompts about nothing here"
    )
    for name, value in (report["reviews"] | report.get("times", {})).items():
        typer.echo(f"{name.replace('_', ' ')}: {value}")


@app.command()
def planted(
    repository: Annotated[
        list[Path],
        typer.Option("--repository", exists=True, file_okay=False, help="A git repository; repeatable."),
    ],
    count: Annotated[int, typer.Option("--count", min=1, help="Decisions in each.")] = 9,
    json_file: JsonFile = None,
    dsn: Databases = None,
) -> None:
    """Plant decisions in the messages of real commits, and count those that reach who opens the file."""
    from benchmarks.planted import measure

    def run(progress: Progress) -> list[dict[str, Any]]:
        return [measure(one, progress, dsn, count=count) for one in repository]

    reports = _reported(json_file, run)
    rows = [[one[key] for key in ("repository", "planted", "any_sentence", "whole")] for one in reports]
    total = ["together", *(sum(row[place] for row in rows) for place in (1, 2, 3))]
    _print("decisions on the first screen", ("", "planted", "any sentence", "whole"), [*rows, total])
    for row in (row for one in reports for row in one["rows"] if not row["shown"]):
        typer.echo(
            f"missed: {row['path']} of {row['commit'][:9]}, {row['newer']} newer ones explain the file"
        )
