"""A hook of mkdocs that adds sql/README.md, the map of the engine, and its chapters to the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent


def on_files(files: Any, config: Any) -> Any:
    """Add the page, and the chapters that it links to."""
    for path in (ROOT / "sql" / "README.md", *(ROOT / "sql").rglob("*.sql")):
        files.append(File.generated(config, str(path.relative_to(ROOT)), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave docs/ for that page to its place on the site."""
    depth = page.file.src_uri.count("/")
    markdown = markdown.replace(f"]({'../' * (depth + 1)}sql/README.md", f"]({'../' * depth}sql/README.md")
    return markdown.replace("](../docs/", "](../") if page.file.src_uri == "sql/README.md" else markdown
