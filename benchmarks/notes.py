"""Written notes, asked for by the subject of the commit that wrote them and by the identifiers that they name.

A note is a Markdown file. Both kinds of questions are made by rule, so that no question is written for the ranking:

- subjects: the subject of a commit that added one to three notes or changed exactly one, without prefix and number.
- identifiers: a name that is in one note only (a path, a version, a camelCase or snake_case word, …), asked as it is
  written, as its words, in the other spelling, or by a part of it. It must be in no other note in any spelling.

Okapi BM25 (k1 1.5, b 0.75, no stems, title and text as one) ranks the same notes beside it. The first places are
compared question by question: how many only pgmem has right and how many only Okapi, and how often chance alone would
give so uneven a count (sign test, two-sided). With several sets each is also asked for subjects of the next one, which
nothing in it answers.

The folder is a git work tree, or holds NAME.json: [{name, docs: [{id, title, text}], qs: [{text, gold: [id], kind}]}],
and beside it id-NAME.json with questions by identifiers in the same form; without that file they are made by rule.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean, median
from time import perf_counter
from typing import Any
from uuid import UUID

from benchmarks.databases import Progress, unseen
from benchmarks.metrics import score
from benchmarks.talks import settle
from pgmem.memory import Memory
from pgmem.workspace.git import Commit, Git, GitUnavailable

DEPTH = 20
_MOST = 250  # subjects of a repository
_MOST_NAMES = 150
_FOREIGN = 60

_WORD = re.compile(r"[a-z0-9]+")
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?:\s*|\[[^\]]*\]\s*)")
_NUMBER = re.compile(r"\s*\(?#\d+\)?")
_HEADING = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_RUN = re.compile(r"[\w./@-]*\w")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FORMS = {  # the first that fits
    "version": re.compile(r"v?\d+\.\d+\.\d+(?:[-.]?(?:rc|alpha|beta|dev)[-.]?\d*)?"),
    "path": re.compile(r"\.?/?[\w@.-]+(?:/[\w@.-]+)+"),
    "flag": re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)+"),
    "dotted": re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"),
    "code": re.compile(r"[A-Z]{1,5}-?\d{3,5}|[A-Z][a-z]+Error"),
    "camel": re.compile(r"(?:[a-z]+|[A-Z][a-z]+)(?:[A-Z][a-z0-9]+)+"),
    "snake": re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+"),
    "kebab": re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+){2,}"),
}
_ASKED = ("{}", "{}", "what do we know about {}", "where is {} used", "why {}", "how does {} work")


@dataclass(frozen=True, slots=True)
class Note:
    """A note: its id in the data, its title and its text."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the notes that answer it, and how it was made."""

    text: str
    gold: frozenset[str]
    kind: str


