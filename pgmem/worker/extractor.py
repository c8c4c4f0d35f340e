"""Extraction by a model that the operator names: turns go to a server with OpenAI's protocol, within a token budget."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pgmem import documents
from pgmem.embeddings.http import JsonServer
from pgmem.embeddings.protocol import EmbeddingError
from pgmem.errors import InvalidArgument
from pgmem.worker.extraction_prompt import EXTRACTION

if TYPE_CHECKING:
    from pgmem.calls.methods import Verbs
    from pgmem.models import Extraction
    from pgmem.settings import Settings

_ANSWER_TOKENS: Final = 2_000
_TIMEOUT_S: Final = 120.0
_LISTS: Final = ("add", "update", "invalidate")


@dataclass(frozen=True)
class Extracted:
    """Result and cost of a round of extraction, the tokens of today, why it `stopped` before the last turn."""

    calls: int = 0
    tokens: int = 0
    spent: int = 0
    budget: int = 0
    stored: int = 0
    for_review: int = 0
    rejected: int = 0
    unreadable: int = 0
    stopped: str | None = None


class ChatModel(JsonServer):
    """A model behind `/chat/completions`."""

    url_setting = "PGMEM_EXTRACTION_URL"
    key_setting = "PGMEM_EXTRACTION_API_KEY"
    hints: ClassVar[Mapping[int, str]] = {
        401: "check PGMEM_EXTRACTION_API_KEY",
        404: "check PGMEM_EXTRACTION_URL and PGMEM_EXTRACTION_MODEL",
    }

    async def ask(self, system: str, question: str) -> tuple[str, int]:
        """Return the text of an answer, and the tokens that it cost as the server counts them.

        Raises:
            EmbeddingError: the server does not answer, refuses, or answers otherwise than its protocol says.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        found: Any = await self._post(
            "/chat/completions",
            {
                "model": self.model,
                "messages": messages,
                "temperature": 0,
                "max_tokens": _ANSWER_TOKENS,
                "response_format": {"type": "json_object"},
            },
        )
        try:
            text = str(found["choices"][0]["message"]["content"] or "")
        except (LookupError, TypeError):
            raise EmbeddingError(
                f"{self.model}: the server at {self.endpoint} answered without a message"
            ) from None
        usage = found.get("usage")
        spent = usage.get("total_tokens") if isinstance(usage, dict) else None
        return text, spent if type(spent) is int and spent > 0 else _most_tokens(system + question) + len(
            text
        )


class Extractor:
    """Asks a model for the lasting facts in the turns of a tenant, until none is left or the day's tokens are spent.

    The store counts the tokens, so all workers of a tenant share them. A question that could exceed the rest
    of them is not asked.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self._waiting: Extraction | None = None
        """Questions begun and not answered, so that no round begins more while a server is away."""

    @classmethod
    def of(cls, settings: Settings) -> Extractor | None:
        """Return the extractor of the settings, or None if they name no model.

        Raises:
            EmbeddingConfigError: the address or the key is invalid.
        """
        if settings.extraction_model is None:
            return None
        model = ChatModel(
            model=settings.extraction_model,
            url=settings.extraction_url,
            key=settings.extraction_api_key,
            timeout=_TIMEOUT_S,
        )
        return cls(model)

    async def round(self, memory: Verbs, stopping: Callable[[], bool] = lambda: False) -> Extracted:
        """Look at the turns that wait.

        An answer that is not a JSON object is asked for once more; then its turns are passed over and counted as
        `unreadable`. If the server is away, the turns wait.

        Raises:
            PgmemError: of begin_extraction and apply_extraction.
        """
        done = Counter[str]()
        try:
            stopped = await self._go_through(memory, stopping, done)
        finally:
            await self.model.aclose()
        today = await memory.spend_extraction_tokens(0)
        return Extracted(**done, spent=today.spent, budget=today.budget, stopped=stopped)

    async def _go_through(
        self, memory: Verbs, stopping: Callable[[], bool], done: Counter[str]
    ) -> str | None:
        """Ask and apply, extraction by extraction; return why it ended before the last one."""
        while not stopping():
            begun = self._waiting or await memory.begin_extraction()
            if begun.extraction_id is None:
                return None
            self._waiting = begun
            try:
                answer = await self._answer(memory, begun, done)
            except EmbeddingError as error:
                return str(error)
            try:
                applied = await memory.apply_extraction(begun.extraction_id, answer)
            except InvalidArgument:  # it holds more items than a call may have
                done["unreadable"] += 1
                applied = await memory.apply_extraction(begun.extraction_id, {})
            self._waiting = None
            done.update(stored=applied.stored, for_review=applied.for_review, rejected=applied.rejected)
        return None

    async def _answer(
        self, memory: Verbs, begun: Extraction, done: Counter[str]
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the model's answer; none of it if it is unreadable twice.

        Raises:
            EmbeddingError: the server does not answer, or the tokens of the day do not suffice for the question.
        """
        shown = {name: asdict(begun)[name] for name in ("turns", "candidates")}
        system = f"{EXTRACTION} Answer with one JSON object of this shape: {json.dumps(begun.shape)}"
        question = json.dumps(shown, ensure_ascii=False, default=str)
        for _ in range(2):
            most = _most_tokens(system + question) + _ANSWER_TOKENS
            reserved = await memory.spend_extraction_tokens(most)
            if not reserved.granted:
                raise EmbeddingError("the tokens of the day do not suffice for the next question")
            tokens = 0
            try:
                text, tokens = await self.model.ask(system, question)
            finally:
                await memory.spend_extraction_tokens(tokens, most, reserved.day)
            done.update(calls=1, tokens=tokens)
            try:
                found = documents.parse(text, "the answer")
            except (ValueError, InvalidArgument):
                continue
            if isinstance(found, dict):
                lists = {name: found.get(name) for name in _LISTS}
                return {
                    name: [item for item in items if isinstance(item, dict)]
                    for name, items in lists.items()
                    if isinstance(items, list)
                }
        done["unreadable"] += 1
        return {}


def _most_tokens(text: str) -> int:
    """Return more tokens than a tokenizer makes of a text: one for two bytes."""
    return len(text.encode("utf-8", "replace")) // 2 + 1
