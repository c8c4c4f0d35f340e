"""The lines of the transcripts of each client: which hold turns, which are known to hold none, by whom.

    claude-code  {type: user | assistant, uuid, message: {role, content}, origin?, isMeta?, isSidechain?, …}; text that
                 a person types while the agent works is {type: attachment, attachment: {type: queued_command, prompt}}
    codex        {type, payload}: response_item with a message, and event_msg with the typed text; before 0.40 the
                 messages bare
    cursor       {role, message: {content}}; typed text is in <user_query>
    gemini-cli   {id, type: user | gemini, content, displayContent?}
    qwen-code    {uuid, type: user | assistant, message: {role, parts}, subtype?, provenance?, systemPayload?}
    copilot      {type: user.message | assistant.message, data: {content}, id}, of Copilot CLI and of VS Code
    windsurf     {type, status, TYPE: {…}}: user_input and planner_response

A line type, a part type or a field that is not in these lists and holds several words is met (`Context.meet`): so the
next release of a client is noticed when its first line is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from pgmem.foreign import holds_words, moment
from pgmem.transcripts.words import is_no_answer


class Spoken(NamedTuple):
    """A line as read: the parts of its text, its author, and its offset.

    Attributes:
        role: user or assistant.
        parts: the texts, in order.
        id: in the client; None: by place and text.
        at: the time, as the client wrote it.
        agent: the subagent that said it.
        by_person: the client says that a person typed it.
        session: the session that it belongs to; None: that of the transcript.
    """

    role: str
    parts: list[str]
    id: str | None = None
    at: object = None
    agent: str | None = None
    by_person: bool = False
    session: str | None = None


class Context(Protocol):
    """The notes of a form on a transcript while it reads: what `Reader` has."""

    session: str | None
    folder: str | None
    release: str
    began: object
    agent: str | None
    fork: Fork | None
    typed: list[str] | None
    asked: list[str]

    def meet(self, form: str) -> None: ...  # noqa: D102
    def leave(self, reason: str) -> None: ...  # noqa: D102


class Fork(NamedTuple):
    """A session that began as a copy of another one: the lines of the copy have the time of the fork."""

    of: str
    at: object


Entry = Mapping[str, Any]
Form = Callable[[Entry, Context], Iterable[Spoken]]

_TEXT_TYPES = (None, "text", "input_text", "output_text")
_PART_FIELDS = frozenset(
    "type text citations cache_control annotations logprobs id index signature meta title context source".split()
)
_SILENT_PARTS = frozenset(
    "thinking redacted_thinking tool_use tool_result image input_image image_url server_tool_use"
    " web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result"
    " mcp_tool_use mcp_tool_result text_editor_code_execution_tool_result tool_search_tool_result tool_reference"
    " container_upload search_result input_file reasoning refusal tool-call tool-result input_audio fallback"
    " compaction encrypted_content".split()
)
_TO_A_REFUSAL = "the user said:\n"


def form_of(entry: Entry) -> str | None:
    """Return the name of the form of a line, by its own fields; None for one of no known form."""
    kind = kind_of(entry)
    if "payload" in entry or "record_type" in entry or (kind == "message" and "role" in entry):
        return "codex"
    if kind in _CODEX_SILENT_ITEMS and "uuid" not in entry:  # bare, before 0.40
        return "codex"
    if isinstance(entry.get("data"), dict) and ("." in str(kind) or kind == "abort"):
        return "copilot"
    if isinstance(kind, str) and "status" in entry and isinstance(entry.get(kind), dict):
        return "windsurf"
    if "uuid" not in entry and ("role" in entry or kind == "turn_ended") and "sessionId" not in entry:
        return "cursor"
    if "$set" in entry or "$rewindTo" in entry or "projectHash" in entry:
        return "gemini-cli"
    if kind in _GEMINI_TYPES and "message" not in entry and "uuid" not in entry:
        return "gemini-cli"
    if kind is None and "id" in entry and "timestamp" in entry:
        return "codex"
    message = entry.get("message")
    if (
        kind == "tool_result"
        or "systemPayload" in entry
        or (isinstance(message, dict) and "parts" in message)
    ):
        return "qwen-code"
    return "claude-code" if isinstance(kind, str) else None


def kind_of(entry: Entry, name: str = "type") -> str | None:
    """Return the type of a line or part; any value but a text is a type that no reader knows."""
    kind = entry.get(name)
    return kind if kind is None or isinstance(kind, str) else "without a name"


def texts(content: object, context: Context, *, where: str = "part") -> list[str]:
    """Return the texts of a message: of a string, or of the parts of a list that hold turns."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        context.leave("its content is not a text")
        return []
    found: list[str] = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            found += _part(part, context, where)
        else:
            context.leave(f"a {where} of it is not a JSON object")
    return found


