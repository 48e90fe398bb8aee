"""turbohtml: a C parser that scales, and that also loads in sub-interpreters."""

import turbohtml
from turbohtml import Element

from workers.workloads.parts.parsers import Commented, Listed, leading_number

VERSION = f"turbohtml {turbohtml.__version__}"


def listed(page: bytes) -> list[Listed]:
    """Find the stories of a list page, in order."""
    tree = turbohtml.parse(page, encoding="utf-8", positions=False)
    stories = []
    rows = tree.select("tr.athing.submission")
    for row, details in zip(rows, tree.select("td.subtext"), strict=True):
        title = row.select_one("span.titleline > a")
        links = details.select("a")
        stories.append(
            Listed(
                id=int(row.attr("id") or ""),
                title=title.text if title else "",
                link=(title.attr("href") or "") if title else "",
                points=leading_number(_text(details, "span.score")),
                author=_text(details, "a.hnuser"),
                comments=leading_number(links[-1].text) if links else 0,
            )
        )
    return stories


def commented(page: bytes) -> list[Commented]:
    """Find the comments of an item page, in order."""
    tree = turbohtml.parse(page, encoding="utf-8", positions=False)
    comments = []
    for row in tree.select("tr.athing.comtr"):
        indent = row.select_one("td.ind")
        comments.append(
            Commented(
                id=int(row.attr("id") or ""),
                author=_text(row, "a.hnuser"),
                indent=int(indent.attr("indent") or "") if indent else 0,
                text=_text(row, "div.commtext"),
            )
        )
    return comments


def _text(element: Element, selector: str) -> str:
    found = element.select_one(selector)
    return found.text if found else ""
