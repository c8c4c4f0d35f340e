"""Sentence encoders in a local folder with model.onnx and tokenizer.json: no download, no torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pgmem.embeddings.local import require
from pgmem.embeddings.named import read_json
from pgmem.embeddings.protocol import EmbeddingConfigError, EmbeddingError

if TYPE_CHECKING:
    from pgmem.embeddings.local import Encoder
    from pgmem.embeddings.vectors import Rows

MAX_TOKENS: Final = 256
BATCH: Final = 32
_INPUTS: Final = {"input_ids", "attention_mask", "token_type_ids"}
_POOLED: Final = ("sentence_embedding", "embedding")
"""Outputs with one vector for each text. Any other output has one for each token and is pooled here."""


def model_file(folder: Path) -> Path:
    """Return the path of the model in a folder.

    Raises:
        EmbeddingConfigError: the folder lacks model.onnx (or onnx/model.onnx) or tokenizer.json.
    """
    for path in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if path.is_file() and (folder / "tokenizer.json").is_file():
            return path
    raise EmbeddingConfigError("EMBEDDING_MODEL: the folder needs model.onnx and tokenizer.json")


def load_folder(folder: Path) -> Encoder:
    """Load a folder's model and tokenizer.

    Texts are truncated to 256 tokens and run in batches of 32 texts of similar length. The vectors of the tokens are
    averaged; if the folder's 1_Pooling/config.json selects CLS pooling, the first one is taken instead.

    Raises:
        EmbeddingError: a library is missing, or the model has other inputs.
    """
    np = require("numpy", "fastembed")
    onnxruntime = require("onnxruntime", "fastembed")
    tokenizers = require("tokenizers", "fastembed")

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _cores()
    path = str(model_file(folder))
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = [each.name for each in session.get_inputs()]
    outputs = [each.name for each in session.get_outputs()]
    output = next((name for name in _POOLED if name in outputs), outputs[0])
    if not _INPUTS.issuperset(inputs):
        raise EmbeddingError(
            f"the model asks for {', '.join(inputs)}; only {', '.join(_INPUTS)} can be given"
        )

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    pad = (tokenizer.padding or {}).get("pad_id") or tokenizer.token_to_id("<pad>") or 0
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    first_token = read_json(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token") is True

    def run(batch: list[list[int]]) -> Rows:
        ids = np.full((len(batch), max(map(len, batch))), pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(batch):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        rows: Rows = session.run([output], {name: feed[name] for name in inputs})[0]
        if rows.ndim == 2:
            return rows
        if first_token:
            return rows[:, 0]
        weight = mask[:, :, None].astype(np.float32)
        means: Rows = (rows * weight).sum(axis=1) / weight.sum(axis=1)
        return means

    def encode(texts: list[str]) -> Rows:
        ids = [each.ids for each in tokenizer.encode_batch_fast(texts)]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
        parts = [run([ids[index] for index in order[at : at + BATCH]]) for at in range(0, len(order), BATCH)]
        rows: Rows = np.concatenate(parts)[np.argsort(order)]
        return rows

    return encode


def _cores() -> int:
    """Return how many cores this process may use; onnxruntime would count those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
