"""The attacker ships a repository, and somebody connects a client in it, or starts a session of a client there."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
import stat
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from pgmem.cli import app
from pgmem.features.editor.catalog import CLIENTS

ROOT = Path(__file__).parents[2]
NOWHERE = "host=127.0.0.1 port=1 dbname=x user=x"
MOVES = ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "PGMEM_DSN", "PGMEM_DATA_DIR", "PYTHONPATH")
Connect = Callable[..., Result]


# Programs that a client starts in a repository


def make_wheel(folder: Path) -> Path:
    """Make a wheel of this tree as pip takes it; its needs are found where the tests find it."""
    wheel = folder / "pgmem_agent-0-py3-none-any.whl"
    info = "pgmem_agent-0.dist-info"
    files = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in (ROOT / "pgmem").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    files["pgmem_dependencies.pth"] = f"{sysconfig.get_path('purelib')}\n".encode()
    files[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: pgmem-agent\nVersion: 0\n"
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\npgmem = pgmem.__main__:main\n"
    with zipfile.ZipFile(wheel, "w") as packed:
        record = ""
        for name, contents in files.items():
            packed.writestr(name, contents)
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(contents)}\n"
        packed.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return wheel


class UserInstall:
    """pgmem as `pip install --user` puts it: its program is not beside the interpreter."""

    def __init__(self, folder: Path) -> None:
        self.python = str(getattr(sys, "_base_executable", sys.executable))
        self.program = folder / "base" / "bin" / "pgmem"
        self.home = folder / "home"
        self.home.mkdir()
        kept = {name: value for name, value in os.environ.items() if name not in MOVES}
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "PYTHONUSERBASE": str(folder / "base"),
            "PIP_BREAK_SYSTEM_PACKAGES": "1",
            "PGMEM_DATA_DIR": str(folder / "data"),
            "PGMEM_DSN": NOWHERE,
        }
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", "--user", "--no-deps")
        self.run(*pip, "--no-index", "--quiet", "--disable-pip-version-check", str(make_wheel(folder)))

    def run(self, *command: str, cwd: Path | None = None, given: str = "") -> str:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, timeout=120, cwd=cwd or self.home,
            env=self.environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> UserInstall:
    return UserInstall(tmp_path_factory.mktemp("installed"))


def shadowing(folder: Path) -> Path:
    """Return a repository that holds modules of the names that a start of pgmem imports; each leaves a mark."""
    mark = f"open({str(folder / 'it-ran')!r}, 'w').close()\n"
    repository = folder / "repository"
    for name in ("pgmem", "psycopg", "mcp", "typer"):
        (repository / name).mkdir(parents=True)
        (repository / name / "__init__.py").write_text(mark)
        (repository / name / "__main__.py").write_text(mark)
    for name in ("json", "re", "sitecustomize", "usercustomize", "platformdirs"):
        (repository / f"{name}.py").write_text(mark)
    (repository / ".env").write_text("PGMEM_DATA_DIR=.\n")
    return repository


@pytest.mark.parametrize("way", ["program", "module", "module without its program"])
def test_what_a_client_starts_in_a_repository_is_pgmem(
    installed: UserInstall, way: str, tmp_path: Path
) -> None:
    aside = installed.program.with_name("aside")
    start = [str(installed.program)] if way == "program" else [installed.python, "-m", "pgmem"]
    if way == "module without its program":
        installed.program.rename(aside)
    try:
        installed.run(*start, "connect", "claude-code", "--home", str(tmp_path))
        hook = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]["Stop"][0]["hooks"][
            0
        ]
        server = json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["pgmem"]
        words = shlex.split(hook["command"])
        assert os.path.isabs(words[0])
        assert os.path.isabs(server["command"])
        repository = shadowing(tmp_path)
        log = Path(installed.environment["PGMEM_DATA_DIR"]) / "hooks" / "hook.log"
        log.unlink(missing_ok=True)
        installed.run(*words, cwd=repository, given="this is not JSON")
        assert "JSONDecodeError" in log.read_text()  # it is pgmem that ran
        installed.run(server["command"], *server["args"], cwd=repository)
    finally:
        if aside.exists():
            aside.rename(installed.program)
    assert not (tmp_path / "it-ran").exists()
    assert words[0] == (installed.python if way == "module without its program" else str(installed.program))


def test_a_program_of_a_relative_entry_of_path_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pgmem.programs import installed as installed_program

    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", os.environ["PATH"]]))
    found = installed_program("git")
    assert found is not None
    assert os.path.isabs(found)
    assert Path(found).parent != tmp_path
    assert installed_program("a-program-that-nobody-has") is None


# Files that `pgmem connect` reads and writes


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the person, which no repository may change."""
    file = tmp_path / "home" / ".bashrc"
    file.parent.mkdir()
    file.write_text("export EDITOR=vi\n")
    return file


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """`connect("claude-code", "--folder", …)`: the result of the command; keywords are variables."""

    def connect(*arguments: str, **variables: str) -> Result:
        environment = {**dict.fromkeys(MOVES, ""), "HOME": str(tmp_path / "home"), **variables}
        return CliRunner().invoke(app, ["connect", *arguments], env=environment)

    return connect


