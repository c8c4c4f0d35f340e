"""`pgmem bench`: speed and retrieval quality, measured here."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from pgmem.cli.options import cells, failing, terminal
from pgmem.errors import InvalidArgument
from pgmem.memory import Memory
from pgmem.settings import load

__all__ = ["app"]

Told = Callable[[str, int, int], None]

app = typer.Typer(help="Measure speed and retrieval quality on this machine.", no_args_is_help=True)

JsonFile = Annotated[
    Path | None, typer.Option("--json", dir_okay=False, help="Write the figures to this file.")
]


@app.command()
def speed(
    json_file: JsonFile = None,
    sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--size", min=10, help="Decisions in one project, twice to compare; unset: 1000 and 100000."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rounds on little data: to see that it works.")
    ] = False,
    dsn: Annotated[
        str | None,
        typer.Option("--dsn", help="A server to make databases on; unset: an embedded one of its own."),
    ] = None,
) -> None:
    """Measure saving, retrieving, walking and starting, each beside a floor of the same run."""
    from pgmem.bench.speed import run

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        shown: dict[str, TaskID] = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in shown:
                shown[what] = progress.add_task(what, total=of)
            progress.update(shown[what], completed=done, total=of)

        report = failing(
            lambda: anyio.run(lambda: run(dsn, sizes=sizes or (1_000, 100_000), quick=quick, told=tell))
        )
    if json_file is not None:
        json_file.write_text(
            json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    table = Table(title=f"PostgreSQL {report.server_version}, tier {report.tier}; p50 and p95 in ms")
    for heading in ("", "n", "p50", "p95", "floor p50", "ratio", "a second", "share", "bar", "met"):
        table.add_column(heading, justify="left" if heading in ("", "bar", "met") else "right")
    for row in report.rows:
        met = None if row.met is None else "yes" if row.met else "NO"
        figures = (
            row.p50_ms,
            row.p95_ms,
            row.floor_p50_ms,
            row.ratio,
            row.rate_per_s,
            row.share,
            row.bar,
            met,
        )
        table.add_row(*cells(row.name, row.n, *figures))
    terminal().print(table)


DataFile = Annotated[
    Path, typer.Option("--data", exists=True, dir_okay=False, help="The data, which pgmem does not bring.")
]
Provider = Annotated[str | None, typer.Option("--provider", help="Who embeds; unset: EMBEDDING_PROVIDER.")]
Model = Annotated[
    str | None, typer.Option("--model", help="The provider's model, or a folder that holds one.")
]
StoreDsn = Annotated[
    str | None,
    typer.Option("--dsn", help="An empty store to fill; unset: an embedded one that is gone afterwards."),
]


@app.command()
def locomo(
    data: DataFile,
    json_file: JsonFile = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Ask again without each signal: what does it give?")
    ] = False,
    provider: Provider = None,
    model: Model = None,
    dsn: StoreDsn = None,
) -> None:
    """Measure how well the evidence of LoCoMo's questions is found."""
    from pgmem.bench import locomo as bench

    def start(memory: Memory, tell: Told) -> Awaitable[dict[str, Any]]:
        return bench.run(memory, data, ablation=ablation, told=tell)

    report = _measure(start, provider, model, dsn, json_file)
    console = terminal()
    metrics = ("R@1", "R@5", "R@10", "R@20", "hit@10", "all@10", "NDCG@10", "MRR")
    for split, told in report["splits"].items():
        n, error = told["turn"]["n"], told["turn"].get("SE(R@10)")
        table = Table(
            title=f"LoCoMo, {split} conversations, {report['provider']}: {n} questions, SE(R@10) {error}",
            title_justify="left",
        )
        for heading in ("", "n", *metrics):
            table.add_column(heading, justify="left" if heading == "" else "right")
        for unit in ("turn", "session"):
            rows = {f"by {unit}": told[unit], f"by {unit}, no adversarial": told[unit]["without_adversarial"]}
            if unit == "turn":
                rows |= told[unit]["by_category"]
            for name, row in rows.items():
                if row["n"]:
                    table.add_row(*cells(name, row["n"], *(f"{row[metric]:.1f}" for metric in metrics)))
        console.print(table)
    if ablation:
        table = Table(title="Turn R@10 / NDCG@10 when a signal is left out", title_justify="left")
        for heading in ("", "odd", "all"):
            table.add_column(heading, justify="left" if heading == "" else "right")
        whole = {split: report["splits"][split]["turn"] for split in ("odd", "all")}
        for name, row in {"with every signal": whole, **report["ablation"]}.items():
            shown = (f"{row[split]['R@10']:.1f} / {row[split]['NDCG@10']:.1f}" for split in ("odd", "all"))
            table.add_row(*cells(name, *shown))
        console.print(table)


@app.command()
def longmemeval(
    data: DataFile,
    json_file: JsonFile = None,
    provider: Provider = None,
    model: Model = None,
    dsn: StoreDsn = None,
) -> None:
    """Measure how well the evidence of LongMemEval's questions is found, by session and by turn."""
    from pgmem.bench import longmemeval as bench

    report = _measure(
        lambda memory, tell: bench.run(memory, data, told=tell), provider, model, dsn, json_file
    )
    metrics = ("any@1", "any@5", "any@10", "all@5", "all@10", "NDCG@10")
    table = Table(
        title=f"LongMemEval's schema, {report['provider']}: {report['questions']} questions, "
        f"{report['left_out']} abstention questions left out",
        title_justify="left",
    )
    for heading in ("", "n", *metrics):
        table.add_column(heading, justify="left" if heading == "" else "right")
    rows = {f"by {unit}": report[unit] for unit in ("session", "turn")}
    rows |= {f"{kind}, by session": told["session"] for kind, told in report["by_type"].items()}
    for name, row in rows.items():
        if row["n"]:
            table.add_row(*cells(name, row["n"], *(f"{row[metric]:.1f}" for metric in metrics)))
    terminal().print(table)


def _measure(
    start: Callable[[Memory, Told], Awaitable[dict[str, Any]]],
    provider: str | None,
    model: str | None,
    dsn: str | None,
    json_file: Path | None,
) -> dict[str, Any]:
    """Run a benchmark on an empty store, with a progress bar; its report, written where asked."""
    console = Console(stderr=True)

    async def run(tell: Told) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="pgmem-bench-", ignore_cleanup_errors=True) as folder:
            # A store of its own: not the DSN of the environment, which may be in use.
            settings = load(data_dir=Path(folder), embedding_provider=provider, embedding_model=model)
            settings = settings.model_copy(update={"dsn": dsn})
            async with Memory.connect(settings, source="sdk") as memory:
                held = (await memory.status()).memories
                if held:
                    raise InvalidArgument(
                        f"--dsn: the store holds {sum(held.values())} memories; name an empty one."
                    )
                return await start(memory, tell)

    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        shown: dict[str, TaskID] = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in shown:
                shown[what] = progress.add_task(what, total=of)
            progress.update(shown[what], completed=done, total=of)

        try:
            report = failing(lambda: anyio.run(run, tell))
        except ValueError as error:
            typer.echo(f"pgmem: --data: {error}", err=True)
            raise typer.Exit(2) from None
    if json_file is not None:
        json_file.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return report
