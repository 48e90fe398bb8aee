"""Every page is short, lists what is on it, leads to what is there and is what registries say."""

import re

import pytest

from tests.support.children import ROOT
from tests.support.pages import PART, PARTS, TEXTS, rewritten

MOST_LINES = 300
MOST_LINES_OF_CONTENTS = 10
WITHOUT_CONTENTS = ("README.md", "CHANGELOG.md")  # the first begins with the answer
LINK = re.compile(r"\]\(((?!https?:)[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

each_page = pytest.mark.parametrize("name", TEXTS)


def anchor(heading: str) -> str:
    """What a heading is linked by: GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def headings(text: str, marks: str = "#+") -> list[str]:
    found = re.findall(rf"^{marks} (.+)$", FENCED.sub("", text), re.MULTILINE)
    return [anchor(each) for each in found]


def test_each_folder_has_a_page() -> None:
    assert {"README.md", "CHANGELOG.md", "results/machines.md"} < TEXTS.keys()
    for folder in ("scaling", "workers", "results", "tests", "notebooks"):
        assert f"{folder}/README.md" in TEXTS


@each_page
def test_every_link_picture_and_path_leads_to_what_is_there(name: str) -> None:
    page = ROOT / name
    for target in set(LINK.findall(FENCED.sub("", TEXTS[name]))):
        path, _, heading = target.partition("#")
        place = page.parent / path if path else page
        assert place.exists(), target
        if heading:
            assert heading in headings(place.read_text(encoding="utf-8")), target
    if name != "CHANGELOG.md":  # which also has what is gone
        for path in set(re.findall(r"`((?:scaling|workers|tests)/[\w./]*)`", TEXTS[name])):
            assert (ROOT / path).exists(), path


@each_page
def test_a_page_is_short_and_begins_with_its_contents(name: str) -> None:
    if name == "CHANGELOG.md":
        return
    lines = TEXTS[name].splitlines()
    assert len(lines) < MOST_LINES
    sections = headings(TEXTS[name], "##")
    is_issue = "counterfactual" in sections  # test_findings_can_be_sent_as_issues.py
    if name in WITHOUT_CONTENTS or is_issue or len(sections) < 2:
        return
    first = next(at for at, line in enumerate(lines) if line.startswith("## "))
    contents = [line for line in lines[:first] if "](#" in line]
    assert len(contents) <= MOST_LINES_OF_CONTENTS
    linked = re.findall(r"\]\(#([\w-]+)\)", "\n".join(contents))
    assert linked == sections


@each_page
def test_generated_parts_are_what_the_registries_say(name: str) -> None:
    assert rewritten(TEXTS[name]) == TEXTS[name], "`nox -s quotes` writes it"


def test_each_part_is_on_one_page() -> None:
    there = [found[2] for text in TEXTS.values() for found in PART.finditer(text)]
    assert sorted(there) == sorted(PARTS)