def picture(folder: Path) -> dict[str, tuple[str, bytes, int]]:
    """All that is in a folder: where links lead, contents and modes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        contents = path.read_bytes() if stat.S_ISREG(mode) else b""
        found[str(path.relative_to(folder))] = (
            os.readlink(path) if path.is_symlink() else "",
            contents,
            mode,
        )
    return found


def refused(result: Result, *words: str) -> None:
    """The command ends with one sentence that holds the words."""
    assert result.exit_code == 1, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.output.count("\n") <= 3
    for word in words:
        assert word in " ".join(result.output.split())


def test_a_backup_that_is_a_link_is_not_followed(connect: Connect, repository: Path, victim: Path) -> None:
    (repository / ".mcp.json").write_text('{"mcpServers": {}}\n')
    (repository / ".mcp.json.before-pgmem").symlink_to(victim)
    done = connect("claude-code", "--folder", str(repository))
    assert done.exit_code == 0, done.output
    assert victim.read_text() == "export EDITOR=vi\n"
    assert (repository / ".mcp.json.before-pgmem.2").read_text() == '{"mcpServers": {}}\n'


@pytest.mark.parametrize(
    "text", ["{}\n# not JSON\ntouch PWNED\n", '{} {"a": 1}', "{ / }", "[] ]", "{} /* open"]
)
def test_settings_with_more_than_one_json_value_stay_as_they_are(
    connect: Connect, repository: Path, text: str
) -> None:
    (repository / ".mcp.json").write_text(text)
    before = picture(repository)
    refused(connect("claude-code", "--folder", str(repository)), "cannot be changed: line")
    assert picture(repository) == before


def settings_as_link(repository: Path, victim: Path) -> None:
    (repository / ".mcp.json").symlink_to(victim)


def settings_as_link_to_a_new_file(repository: Path, victim: Path) -> None:
    (repository / ".mcp.json").symlink_to(victim.with_name(".zshenv"))


def settings_folder_as_link(repository: Path, victim: Path) -> None:
    (repository / ".claude").symlink_to(victim.parent)


def settings_folder_as_link_and_back(repository: Path, victim: Path) -> None:
    """The file is in the repository again, and its backup would not be."""
    (repository / ".claude").symlink_to(victim.parent)
    (victim.parent / "settings.json").symlink_to(repository / "own.json")


def settings_as_link_into_git(repository: Path, victim: Path) -> None:
    (repository / ".git" / "hooks").mkdir(parents=True)
    (repository / ".mcp.json").symlink_to(repository / ".git" / "hooks" / "post-checkout")


@pytest.mark.parametrize(
    "attack",
    [
        settings_as_link,
        settings_as_link_to_a_new_file,
        settings_folder_as_link,
        settings_folder_as_link_and_back,
        settings_as_link_into_git,
    ],
)
def test_no_link_leads_out_of_the_project(
    connect: Connect, repository: Path, victim: Path, attack: Callable[[Path, Path], None]
) -> None:
    attack(repository, victim)
    before = picture(victim.parent), picture(repository)
    refused(connect("claude-code", "--folder", str(repository)), "leads by a link to", "without --folder")
    assert (picture(victim.parent), picture(repository)) == before


def test_a_link_inside_of_the_project_stays_a_link(connect: Connect, repository: Path) -> None:
    (repository / ".cursor").mkdir()
    (repository / ".mcp.json").write_text("{}\n")
    (repository / ".cursor" / "mcp.json").symlink_to("../.mcp.json")
    assert connect("cursor", "--folder", str(repository)).exit_code == 0
    assert (repository / ".cursor" / "mcp.json").is_symlink()
    assert "pgmem" in json.loads((repository / ".mcp.json").read_text())["mcpServers"]


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_huge_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)  # of which the disk holds nothing


def many_braces(path: Path) -> None:
    path.write_text("{" * 50_000)


def many_keys(path: Path) -> None:
    path.write_text('{"a":' * 50_000)


def many_values(path: Path) -> None:
    path.write_text("[" + "0," * 1_000_000 + "0]")


def open_comments(path: Path) -> None:
    path.write_text("/*" * 400_000)


def open_strings(path: Path) -> None:
    path.write_text('{"' + '\\"' * 400_000)


def not_a_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")


UNREADABLE: dict[Callable[[Path], None], str] = {
    a_pipe: "it is a pipe, not a regular file",
    a_folder: "it is a folder, not a regular file",
    a_device: "it is a device, not a regular file",
    a_loop: "it is a link, not a regular file",
    a_huge_file: "it is larger than 33 554 432 bytes",
    many_braces: "line 1: it is nested more than 200 levels deep",
    many_keys: "line 1: it is nested more than 200 levels deep",
    many_values: "it holds more than 500000 values and signs",
    open_comments: "line 1: this comment is not closed",
    open_strings: "is not a JSON value",
    not_a_text: "codec can't decode",
}


@pytest.mark.parametrize("make", UNREADABLE)
def test_unknown_settings_are_refused_in_one_sentence(
    connect: Connect, victim: Path, make: Callable[[Path], None]
) -> None:
    make(victim.parent / ".claude.json")
    before = sorted(path.name for path in victim.parent.rglob("*"))
    refused(connect("claude-code"), ".claude.json cannot be changed: ", UNREADABLE[make])
    assert sorted(path.name for path in victim.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = " + "[" * 50_000, "nested"),
        ("a = [" + "1," * 50_000 + "]", "holds more than 10000 values"),
        ("# x\n" * 100_000, "it is larger than 262 144 bytes"),
        ("mcp_servers = 1", "mcp_servers is not a table"),
        ("a = ", "Invalid value"),
    ],
)
def test_settings_in_toml_are_read_within_bounds(
    connect: Connect, victim: Path, text: str, reason: str
) -> None:
    file = victim.parent / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)
    refused(connect("codex"), "config.toml cannot be changed: ", reason)
    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


# Modes and backups


@pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("client", CLIENTS)
def test_new_settings_of_a_person_are_read_by_nobody_else(
    connect: Connect, victim: Path, client: str, umask: int
) -> None:
    former = os.umask(umask)
    try:
        done = connect(client, PGMEM_DSN="postgresql://ada:sesame@db.example.org/memory")
    finally:
        os.umask(former)
    assert done.exit_code == 0, done.output
    for path in victim.parent.rglob("*"):
        if path != victim:
            runs = path.is_dir() or path.read_bytes().startswith(b"#!")
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if runs else 0o600), path


def test_a_file_and_its_backup_have_the_mode_of_what_is_replaced(connect: Connect, victim: Path) -> None:
    for mode in (0o600, 0o640, 0o444):
        file = victim.parent / ".claude.json"
        file.unlink(missing_ok=True)
        file.write_text(f'{{"mode": {mode}}}')
        file.chmod(mode)
        assert connect("claude-code").exit_code == 0
        newest = max(
            victim.parent.glob(".claude.json.before-pgmem*"), key=lambda path: path.stat().st_mtime_ns
        )
        for path in (file, newest):
            assert stat.S_IMODE(path.stat().st_mode) == mode
    names = {path.name for path in victim.parent.iterdir() if path.is_file()}
    backups = {f".claude.json.before-pgmem{number}" for number in ("", ".2", ".3")}
    assert names == {".bashrc", ".claude.json", *backups}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_that_root_changes_stays_that_of_its_owner(connect: Connect, victim: Path) -> None:
    file = victim.parent / ".claude.json"
    file.write_text('{"a": 1}')
    os.chown(file, 65534, 65534)
    assert connect("claude-code").exit_code == 0
    for path in (file, file.with_name(".claude.json.before-pgmem")):
        assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_an_older_backup_is_kept_and_the_same_is_not_kept_twice(connect: Connect, victim: Path) -> None:
    file = victim.parent / ".claude.json"
    for text in ('{"a": 1}', '{"b": 2}'):
        file.write_text(text)
        for _ in range(2):
            assert connect("claude-code").exit_code == 0
            assert connect("claude-code", "--undo").exit_code == 0
            assert file.read_text() == text
    # A file that pgmem alone wrote is not kept.
    kept = [path.read_text() for path in victim.parent.glob(".claude.json.before-pgmem*")]
    assert sorted(kept) == ['{"a": 1}', '{"b": 2}']


# Passwords


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ada:sesame@db.example.org/memory",
        "host=db.example.org user=ada dbname=memory password=sesame",
        "postgresql://ada@db.example.org/memory?sslpassword=sesame",
    ],
)
@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "codex", "gemini-cli", "zed"])
def test_no_password_is_written_into_a_file_that_is_committed(
    connect: Connect, repository: Path, client: str, dsn: str
) -> None:
    done = connect(client, "--folder", str(repository), PGMEM_DSN=dsn)
    assert done.exit_code == 0, done.output
    assert "sesame" not in done.output
    assert "~/.pgpass" in done.output
    written = b"".join(path.read_bytes() for path in repository.rglob("*") if path.is_file())
    assert b"sesame" not in written
    assert b"db.example.org" in written


def test_a_dsn_without_a_password_is_written_as_it_is(connect: Connect, repository: Path) -> None:
    dsn = "postgresql://ada@db.example.org/memory"
    done = connect("claude-code", "--folder", str(repository), PGMEM_DSN=dsn)
    assert ".pgpass" not in done.output
    server = json.loads((repository / ".mcp.json").read_text())["mcpServers"]["pgmem"]
    assert server["env"]["PGMEM_DSN"] == dsn
    refused(connect("claude-code", "--folder", str(repository), PGMEM_DSN="nonsense"), "PGMEM_DSN")