def _part(part: Entry, context: Context, where: str) -> list[str]:
    kind = kind_of(part)
    if part.get("thought") is True:
        return []
    if kind in _TEXT_TYPES and isinstance(part.get("text"), str):
        fields(part, _PART_FIELDS, context, f"the {where}s of type {kind or 'text'}")
        return [part["text"]] if part["text"].strip() else []
    if kind == "tool_result":
        return list(_to_a_refusal(part.get("content")))
    if kind == "document":
        source = part.get("source")
        if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
            return ["\n".join(filter(None, (part.get("title"), source["data"])))]
        return []
    if kind is None and set(part) & {"functionCall", "functionResponse", "inlineData", "fileData", "thought"}:
        return []
    if kind not in _SILENT_PARTS:
        _unless_silent(part, f"the {where} type {_named(kind)}", context)
    return []


def _unless_silent(entry: object, form: str, context: Context) -> None:
    """Meet a form that no reader knows, unless it holds no words: then nothing is lost."""
    if holds_words(entry):
        context.meet(form)


def _to_a_refusal(content: object) -> Iterator[str]:
    """Yield the words with which a person refused a tool: the client puts them into its result."""
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else part
        if (
            isinstance(text, str)
            and text.startswith("The user doesn't want to proceed")
            and _TO_A_REFUSAL in text
        ):
            yield text.partition(_TO_A_REFUSAL)[2].partition("\n\nNote: The user's next message")[0]


_ASKING = ("AskUserQuestion", "request_user_input", "ask_user")
"""The tools with which an agent asks its person."""


def _asked(given: object) -> Iterator[str]:
    """Yield the questions of a call of such a tool: {questions: [{question}]}, also as a text of JSON."""
    questions = _object(given).get("questions")
    for one in questions if isinstance(questions, list) else []:
        if isinstance(one, dict) and (text := _text(one.get("question"))):
            yield text


def _answered(given: object) -> Iterator[str]:
    """Yield the answers of a person: {answers: {question: text | texts | {answers: texts}}}, also as a text of JSON."""
    answers = _object(given).get("answers")
    for one in answers.values() if isinstance(answers, dict) else []:
        found = one.get("answers") if isinstance(one, dict) else one
        said = [_text(text) for text in (found if isinstance(found, list) else [found])]
        if any(said):
            yield ", ".join(text for text in said if text)


def _object(given: object) -> Entry:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, dict) else {}


def fields(entry: Entry, known: frozenset[str], context: Context, of: str) -> None:
    """Meet the fields of a line or part that no reader knows and that hold several words."""
    for name, value in entry.items():
        if name not in known and holds_words(value):
            context.meet(f"the field {_named(name)} of {of}")


def _named(name: object) -> str:
    return re.sub(r"[^\w.:$-]+", "_", str(name))[:60] or "without a name"


# Claude Code

