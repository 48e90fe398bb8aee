"""The standard library's `html.parser`: pure Python, runs everywhere, scales least."""

import platform
from html.parser import HTMLParser

from workers.workloads.parts.parsers import Commented, Listed, leading_number

VERSION = f"html.parser {platform.python_version()}"


def listed(page: bytes) -> list[Listed]:
    """Find the stories of a list page, in order."""
    reader = _ListReader()
    reader.feed(page.decode())
    reader.close()
    return [
        Listed(
            id=int(row["id"]),
            title=row["title"],
            link=row["link"],
            points=leading_number(row["points"]),
            author=row["author"],
            comments=leading_number(row["comments"]),
        )
        for row in reader.rows
    ]


def commented(page: bytes) -> list[Commented]:
    """Find the comments of an item page, in order."""
    reader = _ThreadReader()
    reader.feed(page.decode())
    reader.close()
    return [
        Commented(int(row["id"]), row["author"], int(row["indent"] or 0), row["text"])
        for row in reader.rows
    ]


class _RowReader(HTMLParser):
    """Collects rows; from `take` to the end of that element, its text goes into one field."""

    fields: tuple[str, ...]

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, str]] = []
        self._field: str | None = None
        self._tag = ""
        self._depth = 0

    def begin(self, row_id: str) -> None:
        self.rows.append(dict.fromkeys(self.fields, "") | {"id": row_id})

    def take(self, field: str, tag: str) -> None:
        self.rows[-1][field] = ""
        self._field, self._tag, self._depth = field, tag, 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._field is not None and tag == self._tag:
            self._depth += 1
        found = {name: value or "" for name, value in attrs}
        self.seen(tag, found.get("class", "").split(), found)

    def handle_endtag(self, tag: str) -> None:
        if self._field is not None and tag == self._tag:
            self._depth -= 1
            if self._depth == 0:
                self._field = None

    def handle_data(self, data: str) -> None:
        if self._field is not None:
            self.rows[-1][self._field] += data

    def seen(self, tag: str, classes: list[str], attributes: dict[str, str]) -> None:
        raise NotImplementedError


class _ListReader(_RowReader):
    fields = ("title", "link", "points", "author", "comments")
    _inside = ""  # "title" or "details": where the next link belongs

    def seen(self, tag: str, classes: list[str], attributes: dict[str, str]) -> None:
        if tag == "tr" and "submission" in classes:
            self.begin(attributes["id"])
        elif tag == "span" and "titleline" in classes:
            self._inside = "title"
        elif tag == "td" and "subtext" in classes:
            self._inside = "details"
        elif tag == "span" and "score" in classes:
            self.take("points", tag)
        elif tag == "tr":
            self._inside = ""
        elif tag == "a" and self._inside == "title":
            self._inside = ""
            self.rows[-1]["link"] = attributes["href"]
            self.take("title", tag)
        elif tag == "a" and self._inside == "details":
            self.take("author" if "hnuser" in classes else "comments", tag)  # the last one stays


class _ThreadReader(_RowReader):
    fields = ("author", "indent", "text")

    def seen(self, tag: str, classes: list[str], attributes: dict[str, str]) -> None:
        if tag == "tr" and "comtr" in classes:
            self.begin(attributes["id"])
        elif not self.rows:
            return
        elif tag == "td" and "ind" in classes:
            self.rows[-1]["indent"] = attributes["indent"]
        elif tag == "a" and "hnuser" in classes:
            self.take("author", tag)
        elif tag == "div" and "commtext" in classes:
            self.take("text", tag)
