"""selectolax with its Lexbor engine: a C parser that keeps the GIL off and scales."""

import selectolax
from selectolax.lexbor import LexborHTMLParser, LexborNode

from workers.workloads.parts.parsers import Commented, Listed, leading_number

VERSION = f"selectolax {selectolax.__version__}"


def listed(page: bytes) -> list[Listed]:
    """Find the stories of a list page, in order."""
    tree = LexborHTMLParser(page)
    stories = []
    rows = tree.css("tr.athing.submission")
    for row, details in zip(rows, tree.css("td.subtext"), strict=True):
        title = row.css_first("span.titleline > a")
        links = details.css("a")
        stories.append(
            Listed(
                id=int(row.id or ""),
                title=title.text() if title else "",
                link=(title.attributes["href"] or "") if title else "",
                points=leading_number(_text(details, "span.score")),
                author=_text(details, "a.hnuser"),
                comments=leading_number(links[-1].text()) if links else 0,
            )
        )
    return stories


def commented(page: bytes) -> list[Commented]:
    """Find the comments of an item page, in order."""
    tree = LexborHTMLParser(page)
    comments = []
    for row in tree.css("tr.athing.comtr"):
        indent = row.css_first("td.ind")
        comments.append(
            Commented(
                id=int(row.id or ""),
                author=_text(row, "a.hnuser"),
                indent=int(indent.attributes["indent"] or "") if indent else 0,
                text=_text(row, "div.commtext"),
            )
        )
    return comments


def _text(node: LexborNode, selector: str) -> str:
    found = node.css_first(selector)
    return found.text() if found else ""
