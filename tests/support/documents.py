"""The page of a study and its Markdown, as `scaling report` writes them."""

from collections.abc import Sequence

from scaling.analysis.tables.study import Study
from scaling.report.files import document
from scaling.report.render.document import html, markdown
from scaling.report.render.svg import Drawing
from scaling.report.view import plots


def page(study: Study, drawn: Sequence[Drawing] | None = None) -> str:
    """The HTML, with all plots in it, or with these."""
    return html(document(study, list(plots.drawings(study)) if drawn is None else drawn))


def tables_markdown(study: Study) -> str:
    """All tables and sentences as Markdown."""
    return markdown(document(study))
