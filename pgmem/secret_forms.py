"""The forms by which tokens, keys and passwords are recognised in a text.

Each form is that of one provider. Guesses by entropy or by nearby words are left out: they would redact prose. The
module imports nothing but `re`, because a hook of an editor redacts the texts it keeps. No form rescans
text that it has read without a match, so that the time is linear in the length of a text.
"""

from __future__ import annotations

import re
from functools import cache

# A text of 40 characters is a secret only beside its name, which may be the key of its value.
AWS_SECRET = re.compile(
    r"aws_?secret_?(?:access_?)?key\W{0,3}[:=]\W{0,3}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])", re.IGNORECASE
)
_FORMS = (
    # A whole key where its end is there, else to the end of the text.
    ("Private Key", r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)"),
    (
        "Private Key",
        r"BEGIN (?:(?:DSA|EC|OPENSSH|RSA|SSH2 ENCRYPTED) )?PRIVATE KEY|BEGIN PGP PRIVATE KEY BLOCK",
    ),
    ("Private Key", r"PuTTY-User-Key-File-[23]"),
    ("pgmem Token", r"\bpgmem_[0-9a-f]{64}\b"),
    ("Anthropic Token", r"\bsk-ant-[\w-]{20,}"),
    (
        "OpenAI Token",
        r"\bsk-(?:proj|svcacct|admin)-[\w-]{20,}|(?:sk-[\w-]{0,40})?[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    # DeepSeek, LiteLLM, OpenRouter and others give keys that begin as OpenAI's do.
    ("API Key", r"\bsk-[\w-]{32,}"),
    ("Google API Key", r"\bAIza[\w-]{35}(?![\w-])"),
    ("GitHub Token", r"\bgithub_pat_\w{22,}|gh[pousr]_[A-Za-z0-9_]{36}"),
    ("Hugging Face Token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    ("GitLab Token", r"(?:gl(?:pat|dt|ft|soat|rt|imt|ptt|agent|oas|cbt)-|GR1348941)[\w-]{20,}"),
    ("AWS Access Key", r"(?:A3T[A-Z0-9]|A[BCKS]IA|ACCA)[0-9A-Z]{16}"),
    ("AWS Access Key", r"(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?['\"][0-9a-z/+]{40}['\"]"),
    ("AWS Secret Key", AWS_SECRET.pattern),
    ("Azure Storage Account access key", r"AccountKey=[A-Za-z0-9+/=]{88}"),
    ("Artifactory Credentials", r"(?<![^\s=:\"])A(?:KC[A-Za-z0-9]{10,}|P[0-9A-F][A-Za-z0-9]{8,})(?![^\s\"])"),
    ("Basic Auth Credentials", r"(?<=://)[^:/?#\[\]@!$&'()*+,;=\s]+:[^:/?#\[\]@!$&'()*+,;=\s]+(?=@)"),
    ("Discord Bot Token", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}"),
    ("JSON Web Token", r"(?<![\w-])eyJ(?:[\w-]+=*|[\w=-]{1,100})\.[\w=-]+(?:\.[\w.+/=-]*)?"),
    ("Mailchimp Access Key", r"\b[0-9a-z]{32}-us[0-9]{1,2}\b"),
    ("NPM Token", r"(?<=_authToken=)\s*(?:npm_\S+|[A-Fa-f0-9-]{36})|\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI Token", r"pypi-[\w-]{70,}"),
    ("SendGrid API Key", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("Slack Token", r"(?i)xox[abposr]-(?:\d+-)+[a-z0-9]+|hooks\.slack\.com/services/T\w+/B\w+/\w+"),
    ("Square OAuth Secret", r"sq0csp-[0-9A-Za-z\\_-]{43}"),
    ("Stripe Access Key", r"[rs]k_live_[0-9a-zA-Z]{24,}"),
    ("Telegram Bot Token", r"\b\d{8,10}:[\w-]{35}"),
    ("Twilio API Key", r"(?:AC|SK)[a-z0-9]{32}"),
)


@cache
def forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the name and the pattern of each form."""
    return tuple((kind, re.compile(form)) for kind, form in _FORMS)


def redacted(text: str) -> str:
    """Return a text with `[redacted: KIND]` in place of each secret."""
    for kind, pattern in forms():
        text = pattern.sub(f"[redacted: {kind}]", text)
    return text
