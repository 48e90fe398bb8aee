"""A document, rendered as an HTML page or as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scaling.report.render.grid import Grid

if TYPE_CHECKING:
    from jinja2 import Environment

    from scaling.report.render.svg import Drawing

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a page, in the order of the page.

    `drawings` are inside the page, or files in the folder `plots` beside it. `codes` are texts to
    be copied, by title.
    """

    title: str
    sentence: str
    about: Sequence[str] = ()
    warnings: Sequence[str] = ()
    drawings: "Sequence[Drawing]" = ()
    plots: str = ""
    answer: Sequence[Grid] = ()
    notes: Sequence[str] = ()
    details: Sequence[Grid] = ()
    codes: Mapping[str, str] = field(default_factory=dict)


def html(document: Document) -> str:
    """An HTML page that loads nothing from the network; texts are escaped."""
    return _rendered("page.html", document)


def markdown(document: Document) -> str:
    """All sentences and tables as Markdown."""
    return _rendered("tables.md", document)


def _rendered(template: str, document: Document) -> str:
    fields = {name: getattr(document, name) for name in document.__slots__}
    return _templates().get_template(template).render(fields)


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # a terminal does without
    from markupsafe import Markup

    found = Environment(
        autoescape=lambda name: bool(name and name.endswith(".html")),
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters |= {"ours": Markup, "one_line": _one_line}  # plots: escaped where they are made
    return found


def _one_line(text: str) -> str:
    """A text in a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())
