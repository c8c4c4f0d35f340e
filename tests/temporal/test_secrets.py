"""Secrets in what is to be remembered: off, redacted, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgmem import InvalidArgument, Memory
from pgmem.engines.secrets import scrubbed
from pgmem.settings import Settings

SECRETS = {
    "AWS Access Key": "AKIAIOSFODNN7EXAMPLE",
    "GitHub Token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8",
    "OpenAI Token": "sk-abcdefghijklmnopqrstT3BlbkFJabcdefghijklmnopqrst",
    "Private Key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "pgmem Token": "pgmem_" + "0123456789abcdef" * 4,
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_redacted_whole_and_the_text_around_it_stays(kind: str) -> None:
    secret = SECRETS[kind]
    text = f"before {secret} after"
    answer = scrubbed({"rationale": text, "list": [text], "deep": {"note": text}, "number": 3}, "redact")
    for found in (answer["rationale"], answer["list"][0], answer["deep"]["note"]):
        assert found.startswith("before [redacted: ")
        assert found.endswith("] after")
        assert secret[:12] not in found
    assert answer["number"] == 3


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_refused_by_kind_and_place_without_being_told_again(kind: str) -> None:
    with pytest.raises(InvalidArgument, match="deep.note holds what looks like a secret") as caught:
        scrubbed({"deep": {"note": f"x {SECRETS[kind]}"}}, "refuse")
    assert SECRETS[kind] not in str(caught.value)


def test_prose_about_secrets_is_left_alone() -> None:
    text = "Rotate the api_key every 90 days; password policy: 12 characters, see https://wiki.example/keys."
    assert scrubbed({"rationale": text}, "redact") == {"rationale": text}
    assert scrubbed({"rationale": text}, "refuse") == {"rationale": text}


@pytest.mark.anyio
async def test_the_setting_decides_what_every_write_of_a_process_does(dsn: str, tmp_path: Path) -> None:
    secret = SECRETS["AWS Access Key"]

    def settings(mode: str) -> Settings:
        return Settings(dsn=dsn, data_dir=tmp_path, scrub_secrets=mode, embedding_provider="none")

    async with Memory.connect(settings("redact")) as memory:
        await memory.save_session("open", "shop")
        await memory.save_decision("Use the key", f"it is {secret}", "shop")
        await memory.remember("Tool", {"name": "aws", "notes": secret}, project_id="shop")
        assert "[redacted: AWS Access Key]" in str(await memory.retrieve_context("shop", "project"))
        assert secret not in str(await memory.retrieve_context("shop", "project"))
    async with Memory.connect(settings("refuse")) as memory:
        with pytest.raises(InvalidArgument, match="rationale"):
            await memory.save_decision("Use another key", f"it is {secret}", "shop")
    async with Memory.connect(settings("off")) as memory:
        await memory.save_context(f"as told: {secret}", "shop")
        assert secret in str(await memory.retrieve_context("shop", "project"))
