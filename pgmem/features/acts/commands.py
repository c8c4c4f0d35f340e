"""`pgmem rules` and `pgmem balance`: the rules beside each other, and what the memory cost and gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgmem.cli.options import Rows, terminal
from pgmem.cli.verbs import Call, verb_command
from pgmem.escaping import counted, visible

if TYPE_CHECKING:
    from pgmem.answers import Balance, StandingRule, TrialMeasure


@verb_command("list_standing", "project_id")
def rules(call: Call) -> None:
    """Show the rules beside each other: who said each and when, its results, and which contradict it."""
    found: list[StandingRule] = call.answer()
    if not found:
        terminal().print('No rules yet. One begins with always or never: pgmem save context "Never …".')
        return
    rows = (
        (
            one.text,
            f"{one.author or one.by}",
            f"{one.age_days} d",
            one.project or "all",
            one.brought,
            one.heeded,
            one.overridden,
            str(one.id)[:8],
        )
        for one in found
    )
    terminal().print(Rows(("rule", "by", "age", "project", "brought", "heeded", "overridden", "id"), rows))
    pairs = {
        (*sorted((str(one.id), str(other.id))), word): (one, other, word)
        for one in found
        for word, others in (("contradicts", one.against), ("may be one with", one.copies))
        for other in others
    }
    for one, other, word in pairs.values():
        terminal().print(
            f"{visible(one.text)} ({str(one.id)[:8]}) {word} {visible(other.text)} ({str(other.id)[:8]}): "
            f"{visible(other.reason)}.",
            markup=False,
            highlight=False,
        )
    if pairs:
        terminal().print("Forget the one that does not hold: pgmem forget ID.", style="dim")


@verb_command("sum_balance", "project_id")
def balance(call: Call) -> None:
    """Show the cost of the memory and its results: tokens, words, rules, errors, and the trial by a coin."""
    found: Balance = call.answer()
    out = terminal()
    out.print(
        f"In {counted(found.days, 'day')}: {found.tokens:,} tokens brought to {counted(found.sessions, 'session')}, "
        f"{counted(found.memories_brought, 'different memory', 'different memories')}."
    )
    if found.brought:
        out.print(
            Rows(
                ("brought by", "answers", "tokens"),
                ((one.by, one.answers, one.tokens) for one in found.brought),
            )
        )
    out.print(
        f"Named used {found.used} times, noise {found.noise}, wrong or outdated {found.wrong}; "
        f"{found.corrected} of {found.memories_brought} brought memories were corrected since."
    )
    out.print(
        f"Commands that a rule forbade before they ran: {found.met}; {found.changed} then did not run, "
        f"{found.done} ran all the same."
    )
    errors = found.errors
    out.print(
        f"Errors that came again in a later session: {errors.again_with_memory} of {errors.with_memory} with which a "
        f"memory had come, {errors.again_without_memory} of {errors.without_memory} without. "
        "A count is not a trial: the errors may differ."
    )
    if found.measures:
        out.print(
            Rows(
                ("of a session", "with memory", "without", "difference", "interval", "says"),
                map(row, found.measures),
            )
        )
        out.print(
            "Means of sessions as the coin fell; intervals of Welch that hold together with 95 %.",
            style="dim",
        )
    elif found.trial:
        out.print("The trial is on; no session of it has had a prompt yet.")
    else:
        out.print(
            "Whether it pays, a trial shows: pgmem config set memory_trial on gives each session its memories or none "
            "by a coin, and shows you which at its start.",
            style="dim",
        )


def row(one: TrialMeasure) -> tuple[str, ...]:
    """Return the cells of a measure; a figure has the number of its sessions beside it."""
    low, high = one.low, one.high
    return (
        one.name,
        f"{figure(one.with_mean)} (n = {one.with_n})",
        f"{figure(one.without_mean)} (n = {one.without_n})",
        figure(one.difference, signed=True),
        "" if low is None or high is None else f"{figure(low, signed=True)} to {figure(high, signed=True)}",
        one.says,
    )


def figure(value: float | None, *, signed: bool = False) -> str:
    """Return a mean as text: whole from 100 on, with one digit or two below."""
    if value is None:
        return "–"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:+,.{digits}f}" if signed else f"{value:,.{digits}f}"
