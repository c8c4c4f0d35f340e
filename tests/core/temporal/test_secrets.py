"""Secrets in the arguments of a save: kept, redacted or refused."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmem import InvalidArgument, Memory
from pgmem.calls.secrets import scrubbed
from pgmem.secret_forms import redacted
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
def test_a_secret_is_refused_by_kind_and_place_without_its_text(kind: str) -> None:
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
        await memory.save_context(f"as noted: {secret}", "shop")
        assert secret in str(await memory.retrieve_context("shop", "project"))


def _forms_of_detect_secrets() -> list[tuple[str, str, int]]:
    names = (
        "artifactory.ArtifactoryDetector aws.AWSKeyDetector azure_storage_key.AzureStorageKeyDetector "
        "basic_auth.BasicAuthDetector discord.DiscordBotTokenDetector github_token.GitHubTokenDetector "
        "gitlab_token.GitLabTokenDetector jwt.JwtTokenDetector mailchimp.MailchimpDetector npm.NpmDetector "
        "openai.OpenAIDetector private_key.PrivateKeyDetector pypi_token.PypiTokenDetector "
        "sendgrid.SendGridDetector slack.SlackDetector square_oauth.SquareOAuthDetector stripe.StripeDetector "
        "telegram_token.TelegramBotTokenDetector twilio.TwilioKeyDetector"
    )
    found = []
    for path in names.split():
        module, name = path.split(".")
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        found += [(name, pattern.pattern, pattern.flags) for pattern in detector.denylist]
    return found


@pytest.mark.parametrize(("name", "form", "flags"), _forms_of_detect_secrets())
def test_what_detect_secrets_finds_by_its_form_is_found(name: str, form: str, flags: int) -> None:
    """The forms are pgmem's own; those of detect-secrets name the secrets to find."""
    printable = st.characters(min_codepoint=32, max_codepoint=126)
    pattern = re.compile(form, flags & re.IGNORECASE | re.ASCII)
    texts = st.from_regex(pattern, fullmatch=True, alphabet=printable)

    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(texts)
    def found(text: str) -> None:
        assert "[redacted: " in redacted(text)

    found()
