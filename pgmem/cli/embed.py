"""`pgmem reindex`: vectors for what waits for one, models side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from pgmem.cli.options import Door, at_the_store
from pgmem.errors import InvalidArgument
from pgmem.memory import Memory

__all__ = ["reindex"]


@at_the_store
def reindex(
    door: Door,
    model: Annotated[
        str | None, typer.Option("--model", help="The provider's model; unset: EMBEDDING_MODEL.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Embed every text again, not only those without a vector.")
    ] = False,
    activate: Annotated[
        bool, typer.Option("--activate", help="Let search use this model once every text has its vector.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="NAME", help="Delete another model and its vectors.")
    ] = None,
) -> None:
    """Embed every text that has no vector yet; it may be stopped and started again at any time."""
    if model is not None:
        door = replace(door, settings=door.settings.model_copy(update={"embedding_model": model}))
    console = Console(stderr=True)

    async def run(memory: Memory) -> dict[str, object]:
        if drop is not None and not (everything or activate or model):
            return {"model": drop, "dropped": await memory.drop_model(drop)}
        if not await memory.register_embedder():
            raise InvalidArgument(
                "Nothing is embedded here: EMBEDDING_PROVIDER is none, or the server has no pgvector."
            )
        waiting = await memory.queue_embeddings(everything)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"embedding with {memory.embedding_model}", total=waiting)
            stored = await memory.embed_waiting(progress=lambda more: progress.advance(task, more))
        await memory.index_vectors()
        await memory.refresh_statistics()
        left = next(
            int(row["waiting"])
            for row in await memory.embedding_status()
            if row["model"] == memory.embedding_model
        )
        done: dict[str, object] = {"model": memory.embedding_model, "embedded": stored, "waiting": left}
        if activate:
            if left:
                raise InvalidArgument(
                    f"{left} texts still wait for a vector of {memory.embedding_model}: another worker has "
                    "them, or the provider refuses them. Search goes on with the model before; run it again."
                )
            await memory.activate_model(memory.embedding_model)
            done["active"] = True
        if drop is not None:
            done["dropped"] = await memory.drop_model(drop)
        return done

    done = door.ask(run)
    if not door.told(done):
        typer.echo(", ".join(f"{name} {value}" for name, value in done.items()))
