"""A page taken apart as a browser would, by the standard library's parser: what it holds, and every
fault in how it is put together.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}
LOADS = {"src", "href", "xlink:href", "srcset", "data", "poster", "action", "background"}
LINKS_TO_THIS_PAGE_OR_NOTHING = re.compile(r"#|data:,$")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, tag: str) -> list["Element"]:
        found = [self] if self.tag == tag else []
        return found + [each for child in self.children for each in child.all(tag)]

    @property
    def words(self) -> str:
        """All that is written in it, single spaces between."""
        return " ".join(self.text.split())


class Outline(HTMLParser):
    """`root` is the page, `faults` what is wrong with it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.faults: list[str] = []
        self._open = [self.root]
        self.feed(html)
        self.close()
        self.faults += [f"<{each.tag}> is never closed" for each in self._open[1:]]
        self._check()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.faults.append(f"<{tag}> has an attribute twice")
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes <{self._open[-1].tag}>")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return self.root.all(tag)

    @property
    def elements(self) -> list[Element]:
        def below(element: Element) -> list[Element]:
            return [each for child in element.children for each in (child, *below(child))]

        return below(self.root)

    def _check(self) -> None:
        ids = [each.attributes["id"] for each in self.elements if "id" in each.attributes]
        self.faults += [f"the id {each!r} is there twice" for each in {*ids} if ids.count(each) > 1]
        for element in self.elements:
            self._check_references(element, {*ids})
            if element.tag in ("script", "iframe", "object", "embed"):
                self.faults.append(f"<{element.tag}> has no place here")
            if any(name.startswith("on") for name in element.attributes):
                self.faults.append(f"<{element.tag}> has a handler")
        self._check_headings()
        for table in self.all("table"):
            self._check_table(table)
        if any(not figure.all("figcaption") for figure in self.all("figure")):
            self.faults.append("a figure has no description")
        for picture in self.all("svg"):
            if picture.attributes.get("role") != "img" or not picture.attributes.get("aria-label"):
                self.faults.append("a picture has no text alternative")

    def _check_headings(self) -> None:
        levels = [int(e.tag[1]) for e in self.elements if re.fullmatch("h[1-6]", e.tag)]
        if levels.count(1) != 1:
            self.faults.append("there is not one h1")
        for before, after in pairwise(levels):
            if after > before + 1:
                self.faults.append(f"h{after} follows on h{before}")

    def _check_references(self, element: Element, ids: set[str]) -> None:
        values = element.attributes
        meant = " ".join(values.get(name, "") for name in ("aria-labelledby", "aria-describedby"))
        meant += " " + " ".join(re.findall(r"url\(#([^)]*)\)", " ".join(values.values())))
        for name in LOADS & values.keys():
            if not LINKS_TO_THIS_PAGE_OR_NOTHING.match(values[name]):
                self.faults.append(f"<{element.tag}> refers to {values[name]}")
            if values[name].startswith("#"):
                meant += f" {values[name][1:]}"
        self.faults += [f"there is no id {each!r}" for each in meant.split() if each not in ids]
        if re.search(r"url\((?!#)|@import", values.get("style", "")):
            self.faults.append(f"<{element.tag}> has a style that loads something")

    def _check_table(self, table: Element) -> None:
        if not table.all("caption") or not table.all("caption")[0].words:
            self.faults.append("a table has no caption")
        widths = {len(row.children) for row in table.all("tr")}
        if len(widths) != 1:
            self.faults.append(f"rows of a table have {sorted(widths)} cells")
        if any(cell.attributes.get("scope") not in ("col", "row") for cell in table.all("th")):
            self.faults.append("a heading of a table has no scope")
        if not all(cell.words for cell in table.all("th")):
            self.faults.append("a heading of a table is empty")
