"""Which file of the repository an import means, and which file defines a name that others re-export."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pgmem.cards.source import Import, Source

_SCRIPT = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
IMPORTED = (".py", ".rs", *_SCRIPT)
"""Files whose users their imports say; in other languages a package is imported, or nothing is written."""
_DEPTH = 6


class Imports:
    """The imports of all files of a repository, resolved.

    Args:
        sources: the parsed files by path.
        names: dotted names of the Python files by path.
        packages: for go.mod, Cargo.toml and package.json the names of packages by their folder.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        names: Mapping[str, str],
        packages: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._sources = sources
        self._names = names
        self._go = packages.get("go.mod", {})
        self._crates = {name.replace("-", "_"): at for at, name in packages.get("Cargo.toml", {}).items()}
        self._scripts = {name: at for at, name in packages.get("package.json", {}).items()}
        self._known: dict[str, str] = {}
        for path, name in names.items():
            self._known.setdefault(name, path)
        self._by_end: defaultdict[str, list[str]] = defaultdict(list)
        self._by_folder: defaultdict[str, list[str]] = defaultdict(list)
        self._by_space: defaultdict[str, list[str]] = defaultdict(list)
        for path, source in sources.items():
            folder, _, file = path.rpartition("/")
            self._by_end[file].append(path)
            self._by_folder[folder].append(path)
            if source.namespace:
                self._by_space[source.namespace].append(path)
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
        """The files that define what a file imports, each with the names taken from it; an empty set: as a whole."""
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
        if suffix in ("go",):
            return self._go_package(one.target)
        if suffix == "rs":
            return self._rust(path, one)
        if suffix in ("java", "php"):
            return self._class(one.target.replace("\\", ".").removesuffix(".*"), suffix)
        if suffix == "cs":
            return self._by_space.get(one.target, ())
        if suffix in ("rb",):
            return self._beside(folder, one.target, (".rb",), by_end=True)
        if f".{suffix}" in _SCRIPT:
            return self._script(folder, one.target)
        return self._beside(folder, one.target, ("",), by_end=True)

    def _script(self, folder: str, target: str) -> list[str]:
        """The file that a relative path means, or the path within a package of the repository, or below its root."""
        if not target.startswith("."):
            name = next((name for name in self._scripts if f"{target}/".startswith(f"{name}/")), None)
            if name is not None:
                inner = target[len(name) :].strip("/")
                tries = [f"{self._scripts[name]}/{below}{inner}" for below in ("", "src/", "lib/")]
            elif target.startswith(("@/", "~/")):
                above = folder.split("/")
                tops = ["/".join(above[:depth]) for depth in range(len(above), -1, -1)]
                tries = [f"{top}/{below}{target[2:]}" for top in tops for below in ("src/", "")]
            else:
                return []
            found = (self._beside("", f"./{one.strip('/')}", _SCRIPT, by_end=False) for one in tries)
            return next((files for files in found if files), [])
        return self._beside(folder, target, _SCRIPT, by_end=False)

    def _beside(self, folder: str, target: str, suffixes: tuple[str, ...], *, by_end: bool) -> list[str]:
        """The file that a relative path means, with or without its suffix; else one with that end, if asked for."""
        if target.startswith(".") or by_end:
            base = posixpath.normpath(posixpath.join(folder, target))
            tries = [base, *(base + one for one in suffixes), *(f"{base}/index{one}" for one in suffixes)]
            stem, dot, end = base.rpartition(".")
            if dot and f".{end}" in _SCRIPT:  # TypeScript imports ./a.js and means ./a.ts
                tries += [stem + one for one in suffixes]
            for one in tries:
                if one in self._sources:
                    return [one]
        if by_end:
            file = target.rpartition("/")[2]
            for suffix in suffixes:
                ends = [
                    one for one in self._by_end[file + suffix] if f"/{one}".endswith(f"/{target}{suffix}")
                ]
                if len(ends) == 1:
                    return ends
        return []

    def _go_package(self, target: str) -> list[str]:
        for folder, module in self._go.items():
            if target == module or target.startswith(f"{module}/"):
                inner = target[len(module) :].strip("/")
                where = posixpath.normpath(posixpath.join(folder, inner)).removeprefix("./").strip(".")
                return [one for one in self._by_folder[where] if one.endswith(".go")]
        return []

    def _rust(self, path: str, one: Import) -> list[str]:
        parts = [part for part in one.target.split("::") if part]
        folder, _, file = path.rpartition("/")
        own = folder if file in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
        if parts[:1] == ["crate"]:
            source = re.match(r"(.*?\bsrc)(?:/|$)", folder)
            base = source[1] if source else folder
        elif parts[:1] == ["super"]:
            base = own.rpartition("/")[0]
        elif parts[:1] == ["self"]:
            base = own
        elif parts and parts[0] in self._crates:
            base = f"{self._crates[parts[0]]}/src".strip("/")
        else:
            return []
        parts = [*parts[1:], *(name for name in one.names if name != "*")]
        for length in range(len(parts), -1, -1):
            stem = "/".join([base, *parts[:length]]).strip("/")
            for tried in (f"{stem}.rs", f"{stem}/mod.rs", f"{stem}/lib.rs"):
                if tried in self._sources:
                    return [tried]
        return []

    def _class(self, target: str, suffix: str) -> list[str]:
        """The file of a class by its full name; of several with the same end the one whose namespace fits."""
        space, _, name = target.rpartition(".")
        ends = self._by_end[f"{name}.{suffix}"]
        fitting = [one for one in ends if (self._sources[one].namespace or "").replace("\\", ".") == space]
        return fitting or (self._by_space.get(target, []) if not ends else [])

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
