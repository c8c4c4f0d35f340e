"""`pgmem worker`: maintenance of a store in rounds; any number of workers may run."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from pgmem import registry
from pgmem.cli.options import Store, exit_on_error, store_command
from pgmem.errors import DatabaseUnavailable, summary
from pgmem.telemetry import logs, tracing
from pgmem.worker.maintenance import tried

if TYPE_CHECKING:
    from pgmem.memory import Memory
    from pgmem.settings import Settings
    from pgmem.worker.extractor import Extractor

log = logging.getLogger("pgmem")

_COUNTED = ("calls", "tokens", "stored", "for_review", "rejected", "unreadable")
"""The counts of a round of extraction."""
_GRACE_S = 10.0  # for the current batch, after a signal to stop


@store_command
def worker(
    store: Store,
    once: Annotated[bool, typer.Option("--once", help="Run one round and end.")] = False,
    health_port: Annotated[
        int | None,
        typer.Option(
            "--health-port",
            min=1,
            max=65535,
            help="Serve /health/live, /health/ready and /metrics on this port.",
        ),
    ] = None,
    health_host: Annotated[
        str, typer.Option("--health-host", help="The address of --health-port.")
    ] = "127.0.0.1",
) -> None:
    """Maintain the store: embed and index texts, send queued saves, delete expired rows.

    With PGMEM_EXTRACTION_MODEL it also asks that model which turns to keep as memories, up to extraction_tokens
    a day.

    Behind a front each cell needs a worker; at the front itself a worker only sends queued saves.

    Any number of workers may run at once. SIGTERM and Ctrl-C end one after its current batch, within 10 seconds.
    """
    settings = store.settings
    if once:
        from pgmem.worker.extractor import Extractor

        done = store.run(lambda m: _round(m, Extractor.of(settings)))
        if not store.print_json(done):
            typer.echo(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in done.items()))
        return
    logs.configure(settings)
    if settings.otel:
        exit_on_error(tracing.export)
    exit_on_error(lambda: anyio.run(_rounds, settings, health_host, health_port))


async def _round(
    memory: Memory, extractor: Extractor | None, stop: Callable[[], bool] = lambda: False
) -> dict[str, int]:
    """Run one round of maintenance, and of extraction if a model is set; count the work of each."""
    done = await memory.maintain(stop)
    for place in registry.found("ROUNDS"):
        done |= await registry.imported(place)(memory)
    if extractor is not None:
        with tried("no turn is extracted"):
            done |= await _extracted(memory, extractor, stop)
    return done


async def _extracted(memory: Memory, extractor: Extractor, stop: Callable[[], bool]) -> dict[str, int]:
    """Ask the model which facts of the waiting turns should last; count its items."""
    found = await extractor.round(memory, stop)
    of_today = f"{found.spent} of {found.budget} tokens of today"
    if found.stopped is not None:
        log.warning("extraction stopped: %s; %s are spent", found.stopped, of_today)
    elif found.calls:
        log.info("extraction completed: %s spent", of_today)
    return {f"extraction_{name}": getattr(found, name) for name in _COUNTED}


async def _rounds(settings: Settings, host: str, port: int | None) -> None:
    from pgmem.memory import Memory
    from pgmem.worker.extractor import Extractor

    stopping = anyio.Event()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                async for _ in signals:
                    if stopping.is_set():
                        break  # the second signal
                    stopping.set()
                    tasks.start_soon(end)
                tasks.cancel_scope.cancel()

            async def end() -> None:
                await anyio.sleep(_GRACE_S)
                # Texts that are claimed and not stored become free when their lease expires.
                tasks.cancel_scope.cancel()

            tasks.start_soon(stop)
            async with Memory.connect(settings, source="cli") as memory:
                metrics = None
                if port is not None:
                    from pgmem.telemetry.metrics import Metrics
                    from pgmem.telemetry.probes import Probes, serve

                    metrics = Metrics()
                    memory.watch(metrics.record)
                    await tasks.start(serve, Probes(memory, metrics, settings.metrics_token), host, port)
                for place in registry.found("BESIDE"):
                    if (work := registry.imported(place)(settings)) is not None:
                        tasks.start_soon(work, memory, settings)
                extractor = Extractor.of(settings)
                every = f"every {settings.worker_interval_s:g} s"
                asked = ""
                if extractor is not None:
                    budget = (await memory.spend_extraction_tokens(0)).budget
                    asked = (
                        f"; turns go to {extractor.model.model} at {extractor.model.endpoint}, "
                        f"up to {budget} tokens a day"
                    )
                typer.echo(f"worker: {memory.embedding_model}, {every}{asked}", err=True)
                while not stopping.is_set():
                    try:
                        done = await _round(memory, extractor, stopping.is_set)
                        log.info("maintenance completed", extra=done)
                        if metrics is not None:
                            metrics.worked(done)
                    except DatabaseUnavailable as error:
                        log.warning("the database does not answer: %s", summary(error))
                    with anyio.move_on_after(settings.worker_interval_s):
                        await stopping.wait()
                tasks.cancel_scope.cancel()  # before the memory is closed below its tasks