@dataclass(slots=True)
class Notes:
    """A set of notes that becomes a project, and its questions by kind: subjects and identifiers."""

    name: str
    notes: list[Note]
    questions: dict[str, list[Question]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """How a question was answered: the ids found, best first, the best relevance, and whether it is answered."""

    found: list[str]
    best: float
    answered: str


def read(folder: Path) -> list[Notes]:
    """The sets of notes of a folder.

    Raises:
        ValueError: the folder is neither a work tree with notes nor holds such files.
    """
    if (folder / ".git").exists():
        return [of_repository(folder)]
    files = [file for file in sorted(folder.glob("*.json")) if not file.name.startswith("id-")]
    if not files:
        raise ValueError(
            "not a git work tree, and no NAME.json in it; name a folder that is one or holds one"
        )
    sets = []
    for file in files:
        names = file.with_name(f"id-{file.name}")
        named = {row["name"]: row["qs"] for row in _rows(names)} if names.exists() else {}
        for row in _rows(file):
            notes = [Note(doc["id"], doc["title"], doc["text"]) for doc in row["docs"]]
            identifiers = (
                _questions(named[row["name"]]) if row["name"] in named else identifier_questions(notes)
            )
            sets.append(
                Notes(row["name"], notes, {"subjects": _questions(row["qs"]), "identifiers": identifiers})
            )
    return sets


def _rows(file: Path) -> list[dict[str, Any]]:
    read = json.loads(file.read_text(encoding="utf-8"))
    if not (isinstance(read, list) and all(isinstance(row, dict) and "qs" in row for row in read)):
        raise ValueError(f"{file.name} is not a list of objects with name, docs and qs")
    return read


def _questions(rows: Iterable[dict[str, Any]]) -> list[Question]:
    return [Question(row["text"], frozenset(row["gold"]), row["kind"]) for row in rows]


def of_repository(root: Path) -> Notes:
    """The Markdown files of a work tree, and questions of its history."""
    try:
        git = Git(root)
        notes = []
        for path in sorted(root.rglob("*.md")):
            name = path.relative_to(root).as_posix()
            text = (
                "" if name.startswith(".git/") else path.read_text(encoding="utf-8", errors="replace").strip()
            )
            if text:
                heading = _HEADING.search(text)
                notes.append(Note(name, heading[1].strip() if heading else path.stem, text))
        subjects = subject_questions(git.log(), {note.id for note in notes})
    except GitUnavailable as error:
        raise ValueError(f"{error}") from error
    if not notes:
        raise ValueError("the work tree holds no Markdown file")
    return Notes(
        root.resolve().name, notes, {"subjects": subjects, "identifiers": identifier_questions(notes)}
    )


def subject_questions(log: Iterable[Commit], known: set[str]) -> list[Question]:
    """The subjects of commits that added one to three of the notes or changed exactly one, each subject once."""
    questions: dict[str, Question] = {}
    for commit in log:
        added = {path for status, path, _ in commit.changes if status == "A" and path in known}
        changed = {path for status, path, _ in commit.changes if status == "M" and path in known}
        gold, kind = (added, "added") if 1 <= len(added) <= 3 else (changed, "changed")
        text = _NUMBER.sub("", _PREFIX.sub("", commit.subject)).strip()
        if (kind == "added" or (not added and len(changed) == 1)) and len(_WORD.findall(text.lower())) >= 3:
            questions.setdefault(text.lower(), Question(text, frozenset(gold), kind))
    return _some(list(questions.values()), _MOST)


def identifier_questions(notes: Sequence[Note]) -> list[Question]:
    """Questions that name an identifier of one note: whole, as words, in another spelling, or by a part."""
    holders: defaultdict[str, set[str]] = defaultdict(set)
    spelled: dict[str, str] = {}
    words: dict[str, str] = {}
    for note in notes:
        text = f"{note.title}\n{note.text}"
        words[note.id] = f" {' '.join(_parts(text))} "
        for run in set(_RUN.findall(text)):
            name = run.rstrip("-./@") if run.startswith("--") else run.strip("-./@")
            holders[name.lower()].add(note.id)
            spelled.setdefault(name.lower(), name)
    chance = Random(9)
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for lower, ids in sorted(holders.items()):
        name = spelled[lower]
        kind = next((kind for kind, form in _FORMS.items() if form.fullmatch(name)), None)
        if kind and len(ids) == 1 and 4 <= len(name) <= 70:
            found[kind].append((name, next(iter(ids))))
    questions: dict[str, Question] = {}
    for kind, names in found.items():
        chance.shuffle(names)
        made = 0
        for name, holder in names:
            forms = list(_forms(kind, name))
            form, text = forms[made % len(forms)]
            asked = f" {' '.join(_parts(text))} "
            if form != "whole" and [key for key, row in words.items() if asked in row] != [holder]:
                continue
            made += 1
            questions.setdefault(
                text.lower(),
                Question(chance.choice(_ASKED).format(text), frozenset({holder}), f"{kind}, {form}"),
            )
            if made >= _MOST_NAMES // 5:
                break
    return _some(list(questions.values()), _MOST_NAMES)


def _forms(kind: str, name: str) -> Iterator[tuple[str, str]]:
    parts = _parts(name)
    yield "whole", name
    if kind in ("version", "code") or len(parts) < 2 or sum(len(part) > 2 for part in parts) < 2:
        return
    yield "words", " ".join(parts)
    if kind in ("path", "dotted"):
        part = re.sub(r"\.\w+$", "", re.split(r"[/.]" if kind == "dotted" else "/", name)[-1])
        if len(_parts(part)) >= 2:
            yield "a part", part
    elif kind == "snake":
        yield "spelling", parts[0] + "".join(part.capitalize() for part in parts[1:])
    else:
        yield "spelling", "_".join(parts)


def _parts(text: str) -> list[str]:
    return [part.lower() for part in _PART.findall(text)]


def _some(questions: list[Question], most: int) -> list[Question]:
    Random(9).shuffle(questions)
    return questions[:most]


def okapi(notes: Sequence[Note]) -> Callable[[str], list[str]]:
    """Okapi BM25 over notes, in twenty lines: a function from a query to ids, best first."""
    counts = [Counter(_WORD.findall(f"{note.title} {note.text}".lower())) for note in notes]
    lengths = [count.total() for count in counts]
    mean = fmean(lengths)
    holders: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, count in enumerate(counts):
        for word, n in count.items():
            holders[word].append((place, n))

    def rank(query: str) -> list[str]:
        scores: Counter[int] = Counter()
        for word in set(_WORD.findall(query.lower())):
            held = holders.get(word, [])
            weight = math.log(1 + (len(notes) - len(held) + 0.5) / (len(held) + 0.5))
            for place, n in held:
                scores[place] += weight * n * 2.5 / (n + 1.5 * (0.25 + 0.75 * lengths[place] / mean))  # type: ignore[assignment]
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:DEPTH]
        return [notes[place].id for place, _ in best]

    return rank


def sign_test(won: int, lost: int) -> float:
    """How often chance alone gives a count at least so uneven, two-sided."""
    n = won + lost
    tail = sum(math.comb(n, k) for k in range(min(won, lost) + 1)) / 2.0**n
    return min(1.0, 2 * tail)


