"""The query that gives the rows of a list in psql: views and verbs that `pgmem psql` finds by name."""

from __future__ import annotations

from pgmem.features.ui.visit import Visit

_APART = "label not in ('Card', 'Insight', 'Turn')"
_UNSEEN = "status not in ('stub', 'draft', 'pending', 'captured')"


def literal(value: str) -> str:
    """A text as SQL writes it."""
    quoted = "'" + value.replace("'", "''") + "'"
    return f"E{quoted}".replace("\\", "\\\\") if "\\" in value else quoted


def _where(visit: Visit, *always: str, project: str = "project", **filters: str) -> str:
    """The conditions of a list: those that always hold, the project, and the arguments of the URL by their column."""
    found = [*always]
    if visit.project is not None:
        found.append(f"{project} = {literal(visit.project)}")
    for name, column in filters.items():
        if (value := visit.text(name)) is not None:
            found.append(f"{column} = {literal(value)}")
    return f"\nwhere {' and '.join(found)}" if found else ""


def memories(visit: Visit) -> str:
    """Memories, the newest first, as the page lists them."""
    labels = visit.texts("labels")
    kinds = f"label in ({', '.join(map(literal, labels))})" if labels else _APART
    always = [] if visit.text("status") else [_UNSEEN]
    if labels or not (visit.text("status") or visit.text("branch")):
        always.append(kinds)
    if branch := visit.text("branch"):
        always.append(f"properties ->> 'branch' = {literal(branch)}")
    where = _where(visit, *always, status="status", source="source", agent="agent_id", session="session_id")
    return (
        f"select label, title, status, project, agent_id, created_at from memory{where}\n"
        "order by created_at desc limit 50;"
    )


def search(visit: Visit, question: str) -> str:
    """A search, as the page asks it."""
    given = [literal(question), "p_limit => 15"]
    if visit.project is not None:
        given.append(f"p_project_id => {literal(visit.project)}")
    for name, argument in (
        ("focus", "p_focus"),
        ("agent", "p_agent_id"),
        ("as_of", "p_as_of"),
        ("known_at", "p_known_at"),
    ):
        if (value := visit.text(name)) is not None:
            given.append(f"{argument} => {literal(value)}")
    for name, argument in (("labels", "p_labels"), ("tags", "p_tags")):
        if values := visit.texts(name):
            given.append(f"{argument} => array[{', '.join(map(literal, values))}]")
    return f"select label, title, project, relevance from search_memory({', '.join(given)});"


def recalled(visit: Visit) -> str:
    """Memories brought to agents, the latest first."""
    where = _where(visit, session="session_id")
    return f"select at, act, by, project, tokens, memory_ids from recall{where}\norder by at desc limit 80;"


def at(visit: Visit) -> str:
    """Memories that were true on the day of the page, or is now."""
    moment = visit.moment("t")
    day = literal(f"{moment:%Y-%m-%d}") if moment else ""
    where = _where(visit, _APART)
    return f"select label, title, status, valid_from from memory_at({day}){where}\norder by label, title;"


def changes(visit: Visit) -> str:
    """Saves and changes, the latest first."""
    where = _where(visit, session="session_id")
    columns = "at, kind, label, title, agent_id, changed_from"
    return f"select {columns} from memory_change{where}\norder by at desc limit 100;"


def conflicts(visit: Visit) -> str:
    """The contradictions that nobody has settled."""
    where = _where(visit, "status = 'active'", "with_status = 'active'")
    return f"select title, with_title, project, created_at from conflict{where};"


def reviews(visit: Visit) -> str:
    """Items that wait for a person."""
    given = literal(visit.project) if visit.project is not None else ""
    return f"select save_id, title, candidate_title, score from list_reviews({given});"


def saves(visit: Visit) -> str:
    """The saves that failed or wait."""
    where = _where(visit, "status not in ('saved', 'partial', 'dropped')")
    return f"select created_at, verb, project, status, message from save{where}\norder by created_at;"


def turns(visit: Visit) -> str:
    """The conversations, or the turns of one."""
    if visit.text("session"):
        return f"select place, role, content, said_at from turn{_where(visit, session='session_id')}\norder by place;"
    return (
        f"select session_id, project, count(*) as turns, max(captured_at) as last from turn{_where(visit)}\n"
        "group by 1, 2 order by 4 desc limit 40;"
    )


def edges(visit: Visit) -> str:
    """The relations that are drawn."""
    inside = ""
    if visit.project is not None:
        inside = f"\n  and from_id in (select id from memory where project = {literal(visit.project)})"
    return (
        "select from_title, rel, to_title from graph_edge\n"
        f"where rel not in ('BELONGS_TO', 'HAS_FOCUS'){inside};"
    )


def opening(visit: Visit) -> str:
    """The decisions and the work with which a session of the project begins."""
    if visit.project is None:
        return "select name, memories from list_projects();"
    asked = literal(visit.project)
    return f"select open_items, conflicts, replaced, decisions, session from project_opening({asked});"


def rules(visit: Visit) -> str:
    """The rules that are to be followed always."""
    return f"select text, project, by, brought, heeded, overridden from list_standing({_project(visit)});"


def waiting_rules(visit: Visit) -> str:
    """The rules of agents that wait for a person."""
    return f"select * from list_rules({_project(visit)});"


def near_names(visit: Visit) -> str:
    """Names that may mean one thing."""
    return f"select * from list_near_names({_project(visit)});"


def insights(_visit: Visit) -> str:
    """Findings from looking at memories together."""
    return "select * from surface_insights(25);"


def balance(visit: Visit) -> str:
    """The sums of some days."""
    return f"select * from sum_balance({_project(visit)}, {visit.count('days', 30, 3650)});"


def _project(visit: Visit) -> str:
    return literal(visit.project) if visit.project is not None else "null"