_CLAUDE_LINE = frozenset(
    "parentUuid logicalParentUuid isSidechain userType cwd sessionId session_id version gitBranch type message"
    " uuid timestamp requestId isMeta isCompactSummary isVisibleInTranscriptOnly toolUseResult thinkingMetadata"
    " todos slug agentId isApiErrorMessage apiError apiErrorStatus error errorDetails origin permissionMode"
    " promptId promptSource sourceToolUseID sourceToolAssistantUUID imagePasteIds mcpMeta planContent entrypoint"
    " teamName agentName agentType sessionKind forkedFrom summarizeMetadata attributionAgent attributionSkill"
    " attributionPlugin interruptedMessageId effort queuePriority isReplay parent_tool_use_id level subtype"
    " diagnostics container context_management durationMs".split()
)
_CLAUDE_MESSAGE = frozenset(
    "id type role model content stop_reason stop_sequence stop_details usage container context_management".split()
)
_CLAUDE_SILENT = frozenset(
    "summary file-history-snapshot file-history-delta system progress queue-operation custom-title ai-title"
    " last-prompt mode permission-mode pr-link tag agent-name agent-color agent-setting attribution-snapshot"
    " content-replacement task-summary worktree-state speculation-accept continued-in started result"
    " rate_limit_event stream_event atis-latch bridge-session marble-origami-commit marble-origami-snapshot"
    " saved_hook_context fork-context-ref".split()
)
_CLAUDE_ATTACHED = frozenset(
    "command_permissions edited_text_file edited_image_file file directory compact_file_reference"
    " already_read_file plan_file_reference date_change nested_memory relevant_memories skill_listing"
    " invoked_skills dynamic_skill skill_discovery token_usage output_token_usage budget_usd ultra_effort_enter"
    " ultra_effort_exit selected_lines_in_ide opened_file_in_ide diagnostics output_style mcp_resource"
    " agent_mention async_hook_response max_turns_reached structured_output teammate_mailbox team_context"
    " task_status todo ultramemory current_session_memory companion_intro pdf_reference context_efficiency"
    " total_tokens_reminder background_task_status deferred_tools_delta mcp_instructions_delta".split()
)
_CLAUDE_FAMILIES = re.compile(r"hook_|plan_mode|auto_mode|\w+_(?:reminder|delta|listing|context)\Z")