def auroc(own: Sequence[float], foreign: Sequence[float]) -> float:
    """How often an own question has a higher relevance than a foreign one; equal ones count half."""
    pairs = [(mine, theirs) for mine in own for theirs in foreign]
    return fmean(1.0 if mine > theirs else 0.5 if mine == theirs else 0.0 for mine, theirs in pairs)


async def run(memory: Memory, folder: Path, *, progress: Progress = unseen) -> dict[str, Any]:
    """Save the notes, a project a set; ask; rank with Okapi beside it.

    Returns:
        {bench, provider, sets: {name: {notes, words, kinds: {kind: {pgmem, okapi, won, lost, p, by_form}}}}, p50_ms,
        confidence}; pgmem and okapi are {n, hit@1, R@5, R@10, MRR} in percent, confidence {auroc, own_yes, foreign_yes,
        foreign_no} in percent, empty for a single set.

    Raises:
        ValueError: the folder holds no notes.
    """
    sets = read(folder)
    saved: dict[UUID, str] = {}
    for given in sets:
        await memory.save_session("Notes", given.name)
        for place, note in enumerate(given.notes, start=1):
            kept = await memory.save_context(note.text, given.name, topic=(note.title or note.id)[-200:])
            if kept.artifact_id is not None:
                saved.setdefault(kept.artifact_id, note.id)
            progress(f"saving {given.name}", place, len(given.notes))
    await settle(memory)
    times: list[float] = []

    async def ask(project: str, text: str, limit: int = DEPTH) -> _Asked:
        began = perf_counter()
        found = await memory.search_memory(text, limit, project)
        times.append(1000 * (perf_counter() - began))
        best = max((result.relevance or 0.0 for result in found.results), default=0.0)
        return _Asked(
            [saved[result.id] for result in found.results if result.id in saved], best, str(found.answered)
        )

    report: dict[str, Any] = {}
    for given in sets:
        beside, kinds = okapi(given.notes), {}
        for kind, questions in given.questions.items():
            rows = []
            for place, question in enumerate(questions, start=1):
                answer = await ask(given.name, question.text)
                gold = set(question.gold)
                rows.append(
                    (question.kind, _figures(answer.found, gold), _figures(beside(question.text), gold))
                )
                progress(f"{given.name}, {kind}", place, len(questions))
            kinds[kind] = _compared(rows)
        lengths = [len(note.text.split()) for note in given.notes]
        report[given.name] = {"notes": len(given.notes), "words": median(lengths), "kinds": kinds}
    p50 = round(median(times), 1) if times else None
    confidence = await _confidence(sets, ask) if len(sets) > 1 else {}
    return {
        "bench": "notes",
        "provider": memory.embedding_model,
        "sets": report,
        "p50_ms": p50,
        "confidence": confidence,
    }


def _figures(found: Sequence[str], gold: set[str]) -> dict[str, float]:
    # A note that was saved twice is one note.
    figures = score(list(dict.fromkeys(found)), gold)
    return {
        "hit@1": float(bool(found) and found[0] in gold),
        **{name: figures[name] for name in ("R@5", "R@10", "MRR")},
    }


def _compared(rows: Sequence[tuple[str, dict[str, float], dict[str, float]]]) -> dict[str, Any]:
    won = sum(ours["hit@1"] > theirs["hit@1"] for _, ours, theirs in rows)
    lost = sum(ours["hit@1"] < theirs["hit@1"] for _, ours, theirs in rows)
    forms: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for form, ours, _ in rows:
        forms[form].append(ours)
    return {
        "pgmem": _means([ours for _, ours, _ in rows]),
        "okapi": _means([theirs for _, _, theirs in rows]),
        "won": won,
        "lost": lost,
        "p": sign_test(won, lost),
        "by_form": {form: _means(figures) for form, figures in sorted(forms.items())},
    }


def _means(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    means = {
        name: round(100 * fmean(row[name] for row in figures), 1) for name in (figures[0] if figures else ())
    }
    return {"n": len(figures), **means}


async def _confidence(sets: Sequence[Notes], ask: Callable[..., Any]) -> dict[str, float]:
    own: list[_Asked] = []
    foreign: list[_Asked] = []
    for place, given in enumerate(sets):
        other = sets[(place + 1) % len(sets)]
        for asked, answers in ((given, own), (other, foreign)):
            # Keywords of an index are left out: nobody asks another project for them.
            subjects = [question for question in asked.questions["subjects"] if question.kind != "keywords"]
            answers += [await ask(given.name, question.text, 3) for question in _some(subjects, _FOREIGN)]

    def share(answers: Sequence[_Asked], word: str) -> float:
        return round(100 * fmean(answer.answered == word for answer in answers), 1)

    return {
        "auroc": round(auroc([a.best for a in own], [a.best for a in foreign]), 3),
        "own_yes": share(own, "yes"),
        "foreign_yes": share(foreign, "yes"),
        "foreign_no": share(foreign, "no"),
    }
