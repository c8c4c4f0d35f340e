"""Models in this process: loaded late, once, and without holding anyone up."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import math
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest

from pgmem.embeddings import BaseProvider, EmbeddingConfigError, EmbeddingError
from pgmem.embeddings import local as local_module
from pgmem.embeddings.fastembed import FastEmbedProvider
from pgmem.embeddings.local import LocalProvider
from pgmem.embeddings.none import NullProvider
from pgmem.embeddings.sentence_transformer import SentenceTransformerProvider
from pgmem.embeddings.static import StaticProvider

pytestmark = pytest.mark.anyio

TEXT = "the text that nobody may see"


def lengths(texts: list[str]) -> Any:
    """An encoder: three dimensions, one of them the text's length."""
    return np.array([[len(text), 1.0, 0.0] for text in texts], dtype=np.float32)


class Model(LocalProvider):
    """A provider whose model is the test's own function, loaded by the test's own function."""

    def __init__(self, load: Callable[[], Any] = lambda: lengths, *, timeout: float = 30.0) -> None:
        super().__init__(model="local:test", dimensions=3, timeout=timeout)
        self.loads = 0
        self._loader = load

    def _load(self) -> Any:
        self.loads += 1
        return self._loader()


async def test_none_makes_no_vectors_and_is_healthy() -> None:
    provider = NullProvider()
    assert await provider.embed("a") == []
    assert await provider.embed_batch(["a", "", "b"]) == [[], [], []]
    assert await provider.health_check()


async def test_the_model_is_loaded_at_the_first_text_and_once() -> None:
    provider = Model()
    assert await provider.embed_batch(["", "  "]) == [[], []]
    assert provider.loads == 0
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(provider.embed, "a")
    assert provider.loads == 1


async def test_vectors_have_length_one_and_the_order_of_the_texts() -> None:
    texts = ["x" * n for n in range(600)]
    vectors = await Model().embed_batch(texts)
    assert vectors[0] == []
    assert vectors[599] == pytest.approx([599 / math.hypot(599, 1), 1 / math.hypot(599, 1), 0])
    assert vectors[3] == pytest.approx([3 / math.hypot(3, 1), 1 / math.hypot(3, 1), 0])


async def test_a_slow_load_holds_up_one_caller_for_the_timeout_and_the_next_not_at_all() -> None:
    finish = Event()

    def load() -> Any:
        finish.wait()
        return lengths

    provider = Model(load, timeout=0.05)
    with pytest.raises(EmbeddingError, match=r"still loading after 0\.05 s") as caught:
        await provider.embed("a")
    assert caught.value.transient
    provider.timeout = 3600.0
    with anyio.fail_after(5):
        assert not await provider.health_check()
    finish.set()
    with anyio.fail_after(5):
        while not await provider.health_check():
            await anyio.lowlevel.checkpoint()
    assert len(await provider.embed("a")) == 3
    assert provider.loads == 1


async def test_a_caller_may_give_up_while_the_model_loads() -> None:
    finish = Event()

    def load() -> Any:
        finish.wait()
        return lengths

    provider = Model(load)
    with anyio.move_on_after(0.05) as scope:
        await provider.embed("a")
    assert scope.cancelled_caught
    finish.set()
    assert len(await provider.embed("a")) == 3
    assert provider.loads == 1