def claude_code(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a line of Claude Code."""
    kind = kind_of(entry)
    context.session = _text(entry.get("sessionId")) or context.session
    context.folder = context.folder or _text(entry.get("cwd"))
    context.release = _text(entry.get("version")) or context.release
    facts = {
        "id": _text(entry.get("uuid")),
        "at": entry.get("timestamp"),
        "agent": str(entry.get("agentId") or "subagent") if entry.get("isSidechain") else None,
        "session": _text(entry.get("sessionId")),
    }
    copied = entry.get("forkedFrom")
    if isinstance(copied, dict) and copied.get("messageUuid"):
        facts["id"] = str(copied["messageUuid"])
    if kind in ("user", "assistant"):
        message = entry.get("message")
        if not isinstance(message, dict):
            context.leave("its message is not a JSON object")
            return
        if _is_put_in(entry) or message.get("model") == "<synthetic>":
            return
        origin = _origin(entry)
        if kind == "user" and origin not in (None, "human"):
            return
        fields(entry, _CLAUDE_LINE, context, f"lines of type {kind}")
        fields(message, _CLAUDE_MESSAGE, context, f"messages of {kind}")
        parts = texts(message.get("content"), context) + list(_questions_of_claude(entry, message, context))
        if kind == "assistant" and "model" not in message and is_no_answer("\n".join(parts)):
            return
        yield Spoken(str(kind), parts, by_person=kind == "user" and origin == "human", **facts)
    elif kind == "attachment":
        attached = entry.get("attachment")
        if isinstance(attached, dict):
            yield from _attached(attached, entry, context, facts)
    elif kind not in _CLAUDE_SILENT:
        _unless_silent(entry, f"the line type {_named(kind)}", context)


def _questions_of_claude(entry: Entry, message: Entry, context: Context) -> Iterator[str]:
    """Yield the questions that the agent asks its person in a message, or the answers to those of an earlier one."""
    content = message.get("content")
    for part in content if isinstance(content, list) else []:
        if not isinstance(part, dict):
            continue
        if part.get("type") == "tool_use" and part.get("name") in _ASKING:
            context.asked.append(str(part.get("id")))
            yield from _asked(part.get("input"))
        elif part.get("type") == "tool_result" and str(part.get("tool_use_id")) in context.asked:
            yield from _answered(entry.get("toolUseResult"))


def _attached(attached: Entry, entry: Entry, context: Context, facts: dict[str, Any]) -> Iterator[Spoken]:
    kind = str(attached.get("type"))
    if kind == "queued_command":
        origin = _origin(attached) or _origin(entry)
        typed = attached.get("commandMode") in (None, "prompt") and origin in (None, "human")
        if typed and not attached.get("isMeta") and not entry.get("isMeta"):
            parts = texts(attached.get("prompt"), context)
            yield Spoken("user", parts, by_person=origin == "human", **facts)
    elif kind not in _CLAUDE_ATTACHED and not _CLAUDE_FAMILIES.match(kind) and holds_words(attached):
        context.meet(f"the attachment type {_named(kind)}")


def _is_put_in(entry: Entry) -> bool:
    names = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
    return any(entry.get(name) for name in names)


def _origin(entry: Entry) -> str | None:
    origin = entry.get("origin")
    found = origin.get("kind") if isinstance(origin, dict) else origin
    return str(found) if found else None


# Codex

_CODEX_SILENT_ITEMS = frozenset(
    "reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call"
    " web_search_call image_generation_call ghost_snapshot compaction compaction_summary compaction_trigger"
    " context_compaction tool_search_call tool_search_output mcp_tool_call mcp_tool_call_output computer_call"
    " computer_call_output other".split()
)
_CODEX_SILENT_LINES = frozenset("turn_context compacted session_state state world_state".split())
_CODEX_SILENT_EVENTS = frozenset(
    "agent_message agent_message_delta agent_message_content_delta agent_reasoning agent_reasoning_delta"
    " agent_reasoning_raw_content agent_reasoning_raw_content_delta agent_reasoning_section_break"
    " reasoning_content_delta reasoning_raw_content_delta token_count task_started turn_started task_complete"
    " turn_complete turn_aborted error warning stream_error background_event context_compacted thread_rolled_back"
    " session_configured thread_name_updated thread_goal_updated mcp_startup_update mcp_startup_complete"
    " mcp_tool_call_begin mcp_tool_call_end web_search_begin web_search_end image_generation_begin"
    " image_generation_end exec_command_begin exec_command_output_delta exec_command_end terminal_interaction"
    " view_image_tool_call exec_approval_request apply_patch_approval_request request_permissions"
    " request_user_input elicitation_request dynamic_tool_call_request dynamic_tool_call_response"
    " guardian_assessment guardian_warning model_reroute model_verification deprecation_notice undo_started"
    " undo_completed patch_apply_begin patch_apply_updated patch_apply_end turn_diff get_history_entry_response"
    " mcp_list_tools_response list_custom_prompts_response list_skills_response skills_update_available"
    " plan_update plan_delta shutdown_complete entered_review_mode exited_review_mode raw_response_item"
    " item_started item_completed hook_started hook_completed collab_agent_spawn_begin collab_agent_spawn_end"
    " collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin collab_waiting_end"
    " collab_close_begin collab_close_end collab_resume_begin collab_resume_end sub_agent_activity"
    " thread_settings_applied realtime_conversation_started realtime_conversation_closed".split()
)
_CODEX_ITEM = frozenset(
    "type id role content phase end_turn status internal_chat_message_metadata_passthrough metadata".split()
)


def codex(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a line of a rollout; before 0.40 the payload bare."""
    if "payload" not in entry:
        yield from _bare_codex(entry, context)
        return
    payload, kind = entry["payload"], kind_of(entry)
    if not isinstance(payload, dict):
        context.leave("its payload is not a JSON object")
        return
    inner = kind_of(payload)
    if kind == "session_meta":
        _codex_meta(payload, entry, context)
    elif kind == "response_item":
        if inner != "message":
            name = str(payload.get("call_id"))
            if inner == "function_call" and payload.get("name") in _ASKING:
                context.asked.append(name)
                found = list(_asked(payload.get("arguments")))
                yield Spoken("assistant", found, at=entry.get("timestamp"), agent=context.agent)
            elif inner == "function_call_output" and name in context.asked:
                found = list(_answered(payload.get("output")))
                yield Spoken("user", found, at=entry.get("timestamp"), agent=context.agent)
            if inner not in _CODEX_SILENT_ITEMS:
                _unless_silent(payload, f"the item type {_named(inner)}", context)
            return
        role = payload.get("role")
        if role not in ("user", "assistant", "developer", "system"):
            _unless_silent(payload, f"the role {_named(role)}", context)
        if role in ("user", "assistant"):
            fields(payload, _CODEX_ITEM, context, f"messages of {role}")
            found = texts(payload.get("content"), context)
            yield Spoken(str(role), found, at=entry.get("timestamp"), agent=context.agent)
    elif kind == "event_msg":
        if (words := typed_in_codex(entry)) is not None:
            yield Spoken("user", [words], at=entry.get("timestamp"), agent=context.agent, by_person=True)
        elif inner not in _CODEX_SILENT_EVENTS and inner != "user_message" and holds_words(payload):
            context.meet(f"the event type {_named(inner)}")
    elif kind not in _CODEX_SILENT_LINES:
        _unless_silent(payload, f"the line type {_named(kind)}", context)


def typed_in_codex(entry: Entry) -> str | None:
    """Return the text that a person typed, where a line of a rollout is such an event; else None."""
    payload = entry.get("payload")
    if entry.get("type") != "event_msg" or not isinstance(payload, dict):
        return None
    if payload.get("type") == "user_message":
        if payload.get("kind") in (None, "plain") and isinstance(payload.get("message"), str):
            return str(payload["message"]).strip() or None
        return None
    item = payload.get("item")
    if (
        payload.get("type") != "item_completed"
        or not isinstance(item, dict)
        or item.get("type") != "UserMessage"
    ):
        return None
    content = item.get("content")
    found = [
        part["text"]
        for part in (content if isinstance(content, list) else [])
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]
    return "\n\n".join(found).strip() or None


def _codex_meta(payload: Entry, entry: Entry, context: Context) -> None:
    name = _text(payload.get("id"))
    if context.session is not None and name != context.session:  # of the session that this one is a copy of
        if name is not None and context.fork is not None:
            context.fork = context.fork._replace(of=name)
        return
    context.session = name or context.session
    context.folder = context.folder or _text(payload.get("cwd"))
    context.release = _text(payload.get("cli_version")) or context.release
    context.began = entry.get("timestamp") or payload.get("timestamp")
    source = payload.get("source")
    if payload.get("thread_source") == "subagent" or (isinstance(source, dict) and "subagent" in source):
        context.agent = str(payload.get("agent_nickname") or "subagent")
    if (parent := _text(payload.get("forked_from_id"))) and context.fork is None:
        context.fork = Fork(parent, entry.get("timestamp"))


def _bare_codex(entry: Entry, context: Context) -> Iterator[Spoken]:
    kind = kind_of(entry)
    if kind == "message":
        if entry.get("role") in ("user", "assistant"):
            found = texts(entry.get("content"), context)
            yield Spoken(str(entry["role"]), found, at=entry.get("timestamp"))
        elif entry.get("role") not in ("developer", "system"):
            _unless_silent(entry, f"the role {_named(entry.get('role'))}", context)
    elif kind is None and "record_type" not in entry:
        context.session = context.session or _text(entry.get("id"))
        context.began = context.began or entry.get("timestamp")
    elif kind is not None and kind not in _CODEX_SILENT_ITEMS:
        _unless_silent(entry, f"the item type {_named(kind)}", context)


# Cursor

_CURSOR_LINE = frozenset(
    "role message type id timestamp createdAt turn_id message_id model status parentId".split()
)
_CURSOR_MESSAGE = frozenset("content role id model usage type".split())
_CURSOR_SILENT = frozenset("turn_ended tool_call tool_result turn_id message_id".split())
_CURSOR_TIME = re.compile(
    r"<timestamp>\s*\w+, (\w{3} \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M) \(UTC([+-]\d{1,2})?(?::?(\d\d))?\)"
)


def cursor(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a line of Cursor; it has neither ids nor, before 2.5, times."""
    role, message = entry.get("role"), entry.get("message")
    if role not in ("user", "assistant"):
        kind = kind_of(entry)
        if role not in ("system", "tool") and kind not in _CURSOR_SILENT:
            _unless_silent(entry, f"the line type {_named(kind or role)}", context)
        return
    if isinstance(message, dict):
        fields(entry, _CURSOR_LINE, context, f"lines of {role}")
        fields(message, _CURSOR_MESSAGE, context, f"messages of {role}")
        message = message.get("content")
    parts = texts(message if message is not None else entry.get("content"), context)
    at = (
        entry.get("timestamp") or entry.get("createdAt") or next(filter(None, map(_cursor_time, parts)), None)
    )
    if role == "assistant":
        parts = [text for part in parts if (text := part.replace("[REDACTED]", "").strip())]
    name = _text(entry.get("message_id")) or _text(entry.get("id"))
    yield Spoken(str(role), parts, name, at)


def _cursor_time(text: str) -> str | None:
    found = _CURSOR_TIME.search(text[:2_000])
    if found is None:
        return None
    from datetime import datetime

    try:
        local = datetime.strptime(found[1], "%b %d, %Y, %I:%M %p")
    except ValueError:
        return None
    zone = int(found[2] or 0)
    return f"{local.isoformat()}{'-' if zone < 0 else '+'}{abs(zone):02d}:{found[3] or '00'}"


# Gemini CLI

_GEMINI_TYPES = ("user", "gemini", "info", "error", "warning")
_GEMINI_LINE = frozenset(
    "id timestamp type content displayContent toolCalls thoughts tokens model kind agentId".split()
)


def gemini_cli(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a message of Gemini CLI; typed text is in displayContent where that differs from the sent text."""
    kind = kind_of(entry)
    if "projectHash" in entry or "$set" in entry:
        changed = entry.get("$set")
        facts: Entry = changed if isinstance(changed, dict) else entry
        context.session = context.session or _text(facts.get("sessionId"))
        context.began = context.began or facts.get("startTime")
        context.agent = "subagent" if facts.get("kind") == "subagent" else context.agent
        folders = facts.get("directories")
        if isinstance(folders, list) and folders:
            context.folder = context.folder or _text(folders[0])
        return
    if kind not in ("user", "gemini"):
        if kind not in _GEMINI_TYPES and "$rewindTo" not in entry:
            _unless_silent(entry, f"the line type {_named(kind)}", context)
        return
    fields(entry, _GEMINI_LINE, context, f"messages of {kind}")
    shown = entry.get("displayContent") if kind == "user" else None
    found = texts(shown or entry.get("content"), context)
    yield Spoken(
        "user" if kind == "user" else "assistant",
        found,
        _text(entry.get("id")),
        entry.get("timestamp"),
        agent=context.agent,
        by_person=bool(shown),
    )
    yield from _questions_of_gemini(entry, context)


def _questions_of_gemini(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Yield the questions to a person that are among the calls of a message, and the answers to them."""
    calls = entry.get("toolCalls")
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict) or call.get("name") not in _ASKING:
            continue
        facts: dict[str, Any] = {
            "at": call.get("timestamp") or entry.get("timestamp"),
            "agent": context.agent,
        }
        yield Spoken("assistant", list(_asked(call.get("args"))), f"{call.get('id')}-asked", **facts)
        result = call.get("result")
        for part in result if isinstance(result, list) else []:
            response = _object(_object(_object(part).get("functionResponse")).get("response"))
            yield Spoken(
                "user", list(_answered(response.get("output"))), f"{call.get('id')}-answered", **facts
            )


# Qwen Code

_QWEN_LINE = frozenset(
    "uuid parentUuid sessionId timestamp type subtype provenance goalContext backgroundTurn deliveredTurn cwd version"
    " gitBranch promptId message usageMetadata model contextWindowSize toolCallResult systemPayload agentId agentName"
    " agentColor isSidechain agentRunId agentRound externalInputKind forkedFrom daemonPromptId".split()
)
_QWEN_SAID = (None, "mid_turn_user_message", "user_text_elements")
_QWEN_PUT_IN = frozenset(
    "notification background_task_completed cron goal_runtime goal_state goal_turn_end agent_bootstrap"
    " agent_launch_prompt agent_retry agent_session_ready turn_result slash_command at_command".split()
)
_QWEN_BROUGHT = "<qwen:user-prompt-submit-context>"


def qwen_code(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a record of Qwen Code; provenance and subtype say who said it."""
    kind, subtype = kind_of(entry), kind_of(entry, "subtype")
    context.session = _text(entry.get("sessionId")) or context.session
    context.folder = context.folder or _text(entry.get("cwd"))
    context.release = _text(entry.get("version")) or context.release
    message = entry.get("message")
    if kind in ("system", "tool_result") or subtype in _QWEN_PUT_IN:
        return
    if kind not in ("user", "assistant") or subtype not in _QWEN_SAID:
        if holds_words(entry):
            context.meet(f"the line type {_named(subtype or kind)}")
        return
    if not isinstance(message, dict) or entry.get("provenance") not in (
        None,
        "real_user",
        "assistant_output",
    ):
        return
    fields(entry, _QWEN_LINE, context, f"lines of type {kind}")
    payload = entry.get("systemPayload")
    brought = isinstance(payload, dict) and isinstance(payload.get("hookContext"), str)
    shown = _text(payload.get("displayText")) if brought and isinstance(payload, dict) else None
    found = [shown] if shown and kind == "user" else texts(message.get("parts"), context)
    copied = entry.get("forkedFrom")
    name = copied.get("messageUuid") if isinstance(copied, dict) else None
    yield Spoken(
        str(kind),
        [text for text in found if not text.startswith(_QWEN_BROUGHT)],
        _text(name) or _text(entry.get("uuid")),
        entry.get("timestamp"),
        str(entry.get("agentId") or "subagent") if entry.get("isSidechain") else None,
        by_person=kind == "user" and entry.get("provenance") == "real_user",
        session=_text(entry.get("sessionId")),
    )


# Copilot CLI, and Copilot of VS Code

_COPILOT_FAMILIES = re.compile(
    r"(?:session|tool|hook|subagent|skill|permission|command|elicitation|user_input|external_tool|exit_plan_mode|model"
    r"|pending_messages|system|commands|mcp|sampling|auto_mode_switch|capabilities)\.|abort\Z"
    r"|assistant\.(?:turn_\w+|reasoning\w*|usage|intent|message_\w+|streaming_delta)\Z"
)
_COPILOT_DATA = frozenset(
    "content transformedContent attachments source messageId toolRequests interactionId agentMode agentId"
    " parentToolCallId reasoningText reasoningOpaque encryptedContent phase outputTokens requestId model turnId"
    " nativeDocument supportedNativeDocumentMimeTypes nativeDocumentPathFallbackPaths delivery"
    " parentAgentTaskId".split()
)


def copilot(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read an event of Copilot."""
    kind, data = str(entry.get("type")), entry.get("data")
    if not isinstance(data, dict):
        context.leave("its data is not a JSON object")
        return
    if kind in ("session.start", "session.resume"):
        context.session = context.session or _text(data.get("sessionId"))
        context.release = _text(data.get("copilotVersion")) or context.release
        about = data.get("context")
        if isinstance(about, dict):
            context.folder = context.folder or _text(about.get("gitRoot")) or _text(about.get("cwd"))
    elif kind in ("user.message", "assistant.message"):
        role = kind.partition(".")[0]
        source = str(data.get("source") or "user").lower()
        if role == "user" and source != "user":
            return
        fields(data, _COPILOT_DATA, context, f"the events {kind}")
        agent = data.get("agentId") or entry.get("agentId") or data.get("parentToolCallId")
        found = texts(data.get("content"), context)
        name = _text(entry.get("id")) or _text(data.get("messageId"))
        yield Spoken(role, found, name, entry.get("timestamp"), str(agent) if agent else None, role == "user")
    elif not _COPILOT_FAMILIES.match(kind):
        _unless_silent(data, f"the event type {_named(kind)}", context)


# Windsurf

_WINDSURF_SILENT = frozenset(
    "code_action run_command command_status view_file view_file_outline view_code_item view_content_chunk"
    " list_directory find find_by_name grep_search grep_search_v2 codebase_search search_web read_url_content"
    " mcp_tool memory retrieve_memory todo_list checkpoint ephemeral_message error_message propose_code"
    " trajectory_search lint deploy_web_app read_deployment_config suggested_responses plan_input file_change"
    " git_commit knowledge_base_search read_terminal browser_preview write_to_file".split()
)
_WINDSURF_INPUT = frozenset("user_response rules_applied query images items".split())
_WINDSURF_ANSWER = frozenset("response thinking tool_calls stop_reason message_id".split())


def windsurf(entry: Entry, context: Context) -> Iterator[Spoken]:
    """Read a step of Cascade."""
    kind = str(entry.get("type"))
    step = entry.get(kind)
    if not isinstance(step, dict):
        context.leave("it has no step of its type")
        return
    at = entry.get("timestamp") or entry.get("created_at")
    if kind == "user_input":
        fields(step, _WINDSURF_INPUT, context, f"the steps {kind}")
        yield Spoken("user", texts(step.get("user_response"), context), at=at, by_person=True)
    elif kind == "planner_response":
        fields(step, _WINDSURF_ANSWER, context, f"the steps {kind}")
        yield Spoken("assistant", texts(step.get("response"), context), at=at)
    elif kind not in _WINDSURF_SILENT:
        _unless_silent(step, f"the step type {_named(kind)}", context)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


FORMS: Mapping[str, Form] = {
    "claude-code": claude_code,
    "codex": codex,
    "copilot": copilot,
    "cursor": cursor,
    "gemini-cli": gemini_cli,
    "qwen-code": qwen_code,
    "windsurf": windsurf,
}
"""The readers of a line, by the name of the client."""


def seconds_between(first: object, second: object) -> float | None:
    """Return the seconds between two times of lines; None where one of them cannot be read."""
    one, other = moment(first).at, moment(second).at
    return abs((other - one).total_seconds()) if one and other else None
