"""Keys and tokens in what is to be remembered: found by the patterns of detect-secrets, before anything leaves the process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from pgmem.errors import InvalidArgument

__all__ = ["Scrubbing", "scrubbed"]

Scrubbing = Literal["off", "redact", "refuse"]

# Detectors that know a token by its shape. Those that guess by entropy or by words nearby would redact prose.
_DETECTORS = (
    "artifactory.ArtifactoryDetector",
    "aws.AWSKeyDetector",
    "azure_storage_key.AzureStorageKeyDetector",
    "basic_auth.BasicAuthDetector",
    "discord.DiscordBotTokenDetector",
    "github_token.GitHubTokenDetector",
    "gitlab_token.GitLabTokenDetector",
    "jwt.JwtTokenDetector",
    "mailchimp.MailchimpDetector",
    "npm.NpmDetector",
    "openai.OpenAIDetector",
    "private_key.PrivateKeyDetector",
    "pypi_token.PypiTokenDetector",
    "sendgrid.SendGridDetector",
    "slack.SlackDetector",
    "square_oauth.SquareOAuthDetector",
    "stripe.StripeDetector",
    "telegram_token.TelegramBotTokenDetector",
    "twilio.TwilioKeyDetector",
)
# A whole key, not its first line only; and the tokens of this program.
_OWN = (
    (
        "Private Key",
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL),
    ),
    ("pgmem Token", re.compile(r"\bpgmem_[0-9a-f]{64}\b")),
)


def scrubbed(params: Mapping[str, Any], mode: Scrubbing) -> dict[str, Any]:
    """The arguments of a write without secrets in them.

    Raises:
        InvalidArgument: the mode is refuse and a text holds a secret; the message says which kind, and where.
    """
    if mode == "off":
        return dict(params)
    return {name: _scrub(name, value, mode) for name, value in params.items()}


def _scrub(name: str, value: Any, mode: Scrubbing) -> Any:
    if isinstance(value, Mapping):
        return {key: _scrub(f"{name}.{key}", item, mode) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(name, item, mode) for item in value]
    if not isinstance(value, str):
        return value
    for kind, pattern in _patterns():
        if mode == "refuse" and pattern.search(value):
            raise InvalidArgument(f"{name} holds what looks like a secret ({kind}); send it without.")
        value = pattern.sub(f"[redacted: {kind}]", value)
    return value


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    # Imported here: it takes half a second, and most stores do not scrub.
    from importlib import import_module

    try:
        found = list(_OWN)
        for path in _DETECTORS:
            module, _, name = path.rpartition(".")
            detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
            found += [(detector.secret_type, pattern) for pattern in detector.denylist]
    except ImportError as error:
        raise InvalidArgument(
            f"PGMEM_SCRUB_SECRETS needs the extra: pip install 'pgmem-agent[secrets]' ({error})."
        ) from None
    return tuple(found)
