"""HTML pages: Jinja2 templates with autoescape, one stylesheet, charts as SVG.

The pages of pgmem/ui and the report share the base layout, the stylesheet and the charts. The report is one
self-contained file: its stylesheet is inline, and there is no script, font, picture or link from another origin. Python
computes numbers and geometry; the markup is in `templates/`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pgmem.pages.charts import hue_of

__all__ = ["environment", "number", "render"]


@cache
def environment() -> Environment:
    """The environment of all templates: every value is escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("pgmem.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = number
    made.globals["hue_of"] = hue_of
    return made


def number(count: int) -> str:
    """A count with its thousands apart by a thin space."""
    return f"{count:,}".replace(",", "\u202f")


def render(template: str, **values: Any) -> str:
    """Render a template of `templates/` to a whole page, which ends with a newline.

    Raises:
        jinja2.TemplateNotFound: there is no template of that name.
        jinja2.UndefinedError: the template uses a value that was not given.
    """
    return environment().get_template(template).render(values).rstrip() + "\n"
