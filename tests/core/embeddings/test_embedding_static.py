"""The bundled vectors: deterministic, sensible, and the same as wordllama's own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from pgmem import static_vectors
from pgmem.embeddings import EmbeddingError
from pgmem.embeddings.static import StaticProvider
from pgmem.static_vectors import Pieces

pytestmark = pytest.mark.anyio

TEXTS = [
    "We chose PostgreSQL for the memory of the agents.",
    "ok",
    "Zażółć gęślą jaźń, 日本語 and 🎉 \x00 too",
    "    leading spaces, trailing newline\n",
    "word " * 3000,
]


def cosine(one: Sequence[float], two: Sequence[float]) -> float:
    return float(np.dot(one, two))


async def test_vectors_have_256_dimensions_and_length_one() -> None:
    provider = StaticProvider()
    vectors = await provider.embed_batch(TEXTS)
    assert [len(vector) for vector in vectors] == [256] * len(TEXTS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert await provider.health_check()


async def test_the_same_text_always_has_the_same_vector_alone_or_in_any_batch() -> None:
    """Short texts that come first are read without numpy, in other precision."""
    alone = [await StaticProvider().embed(text) for text in TEXTS]
    provider = StaticProvider()
    together = await provider.embed_batch(TEXTS)
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert (await provider.embed_batch(TEXTS[::-1] * 60))[::-1][: len(TEXTS)] == together


@pytest.mark.parametrize(
    ("text", "related", "unrelated"),
    [
        (
            "The database stores the agent's memories.",
            "Agents keep what they remember in PostgreSQL.",
            "She baked a chocolate cake for the birthday party.",
        ),
        (
            "How do we retry a failed payment?",
            "Payments that fail are charged again after an hour.",
            "The hiking trail climbs through a pine forest.",
        ),
        (
            "My dog loves running on the beach.",
            "The puppy played in the sand by the sea.",
            "Interest rates rose by half a percent.",
        ),
    ],
)
async def test_related_sentences_are_nearer_than_unrelated_ones(
    text: str, related: str, unrelated: str
) -> None:
    one, near, far = await StaticProvider().embed_batch([text, related, unrelated])
    assert cosine(one, near) > cosine(one, far) + 0.1


async def test_a_blank_text_has_no_vector() -> None:
    assert await StaticProvider().embed_batch(["", " \t\n"]) == [[], []]


async def test_special_tokens_written_in_a_text_are_plain_characters() -> None:
    provider = StaticProvider()
    weights, vocabulary = static_vectors.files()
    ids = Tokenizer.from_file(str(vocabulary)).get_vocab()
    rows = load_file(weights)["embedding.weight"][[ids["▁<"], ids["s"], ids[">"]]]
    mean = rows.astype(np.float32).mean(axis=0)
    assert await provider.embed("<s>") == pytest.approx((mean / np.linalg.norm(mean)).tolist(), abs=1e-6)


async def test_a_very_long_text_is_cut() -> None:
    provider = StaticProvider()
    assert await provider.embed("ab " * 40_000) == await provider.embed("ab " * 80_000)


async def test_vectors_are_those_of_wordllama(tmp_path: Path) -> None:
    """wordllama's own loader looks for the tokenizer in its cache alone, where it would download it."""
    if importlib.util.find_spec("toml") is None or importlib.util.find_spec("requests") is None:
        pytest.skip("wordllama's own dependencies are not installed")
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    cache = tmp_path / ".cache" / "wordllama"
    cache.mkdir(parents=True)
    (cache / "tokenizers").symlink_to(Path(spec.submodule_search_locations[0]) / "tokenizers")
    program = (
        "import json, numpy; from wordllama import WordLlama;"
        "texts = json.load(open('texts.json'));"
        "numpy.save('theirs.npy', WordLlama.load(disable_download=True).embed(texts, norm=True))"
    )
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    home = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=home, check=True, capture_output=True)
    ours = await StaticProvider().embed_batch(TEXTS)
    assert np.abs(np.load(tmp_path / "theirs.npy") - ours).max() < 1e-5


async def test_wordllama_is_never_imported() -> None:
    program = (
        "import sys, anyio; from pgmem.embeddings import create_provider;"
        "assert len(anyio.run(create_provider({}).embed, 'hello')) == 256;"
        "print(*{'wordllama', 'tokenizers', 'requests', 'toml', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


async def test_an_installation_without_the_vectors_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(static_vectors, "_HERE", tmp_path)
    with pytest.raises(EmbeddingError) as caught:
        await StaticProvider().embed("a")
    assert str(caught.value) == (
        "This installation of pgmem lacks the vectors of the provider static; install pgmem again with pip."
    )


@pytest.fixture(scope="module")
def both() -> tuple[Pieces, Tokenizer]:
    """Our reader of the vocabulary, and the library whose file it is."""
    _, vocabulary = static_vectors.files()
    theirs = Tokenizer.from_file(str(vocabulary))
    theirs.no_padding()
    theirs.no_truncation()
    theirs.encode_special_tokens = True
    return Pieces(vocabulary), theirs


LETTERS = st.one_of(st.sampled_from(list("abcE ▁<>/s0\n\t日本é🎉")), st.characters(exclude_categories=["Cs"]))


@given(text=st.text(LETTERS, max_size=60))
@settings(max_examples=400, deadline=None)
@example(text="<s></s><unk><0x0A>")
@example(text="   ▁ a▁▁b   ")
@example(text="a" * 300)
async def test_any_text_is_cut_as_the_library_cuts_it(text: str, both: tuple[Pieces, Tokenizer]) -> None:
    ours, theirs = both
    assert ours(text) == theirs.encode(text, add_special_tokens=False).ids


async def test_documents_and_code_are_cut_as_the_library_cuts_them(both: tuple[Pieces, Tokenizer]) -> None:
    ours, theirs = both
    root = Path(__file__).parent.parent.parent.parent
    for path in [
        root / "README.md",
        *sorted((root / "pgmem" / "embeddings").glob("*.py")),
        root / "sql" / "README.md",
    ]:
        text = path.read_text(encoding="utf-8")
        assert ours(text) == theirs.encode(text, add_special_tokens=False).ids, path


async def test_half_a_character_is_not_an_error(both: tuple[Pieces, Tokenizer]) -> None:
    ours, _ = both
    assert ours("a\ud800") == ours("a?")
