"""Which file of the repository an import means, and which file defines a name that others re-export."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pgmem.features.cards.source import Import, Source

_SCRIPT = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
IMPORTED = (".py", *_SCRIPT)
"""Files whose users their imports say."""
_DEPTH = 6


class Imports:
    """The imports of all files of a repository, resolved.

    Args:
        sources: the parsed files by path.
        names: dotted names of the Python files by path.
        packages: the folders of packages by the name in their package.json.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        names: Mapping[str, str],
        packages: Mapping[str, str],
    ) -> None:
        self._sources = sources
        self._names = names
        self._packages = packages
        self._known: dict[str, str] = {}
        for path, name in names.items():
            self._known.setdefault(name, path)
        self._by_end: defaultdict[str, list[str]] = defaultdict(list)
        for path in sources:
            self._by_end[path.rpartition("/")[2]].append(path)
        self._relays: dict[str, dict[str, tuple[str, str]]] = {}
        self._stars: dict[str, list[str]] = {}
        self._resolved = {path: list(self._resolve(path, source)) for path, source in sources.items()}
        for path, resolved in self._resolved.items():
            relays = self._relays[path] = {}
            stars = self._stars[path] = []
            for one, targets in resolved:
                for alias, name in one.relay:
                    for target in targets:
                        if alias == "*" or name == "*":
                            stars.append(target)
                        else:
                            relays.setdefault(alias, (target, name))

    def direct(self, path: str) -> list[str]:
        """The files that a file imports itself, sorted."""
        return sorted({target for _, targets in self._resolved[path] for target in targets} - {path})

    def used(self, path: str) -> dict[str, set[str]]:
        """The files that define the imports of a file, each with the names taken from it; an empty set: as a whole."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for one, targets in self._resolved[path]:
            for target in targets:
                names = [name for name in one.names if name != "*"]
                if not names:
                    found[target].update(())
                for name in names:
                    found[self._origin(target, name)].add(name)
        found.pop(path, None)
        return dict(found)

    def _origin(self, path: str, name: str, depth: int = _DEPTH) -> str:
        """The file that defines a name which another exports."""
        if depth == 0:
            return path
        if (relay := self._relays[path].get(name)) is not None:
            target, original = relay
            deeper = self._known.get(f"{self._names.get(target, '')}.{original}")
            return deeper if deeper else self._origin(target, original, depth - 1)
        if name not in self._sources[path].exports:
            for target in self._stars[path]:
                if name in self._sources[target].exports or name in self._relays[target]:
                    return self._origin(target, name, depth - 1)
        return path

    def _resolve(self, path: str, source: Source) -> Iterator[tuple[Import, list[str]]]:
        suffix = path.rpartition(".")[2]
        for one in source.imports:
            if suffix == "py":
                yield from self._python(path, one)
            else:
                targets = [target for target in self._targets(path, suffix, one) if target != path]
                if targets:
                    yield one, targets

    def _targets(self, path: str, suffix: str, one: Import) -> Iterable[str]:
        folder = path.rpartition("/")[0]
        if f".{suffix}" in _SCRIPT:
            return self._script(folder, one.target)
        return self._named(folder, one.target)

    def _script(self, folder: str, target: str) -> list[str]:
        """The file that a relative path means, or the path within a package of the repository, or below its root."""
        if target.startswith("."):
            return self._beside(posixpath.join(folder, target))
        name = next((name for name in self._packages if f"{target}/".startswith(f"{name}/")), None)
        if name is not None:
            tries = [f"{self._packages[name]}/{below}{target[len(name) :]}" for below in ("", "src/", "lib/")]
        elif target.startswith(("@/", "~/")):
            above = folder.split("/")
            tops = ["/".join(above[:depth]) for depth in range(len(above), -1, -1)]
            tries = [f"{top}/{below}{target[2:]}" for top in tops for below in ("src/", "")]
        else:
            return []
        return next((files for one in tries if (files := self._beside(one.strip("/")))), [])

    def _beside(self, path: str) -> list[str]:
        """The file of a path with or without its suffix, or the index of a folder."""
        base = posixpath.normpath(path)
        stem = base.rpartition(".")[0] if base.endswith(_SCRIPT) else base  # ./a.js means ./a.ts
        tries = (base, *(one + end for one in (base, f"{base}/index", stem) for end in _SCRIPT))
        return next(([one] for one in tries if one in self._sources), [])

    def _named(self, folder: str, target: str) -> list[str]:
        """The file that a script names by its path from there, or by the end of its path."""
        base = posixpath.normpath(posixpath.join(folder, target))
        ends = [one for one in self._by_end[target.rpartition("/")[2]] if f"/{one}".endswith(f"/{target}")]
        return [base] if base in self._sources else ends if len(ends) == 1 else []

    def _python(self, path: str, one: Import) -> Iterator[tuple[Import, list[str]]]:
        """`from a import b` is module a.b if it exists, else b of a; `import a.b.c` is its longest known prefix."""
        base = one.target
        if one.level:
            name = self._names[path]
            package = name.split(".") if path.endswith("/__init__.py") else name.split(".")[:-1]
            start = package[: len(package) - one.level + 1]
            if len(start) < len(package) - one.level + 1 or (one.level > 1 and not start):
                return
            base = ".".join([*start, base] if base else start)
        modules = [name for name in one.names if f"{base}.{name}".strip(".") in self._known]
        for name in modules:
            yield Import(base), [self._known[f"{base}.{name}".strip(".")]]
        rest = tuple(name for name in one.names if name not in modules)
        if rest or not one.names:
            parts = base.split(".")
            for length in range(len(parts), 0, -1):
                if (file := self._known.get(".".join(parts[:length]))) is not None:
                    relay = tuple(pair for pair in one.relay if pair[1] in rest)
                    yield Import(base, rest if length == len(parts) else (), relay=relay), [file]
                    return
