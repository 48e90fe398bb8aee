"""What docstrings and messages refer to can be found by whoever has this repository alone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import ROOT

SOURCES = [file for folder in ("scaling", "workers") for file in (ROOT / folder).rglob("*.py")]
NO_MODULES = ("scaling.workloads",)  # a group of entry points
DOCUMENTS = ("README.md", "CHANGELOG.md", "FILE.md")  # the last stands for one of the user's


def _missing(name: str) -> bool:
    """Whether neither a module nor a word of one has this dotted name."""
    if name in NO_MODULES:
        return False
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:end])
        file = next(filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py")), None)
        if file:
            return not all(word in file.read_text("utf-8") for word in parts[end : end + 1])
    return True


@pytest.mark.parametrize(
    ("written", "is_wrong"),
    [
        (r"`((?:scaling|workers)\.[\w.]*\w)`", _missing),
        (r"\b([A-Z]{4,}\.md)\b", lambda name: name not in DOCUMENTS),
        (r"((?:pip install|Install) asyncio-scaling)", lambda _: True),
    ],
    ids=["modules", "documents", "packages"],
)
def test_what_is_cited_exists(written: str, is_wrong: Callable[[str], bool]) -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match[1]}"
        for file in SOURCES
        for match in re.finditer(written, file.read_text(encoding="utf-8"))
        if is_wrong(match[1])
    ]
    assert not found
