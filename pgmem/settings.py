"""Every setting, from the environment only; a bad value fails at start with the setting's name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from pgmem.errors import InvalidArgument

__all__ = ["STORE_SETTINGS", "Settings", "load"]

Toolset = Literal["core", "graph", "quality", "cards"]


class StoreSettings(BaseSettings):
    """Thresholds and limits that hold for every caller of a store: they fill `pgmem.setting` at `pgmem init`."""

    model_config = SettingsConfigDict(env_prefix="PGMEM_", extra="ignore", populate_by_name=True)

    dedup_supersede: float | None = Field(
        None, ge=0.5, le=1, description="Jaccard from which a decision supersedes."
    )
    dedup_manual_review: float | None = Field(
        None, ge=0.5, le=1, description="Jaccard from which a person decides."
    )
    dedup_refresh_limit: int | None = Field(
        None, ge=0, le=10**8, description="Titles up to which the worker renews the order of title words."
    )
    focus_limit: int | None = Field(None, ge=1, le=1000, description="Focus items in one context.")
    project_limit: int | None = Field(None, ge=1, le=1000, description="Project items in one context.")
    global_limit: int | None = Field(None, ge=1, le=1000, description="Global items in one context.")
    freshness_recent_days: int | None = Field(
        None, ge=0, description="Age in days up to which a memory is current."
    )
    freshness_stale_days: int | None = Field(
        None, ge=0, description="Age in days from which a memory is stale."
    )
    hygiene_due_days: int | None = Field(None, ge=1, description="Days between hygiene reports.")
    hygiene_decision_days: int | None = Field(
        None, ge=1, description="Age in days from which a decision is outdated."
    )
    hygiene_pattern_days: int | None = Field(
        None, ge=1, description="Days without validation until a pattern is obsolete."
    )
    reflection_hint_limit: int | None = Field(
        None, ge=1, description="Memories until a hint asks for reflection."
    )
    governance_token_ttl_s: int | None = Field(
        None, ge=1, le=86400, description="Seconds a governance token lives."
    )
    max_title_chars: int | None = Field(None, ge=100, le=500, description="Longest title.")
    max_key_chars: int | None = Field(None, ge=100, le=200, description="Longest key or name.")
    max_text_chars: int | None = Field(None, ge=100, le=200000, description="Longest text.")
    save_attempt_days: int | None = Field(None, ge=1, description="Days a finished save stays on record.")
    hybrid_alpha: float | None = Field(
        None, ge=0, le=1, validation_alias="HYBRID_ALPHA", description="Weight of the vector arm."
    )
    hybrid_graph_beta: float | None = Field(
        None, ge=0, le=1, validation_alias="HYBRID_GRAPH_BETA", description="Weight of the graph boost."
    )
    hybrid_trust_gamma: float | None = Field(
        None, ge=0, le=1, validation_alias="HYBRID_TRUST_GAMMA", description="Weight of trust."
    )
    decay_rate: float | None = Field(
        None, ge=0, validation_alias="DECAY_RATE", description="Decay of confidence per day."
    )
    decay_max_age_days: int | None = Field(
        None, ge=0, validation_alias="DECAY_MAX_AGE_DAYS", description="Days until confidence decays."
    )
    decay_archive_below: float | None = Field(
        None, ge=0, le=1, description="Confidence below which the worker archives; 0: nothing."
    )
    text_config: str | None = Field(None, description="Text search configuration of new projects.")
    trust_cli: float | None = Field(None, ge=0, le=1, description="Trust of what the command line writes.")
    trust_sync: float | None = Field(None, ge=0, le=1, description="Trust of what a synchronisation writes.")
    trust_sdk: float | None = Field(None, ge=0, le=1, description="Trust of what a program writes.")
    trust_mcp: float | None = Field(None, ge=0, le=1, description="Trust of what an agent writes.")
    require_identity: bool | None = Field(None, description="Without identity: reads empty, writes refused.")
    max_candidates: int | None = Field(None, ge=1, le=10**8, description="Most draft cards of a project.")
    max_records: int | None = Field(None, ge=1, le=10**8, description="Most cards of a project.")
    max_card_evidence: int | None = Field(None, ge=1, le=10**8, description="Most evidence of a card.")
    max_statement_chars: int | None = Field(
        None, ge=100, le=100000, description="Longest statement of a card."
    )
    max_intent_paths: int | None = Field(
        None, ge=1, le=10**8, description="Most paths of an intent or scope."
    )
    cards_budget: int | None = Field(
        None, ge=1, le=10**8, description="Size of a page of cards, in bytes / 4."
    )
    cards_hotspot_changes: int | None = Field(
        None, ge=1, le=10**8, description="Changes that make a hot spot."
    )
    cards_over_capacity: Literal["skip", "reject"] | None = Field(
        None, description="A refresh at max_records."
    )
    cards_sync_policy: Literal["off", "bootstrap_if_missing", "refresh_when_stale"] | None = Field(
        None, description="When retrieval reads the repository by itself."
    )
    card_days_active: int | None = Field(None, ge=-1, le=999999, description="Days an active card is kept.")
    card_days_draft: int | None = Field(None, ge=-1, le=999999, description="Days a draft card is kept.")
    card_days_stale: int | None = Field(None, ge=-1, le=999999, description="Days a stale card is kept.")
    card_days_historical: int | None = Field(
        None, ge=-1, le=999999, description="Days a card without its file is kept."
    )
    card_days_superseded: int | None = Field(
        None, ge=-1, le=999999, description="Days a superseded card is kept."
    )
    card_days_rejected: int | None = Field(
        None, ge=-1, le=999999, description="Days a rejected card is kept."
    )
    card_days_archived: int | None = Field(
        None, ge=-1, le=999999, description="Days an archived card is kept."
    )
    card_days_receipt: int | None = Field(None, ge=-1, le=999999, description="Days a receipt is kept.")


STORE_SETTINGS = tuple(StoreSettings.model_fields)
"""Names of the rows of `pgmem.setting` that a `PGMEM_*` variable can fill at `pgmem init`."""


class Settings(StoreSettings):
    """What one process chooses for itself, and `StoreSettings`."""

    dsn: str | None = Field(None, description="PostgreSQL to use; unset: the embedded server.")
    read_dsn: str | None = Field(
        None, description="A streaming replica of PGMEM_DSN that reads go to; unset: none."
    )
    read_max_lag_s: float = Field(
        10.0, gt=0, le=3600, description="Seconds that a read on the replica may be behind."
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("pgmem")),
        description="Where the embedded server and the outbox live.",
    )
    toolsets: Annotated[tuple[Toolset, ...], NoDecode] = Field(
        ("core", "graph", "quality", "cards"), description="Groups of MCP tools to offer, by comma."
    )
    scrub_secrets: Literal["off", "redact", "refuse"] = Field(
        "off", description="What becomes of keys and tokens in a write; needs the extra secrets."
    )
    http_allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Host headers the HTTP transport answers to, besides its own address, by comma."
    )
    http_allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Origins a browser may call the HTTP transport from, by comma."
    )
    http_url: str | None = Field(None, description="The address clients know the HTTP transport by.")
    http_issuer: str | None = Field(
        None, description="OAuth issuer to name in the resource-server metadata; needs PGMEM_HTTP_URL."
    )
    http_max_request_bytes: int = Field(
        4194304, ge=1024, description="Largest request of the HTTP transport."
    )
    http_requests_per_minute: int = Field(
        600, ge=1, description="Most requests a minute with one token, or from one address without."
    )
    metrics_token: SecretStr | None = Field(
        None, description="Bearer token that /metrics asks for; unset: it asks for none."
    )
    log_format: Literal["text", "json"] = Field("text", description="How servers log on stderr.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="info: every call and save; debug: contents too, of libraries."
    )
    otel: bool = Field(
        False, description="Make OpenTelemetry spans; OTEL_* say where to. Needs the extra otel."
    )
    pool_size: int = Field(8, ge=1, le=100, description="Most connections of this process.")
    connect_timeout_s: float = Field(5.0, gt=0, description="Seconds to wait for a connection.")
    retrieval_timeout_s: float = Field(5.0, gt=0, description="Seconds one retrieval may take.")
    write_timeout_s: float = Field(30.0, gt=0, description="Seconds one write may take.")
    retry_wait_s: float = Field(0.5, ge=0, description="Seconds before the one retry of a failed write.")
    embedding_provider: Literal["none", "static", "ollama", "openai", "sentence_transformer", "fastembed"] = (
        Field("static", validation_alias="EMBEDDING_PROVIDER", description="Who embeds.")
    )
    embedding_model: str | None = Field(
        None, validation_alias="EMBEDDING_MODEL", description="The provider's model; unset: its default."
    )
    embedding_dimensions: int | None = Field(
        None,
        ge=1,
        le=4000,
        validation_alias="EMBEDDING_DIMENSIONS",
        description="The model's dimensions, where pgmem cannot know.",
    )
    embedding_timeout: float = Field(
        30.0,
        gt=0,
        validation_alias="EMBEDDING_TIMEOUT",
        description="Seconds one call of the provider may take.",
    )
    embedding_patience_s: float = Field(
        5.0, gt=0, description="Seconds a save or a search waits for a vector before it goes on without."
    )
    worker_interval_s: float = Field(
        15.0, gt=0, description="Seconds between rounds of the worker inside pgmem mcp."
    )
    ollama_url: str = Field(
        "http://localhost:11434", validation_alias="OLLAMA_URL", description="Where Ollama answers."
    )
    openai_base_url: str | None = Field(
        None, validation_alias="OPENAI_BASE_URL", description="An OpenAI-compatible server."
    )
    openai_api_key: SecretStr | None = Field(None, validation_alias="OPENAI_API_KEY", description="Its key.")
    outbox_days: float = Field(7.0, gt=0, description="Days after which a queued save is given up.")
    prepare: bool | None = Field(None, description="Prepare statements; unset: only on the embedded server.")
    repository: Path | None = Field(
        None, description="Repository whose cards this process keeps in step; unset: none."
    )
    repository_project: str | None = Field(None, description="Its project; unset: the name of its folder.")
    org_id: str = Field(
        "", validation_alias="DEFAULT_ORG_ID", description="Organisation this process acts for."
    )
    user_id: str = Field("", validation_alias="DEFAULT_USER_ID", description="User this process acts for.")
    agent_id: str = Field("", description="Agent that writes, for provenance.")
    session_id: str = Field(
        "", description="Session that writes; where it names a Session, it is joined to it."
    )

    @field_validator("toolsets", "http_allowed_hosts", "http_allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(part.strip() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @model_validator(mode="after")
    def _replica_of_something(self) -> Settings:
        if self.read_dsn is not None and self.dsn is None:
            raise ValueError("PGMEM_READ_DSN needs PGMEM_DSN, the primary it is a replica of")
        return self

    @property
    def outbox_dir(self) -> Path:
        """Where saves wait for a database that cannot be reached."""
        return self.data_dir / "outbox"

    def embedding_settings(self) -> dict[str, object]:
        """The settings of the embedding provider, by their own names."""
        given = {
            "EMBEDDING_PROVIDER": self.embedding_provider,
            "EMBEDDING_MODEL": self.embedding_model,
            "EMBEDDING_DIMENSIONS": self.embedding_dimensions,
            "EMBEDDING_TIMEOUT": self.embedding_timeout,
            "OLLAMA_URL": self.ollama_url,
            "OPENAI_BASE_URL": self.openai_base_url,
            "OPENAI_API_KEY": self.openai_api_key,
        }
        return {name: value for name, value in given.items() if value is not None}

    def store_settings(self) -> dict[str, str]:
        """The rows of `pgmem.setting` that the environment names."""
        given = self.model_dump(include=set(STORE_SETTINGS), exclude_none=True)
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items()
        }


def load(env_file: Path | None = None, **given: object) -> Settings:
    """Read the settings.

    Args:
        env_file: a file of `NAME=value` lines to read besides the environment.
        given: settings that win over the environment, such as `dsn` from the command line; None counts as not given.

    Raises:
        InvalidArgument: names the setting and what it may be.
    """
    try:
        return Settings(_env_file=env_file, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        wrong = error.errors()[0]
        if not wrong["loc"]:
            raise InvalidArgument(f"{wrong['msg'].removeprefix('Value error, ')}.") from None
        name = str(wrong["loc"][0])
        alias = name if name.isupper() else f"PGMEM_{name.upper()}"
        raise InvalidArgument(f"{alias}: {wrong['msg']}.") from None
