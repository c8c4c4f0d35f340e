"""A folder with an ONNX model, here a table of eight tokens: pooled, cut and padded rightly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pgmem.embeddings import EmbeddingConfigError, EmbeddingError
from pgmem.embeddings.fastembed import FastEmbedProvider

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

pytestmark = pytest.mark.anyio

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "grey"]
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 4)).astype(np.float32)


def write(
    folder: Path,
    *,
    output: str = "last_hidden_state",
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    config: dict[str, object] | None = None,
) -> None:
    """Write a model that looks its tokens up in TABLE; `sentence_embedding` sums them over the text."""
    helper, kind = onnx.helper, onnx.TensorProto
    pooled = output == "sentence_embedding"
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axis"], [output], keepdims=0)
        if pooled
        else helper.make_node("Identity", ["rows"], [output]),
    ]
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info(name, kind.INT64, ["B", "S"]) for name in inputs],
        [helper.make_tensor_value_info(output, kind.FLOAT, ["B", 4] if pooled else ["B", "S", 4])],
        [
            onnx.numpy_helper.from_array(TABLE, "table"),
            onnx.numpy_helper.from_array(np.array([1], np.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(folder / "model.onnx"))

    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=500)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"hidden_size": 4} if config is None else config))


def mean(*words: str) -> list[float]:
    rows = TABLE[[WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]].mean(axis=0)
    unit: list[float] = (rows / np.linalg.norm(rows)).tolist()
    return unit


async def test_tokens_are_pooled_by_mean_without_the_padding(tmp_path: Path) -> None:
    write(tmp_path)
    provider = FastEmbedProvider(str(tmp_path))
    assert provider.dimensions == 4
    vectors = await provider.embed_batch(["red", "red green blue grey red", "", "blue blue"])
    assert vectors[0] == pytest.approx(mean("red"), abs=1e-6)
    assert vectors[1] == pytest.approx(mean("red", "green", "blue", "grey", "red"), abs=1e-6)
    assert vectors[2] == []
    assert vectors[3] == pytest.approx(mean("blue", "blue"), abs=1e-6)


async def test_batches_of_like_length_come_back_in_the_order_of_the_texts(tmp_path: Path) -> None:
    write(tmp_path)
    texts = [" ".join(["red", "green", "blue"][: 1 + n % 3] * (1 + n % 7)) for n in range(300)]
    vectors = await FastEmbedProvider(str(tmp_path)).embed_batch(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(mean(*text.split()), abs=1e-6)


async def test_a_long_text_is_cut_at_256_tokens(tmp_path: Path) -> None:
    write(tmp_path)
    vector = await FastEmbedProvider(str(tmp_path)).embed("red " * 254 + "blue " * 254)
    assert vector == pytest.approx(mean(*["red"] * 254), abs=1e-6)


async def test_a_folder_that_pools_by_its_first_token_is_obeyed(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    vector = await FastEmbedProvider(str(tmp_path)).embed("red green")
    first = TABLE[2] / np.linalg.norm(TABLE[2])
    assert vector == pytest.approx(first.tolist(), abs=1e-6)


async def test_a_model_that_pools_by_itself_is_believed(tmp_path: Path) -> None:
    write(tmp_path, output="sentence_embedding")
    assert await FastEmbedProvider(str(tmp_path)).embed("red green") == pytest.approx(
        mean("red", "green"), abs=1e-6
    )


async def test_token_types_are_given_to_a_model_that_asks_for_them(tmp_path: Path) -> None:
    write(tmp_path, inputs=("input_ids", "attention_mask", "token_type_ids"))
    assert await FastEmbedProvider(str(tmp_path)).embed("red") == pytest.approx(mean("red"), abs=1e-6)


async def test_a_model_that_asks_for_anything_else_is_refused(tmp_path: Path) -> None:
    write(tmp_path, inputs=("input_ids", "pixel_values"))
    with pytest.raises(EmbeddingError, match="the model asks for input_ids, pixel_values"):
        await FastEmbedProvider(str(tmp_path)).embed("red")


async def test_a_model_of_another_size_than_the_setting_says_is_refused(tmp_path: Path) -> None:
    write(tmp_path, config={})
    with pytest.raises(EmbeddingConfigError, match="EMBEDDING_DIMENSIONS: not known"):
        FastEmbedProvider(str(tmp_path))
    with pytest.raises(EmbeddingError, match="makes 4 dimensions, not 5"):
        await FastEmbedProvider(str(tmp_path), 5).embed("red")


async def test_the_model_may_lie_in_the_folder_onnx(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model.onnx")
    assert await FastEmbedProvider(str(tmp_path)).health_check()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_an_incomplete_folder_fails_at_start(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(EmbeddingConfigError, match=r"needs model\.onnx and tokenizer\.json"):
        FastEmbedProvider(str(tmp_path))


async def test_a_damaged_model_is_an_error_and_not_healthy(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    provider = FastEmbedProvider(str(tmp_path))
    assert not await provider.health_check()
    with pytest.raises(EmbeddingError, match="could not be loaded") as caught:
        await provider.embed("red")
    assert str(tmp_path) not in str(caught.value)
