"""`pgmem ui`: the pages for the person at this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from pgmem.cli.options import By, Store, exit_on_error, plain_command


@plain_command
def ui(
    store: Store,
    port: Annotated[
        int | None,
        typer.Option(help="The port on this machine. Default: 7437, or a free one.", min=1, max=65535),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
    by: By = None,
) -> None:
    """Open the page of the memory: see, ask, decide. Only this machine reaches it."""
    from pgmem.features.ui.serve import run

    exit_on_error(lambda: run(store.settings, port, open_browser=open_browser, name=by), store.named_by)
