"""`pgmem reindex`: embed texts that have no vector, with one model or several side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pgmem.cli.options import Store, embed_waiting, store_command
from pgmem.errors import InvalidArgument
from pgmem.escaping import counted

if TYPE_CHECKING:
    from pgmem.memory import Memory


@store_command
def reindex(
    store: Store,
    model: Annotated[
        str | None, typer.Option("--model", help="The provider's model. Default: PGMEM_EMBEDDING_MODEL.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Embed every text again, including those that have a vector.")
    ] = False,
    activate: Annotated[
        bool, typer.Option("--activate", help="Switch search to this model once every text has a vector.")
    ] = False,
    drop: Annotated[
        str | None, typer.Option("--drop", metavar="NAME", help="Delete this other model and its vectors.")
    ] = None,
) -> None:
    """Embed every text that has no vector yet. It can be stopped and started again at any time."""
    if model is not None:
        store = replace(store, settings=store.settings.model_copy(update={"embedding_model": model}))

    async def run(memory: Memory) -> dict[str, object]:
        if drop is not None and not (everything or activate or model):
            return {"model": drop, "dropped": await memory.drop_model(drop)}
        if not await memory.register_embedder():
            raise InvalidArgument(
                "Embedding is off: PGMEM_EMBEDDING_PROVIDER is none, or the server has no pgvector."
            )
        waiting = await memory.queue_embeddings(everything)
        stored = await embed_waiting(memory, waiting)
        left = next(
            int(row.waiting) for row in await memory.embedding_status() if row.model == memory.embedding_model
        )
        done: dict[str, object] = {"model": memory.embedding_model, "embedded": stored, "waiting": left}
        if activate:
            if left:
                waits = counted(left, "text has", "texts have")
                raise InvalidArgument(
                    f"{waits} no vector of {memory.embedding_model} yet: another worker has claimed"
                    " them, or the "
                    "provider refuses them. Search still uses the previous model; run the command again."
                )
            await memory.activate_model(memory.embedding_model)
            done["active"] = True
        if drop is not None:
            done["dropped"] = await memory.drop_model(drop)
        return done

    done = store.answer(run)
    typer.echo(", ".join(f"{name} {value}" for name, value in done.items()))