async def test_a_failed_load_is_remembered_for_a_while_and_then_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr(local_module, "monotonic", lambda: now)
    outcomes: list[Callable[[], Any]] = [lambda: 1 / 0, lambda: lengths]
    provider = Model(lambda: outcomes.pop(0)())
    for _ in range(3):
        with pytest.raises(EmbeddingError, match=r"could not be loaded \(ZeroDivisionError\)") as caught:
            await provider.embed("a")
    assert caught.value.transient
    assert not await provider.health_check()
    assert provider.loads == 1
    now += local_module.PAUSE
    assert len(await provider.embed("a")) == 3
    assert provider.loads == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((2, 3), np.float32), "is zero"),
        (np.full((2, 3), np.nan, np.float32), "not finite"),
        (np.full((2, 3), np.inf, np.float32), "not finite"),
        (np.ones((2, 4), np.float32), "makes 4 dimensions, not 3"),
        (np.ones((1, 3), np.float32), r"shape \(1, 3\) for 2 texts"),
        (np.ones(3, np.float32), r"shape \(3,\) for 2 texts"),
    ],
)
async def test_a_model_that_makes_nonsense_is_refused(rows: Any, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        await Model(lambda: lambda _: rows).embed_batch(["a", "b"])


async def test_a_model_that_fails_is_an_error_without_the_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def fail(_: list[str]) -> Any:
        raise RuntimeError("out of memory")

    with pytest.raises(EmbeddingError, match=r"the model failed \(RuntimeError\)") as caught:
        await Model(lambda: fail).embed(TEXT)
    shown = caplog.text + "".join(traceback.format_exception(caught.value))
    assert "out of memory" in shown
    assert TEXT not in shown


async def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="not valid Unicode"):
        await Model().embed("half \ud83d of a pair")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that makes a library look as if it were not installed."""

    def hide(name: str) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        find = importlib.import_module

        def import_module(module: str, package: str | None = None) -> ModuleType:
            if module.partition(".")[0] == name:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return find(module, package)

        monkeypatch.setattr(importlib, "import_module", import_module)

    return hide


@pytest.mark.parametrize(
    ("provider", "library", "extra"),
    [
        (FastEmbedProvider(), "fastembed", "fastembed"),
        (SentenceTransformerProvider(), "sentence_transformers", "sentence-transformer"),
        (StaticProvider(), "numpy", "static"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_missing_library_is_one_sentence_that_names_the_extra(
    provider: BaseProvider, library: str, extra: str, without: Callable[[str], None]
) -> None:
    without(library)
    with pytest.raises(EmbeddingError) as caught:
        await provider.embed("a " * 2000)  # the static one reads short texts without numpy
    name = provider.model.partition(":")[0]
    assert str(caught.value) == (
        f"EMBEDDING_PROVIDER={name} needs the library {library}: pip install 'pgmem-agent[{extra}]'"
    )
    assert not caught.value.transient
    assert not await provider.health_check()


async def test_a_library_that_lacks_another_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_module(_: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(EmbeddingError, match="sentence_transformers cannot be imported: it lacks torch"):
        await SentenceTransformerProvider().embed("a")


async def test_a_broken_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def import_module(_: str) -> ModuleType:
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(EmbeddingError, match=r"sentence_transformers is installed but .* \(OSError\)"):
        await SentenceTransformerProvider().embed("a")


class Library:
    """Replaces fastembed or sentence-transformers and records its calls."""

    def __init__(self) -> None:
        self.cached = False
        self.online = True
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def open(self, name: str, **options: Any) -> Any:
        self.calls.append((name, options))
        if not self.cached and (options.get("local_files_only") or not self.online):
            raise OSError("https://huggingface.co cannot be reached")

        def vectors(texts: list[str], **_: Any) -> Any:
            return np.array([[len(text), *[1.0] * 383] for text in texts], dtype=np.float32)

        return SimpleNamespace(embed=lambda texts, **o: iter(vectors(texts, **o)), encode=vectors)


@pytest.fixture(params=["fastembed", "sentence_transformers"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    module = SimpleNamespace(TextEmbedding=library.open, SentenceTransformer=library.open)
    monkeypatch.setitem(sys.modules, request.param, module)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return library


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> BaseProvider:
    name = request.node.callspec.params["library"]
    return FastEmbedProvider() if name == "fastembed" else SentenceTransformerProvider()


async def test_a_model_by_name_is_opened_by_its_library(provider: BaseProvider, library: Library) -> None:
    vectors = await provider.embed_batch(["a", "bcd"])
    assert [len(vector) for vector in vectors] == [384, 384]
    assert vectors[1][0] == pytest.approx(3 / math.sqrt(9 + 383))
    name, options = library.calls[-1]
    assert provider.model.endswith(name)
    assert not options.get("local_files_only")


@pytest.mark.parametrize("value", ["1", "true", "ON", "yes"])
async def test_hf_hub_offline_forbids_downloads(
    provider: BaseProvider, library: Library, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    with pytest.raises(
        EmbeddingError, match=r"no such model in its cache \(HF_HUB_OFFLINE is set\)"
    ) as caught:
        await provider.embed("a")
    assert all(options["local_files_only"] for _, options in library.calls)
    assert not caught.value.transient


async def test_a_model_in_the_cache_needs_no_network(provider: BaseProvider, library: Library) -> None:
    library.cached, library.online = True, False
    assert len(await provider.embed("a")) == 384
    assert len(library.calls) == 1


async def test_a_download_that_fails_is_transient_and_names_the_way_out(
    provider: BaseProvider, library: Library
) -> None:
    library.online = False
    with pytest.raises(EmbeddingError, match=r"could not load it; EMBEDDING_MODEL may be a folder") as caught:
        await provider.embed("a")
    assert caught.value.transient


def test_a_folder_is_named_by_its_content_and_never_by_its_path(tmp_path: Path) -> None:
    def folder(parent: str, weights: bytes) -> str:
        path = tmp_path / parent / "model"
        path.mkdir(parents=True)
        (path / "config.json").write_text(json.dumps({"hidden_size": 384}))
        (path / "model.safetensors").write_bytes(weights)
        provider = SentenceTransformerProvider(str(path))
        assert provider.dimensions == 384
        return provider.model

    one, same, other = folder("a", b"x" * 200_000), folder("b", b"x" * 200_000), folder("c", b"y" * 200_000)
    assert one == same != other
    assert one.startswith("sentence_transformer:model-")
    assert str(tmp_path) not in one


def test_the_folder_and_the_setting_must_agree_on_dimensions(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 384}))
    with pytest.raises(EmbeddingConfigError, match=r"EMBEDDING_DIMENSIONS: 256 given, but .* has 384"):
        SentenceTransformerProvider(str(tmp_path), 256)


def test_fastembed_agrees_about_the_dimensions_of_the_models_pgmem_knows() -> None:
    fastembed = pytest.importorskip("fastembed")
    from pgmem.embeddings.fastembed import _DIMENSIONS

    theirs = {each["model"]: each["dim"] for each in fastembed.TextEmbedding.list_supported_models()}
    assert {name: theirs[name] for name in _DIMENSIONS} == _DIMENSIONS
