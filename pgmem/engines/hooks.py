"""The hooks: Python work around a verb. The generated method of `verb` calls the hook `_verb` if there is one."""

from __future__ import annotations

from pgmem.engines.batches import Batches
from pgmem.engines.cards import Cards
from pgmem.engines.retrieval import Retrieval
from pgmem.engines.routing import Routing
from pgmem.engines.saves import Saves
from pgmem.engines.tenancy import Tenancy


class Hooks(Saves, Cards, Retrieval, Routing, Batches, Tenancy):
    """The base of the generated methods.

    A hook takes the arguments of the verb as a dict. Further parameters of a hook become parameters of the method.
    """
