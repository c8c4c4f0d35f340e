"""Agent Skills over MCP: the extension io.modelcontextprotocol/skills, and each SKILL.md as a resource."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Literal

from mcp.server.context import ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CacheableResult, PaginatedRequestParams, RequestParams
from pydantic import BaseModel

from pgmem import escaping
from pgmem.errors import PgmemError
from pgmem.features.skills.skills import Skill, of_store, usage
from pgmem.mcp.app import App
from pgmem.mcp.resources import Resources, Unknown, Unreadable

_MARK = {"pgmem/content": "skill: written or taken over by a person"}


class GetSkill(RequestParams):
    """The arguments of skills/get."""

    uri: str


class File(BaseModel):
    """A file of a skill."""

    uri: str
    digest: str
    size: int


class Entry(BaseModel):
    """A skill, as the extension describes it."""

    uri: str
    frontmatter: dict[str, Any]
    resources: list[File]


class Listed(CacheableResult):
    """The answer of skills/list."""

    skills: list[Entry]
    result_type: Literal["complete"] = "complete"


class Got(CacheableResult):
    """The answer of skills/get."""

    skill: Entry
    result_type: Literal["complete"] = "complete"


class Skills(Extension):
    """The usage of pgmem and the skills of the store that the caller sees."""

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, app: App) -> None:
        self._app = app

    def methods(self) -> Sequence[MethodBinding]:
        """Return skills/list and skills/get."""
        return (
            MethodBinding("skills/list", PaginatedRequestParams, self._list),
            MethodBinding("skills/get", GetSkill, self._get),
        )

    async def found(self) -> list[Skill]:
        """Return all skills.

        Raises:
            PgmemError: the store does not answer.
        """
        return [usage(), *of_store(await (await self._app.memory()).list_skills(limit=1000))]

    async def _list(self, _: ServerRequestContext[App, Any], __: PaginatedRequestParams) -> Listed:
        return Listed(skills=[_entry(skill) for skill in await self._found()])

    async def _get(self, _: ServerRequestContext[App, Any], params: GetSkill) -> Got:
        for skill in await self._found():
            if _address(skill) == params.uri:
                return Got(skill=_entry(skill))
        raise MCPError(INVALID_PARAMS, f"No skill is served at {escaping.as_data(params.uri[:200])}.")

    async def _found(self) -> list[Skill]:
        try:
            return await self.found()
        except PgmemError as error:
            raise MCPError(INTERNAL_ERROR, escaping.as_data(self._app.trouble or str(error))) from error


def add(resources: Resources, app: App) -> None:
    """Register each SKILL.md as a resource."""
    skills = Skills(app)

    async def read(path: str) -> str:
        try:
            for skill in await skills.found():
                if skill.path == path:
                    return skill.text
        except PgmemError as error:
            raise Unreadable(escaping.as_data(str(error))) from error
        raise Unknown(f"No skill is served at skill://{escaping.as_data(path[:200])}/SKILL.md.")

    own = usage()

    @resources.at(
        f"skill://{own.path}/SKILL.md",
        name=own.name,
        description=own.frontmatter["description"],
        mime_type="text/markdown",
    )
    async def pgmem_memory() -> str:
        return own.text

    @resources.at("skill://{name}/SKILL.md", mime_type="text/markdown", meta=_MARK)
    async def global_skill(name: str) -> str:
        """A skill of all projects: standing instructions, or a pattern that has held."""
        return await read(name)

    @resources.at("skill://{project}/{name}/SKILL.md", mime_type="text/markdown", meta=_MARK)
    async def project_skill(project: str, name: str) -> str:
        """A skill of a project: its standing instructions, or a pattern that has held."""
        return await read(f"{project}/{name}")


def _address(skill: Skill) -> str:
    return f"skill://{skill.path}/SKILL.md"


def _entry(skill: Skill) -> Entry:
    content = skill.text.encode()
    file = File(uri=_address(skill), digest=f"sha256:{sha256(content).hexdigest()}", size=len(content))
    return Entry(uri=file.uri, frontmatter=skill.frontmatter, resources=[file])
