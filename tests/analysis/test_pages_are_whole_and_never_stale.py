"""Every page is short, lists what is on it, leads to what is there and is what registries say.
README.md answers a first reader, a finding has what an issue needs, and what sources cite exists.
"""

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import ROOT
from tests.support.pages import PART, PARTS, TEXTS, rewritten

MOST_LINES = 300
MOST_LINES_OF_CONTENTS = 10
WITHOUT_CONTENTS = ("README.md", "CHANGELOG.md")  # the first begins with the answer
LINK = re.compile(r"\]\(((?!https?:)[^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

SECTIONS = [
    *("Cost", "Cause", "Counterfactual", "Reproducer", "Versions"),
    *("What was ruled out", "What would mend it"),
]
LISTED = TEXTS["results/README.md"].partition("## For maintainers\n")[2].partition("\n## ")[0]
FINDINGS = [f"results/{each}" for each in re.findall(r"\]\((findings/[\w-]+\.md)\)", LISTED)]
REPRODUCERS = ROOT / "results" / "reproducers"
LEAST_LINES_OF_A_FINDING, MOST_LINES_OF_A_FINDING = 25, 70

each_page = pytest.mark.parametrize("name", TEXTS)
each_finding = pytest.mark.parametrize("page", FINDINGS)


def anchor(heading: str) -> str:
    """What a heading is linked by: GitHub's rule."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def headings(text: str, marks: str = "#+") -> list[str]:
    found = re.findall(rf"^{marks} (.+)$", FENCED.sub("", text), re.MULTILINE)
    return [anchor(each) for each in found]


def test_each_folder_has_a_page_and_each_part_is_on_one() -> None:
    assert {"README.md", "CHANGELOG.md", "results/machines.md"} < TEXTS.keys()
    for folder in ("scaling", "workers", "results", "tests", "notebooks"):
        assert f"{folder}/README.md" in TEXTS
    there = [found[2] for text in TEXTS.values() for found in PART.finditer(text)]
    assert sorted(there) == sorted(PARTS)


@each_page
def test_every_link_picture_and_path_leads_to_what_is_there(name: str) -> None:
    """And parts that registries make are what they say."""
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
    assert rewritten(TEXTS[name]) == TEXTS[name], "`nox -s quotes` writes it"


@each_page
def test_a_page_is_short_and_begins_with_its_contents(name: str) -> None:
    if name == "CHANGELOG.md":
        return
    lines = TEXTS[name].splitlines()
    assert len(lines) < MOST_LINES
    sections = headings(TEXTS[name], "##")
    if name in (*WITHOUT_CONTENTS, *FINDINGS) or len(sections) < 2:
        return
    first = next(at for at, line in enumerate(lines) if line.startswith("## "))
    contents = [line for line in lines[:first] if "](#" in line]
    assert len(contents) <= MOST_LINES_OF_CONTENTS
    linked = re.findall(r"\]\(#([\w-]+)\)", "\n".join(contents))
    assert linked == sections


# --- the first page ------------------------------------------------------------------------------

QUESTIONS = tomllib.loads((ROOT / "tests" / "first_reader.toml").read_text("utf-8"))["questions"]
MOST_LINES_OF_THE_FIRST = 80


def test_the_words_that_answer_a_first_reader_are_on_the_first_page() -> None:
    text = re.sub(r"<!--.*?-->|[*`]", "", TEXTS["README.md"])
    words = " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())
    assert [each["answer"] for each in QUESTIONS if each["said"] not in words] == []
    assert len(QUESTIONS) == 10
    assert len(TEXTS["README.md"].splitlines()) <= MOST_LINES_OF_THE_FIRST


# --- findings that can be sent as issues ---------------------------------------------------------


@each_finding
def test_a_finding_is_short_and_shows_what_its_reproducer_says(page: str) -> None:
    text = TEXTS[page]
    assert headings(text, "##") == [anchor(each) for each in SECTIONS]
    assert LEAST_LINES_OF_A_FINDING <= len(text.splitlines()) <= MOST_LINES_OF_A_FINDING
    section = text.partition("## Reproducer\n")[2].partition("\n## ")[0]
    said = [
        line.strip()
        for name in re.findall(r"\(\.\./reproducers/(\w+\.py)\)", section)
        for line in (ast.get_docstring(ast.parse((REPRODUCERS / name).read_text())) or "").split(
            "\n"
        )
    ]
    shown = "\n".join(re.findall(r"```\n(.*?)```", section, re.DOTALL)).splitlines()
    assert shown
    assert not [line for line in shown if line and line not in said]


def test_every_finding_is_listed_and_every_reproducer_belongs_to_one() -> None:
    assert len(FINDINGS) == len(set(FINDINGS))
    assert set(FINDINGS) == {page for page, text in TEXTS.items() if "## Counterfactual\n" in text}
    pages = "".join(TEXTS[page] for page in TEXTS if page.startswith("results/findings/"))
    for program in REPRODUCERS.glob("*.py"):
        assert f"../reproducers/{program.name}" in pages


# --- what sources cite ---------------------------------------------------------------------------

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
    """By whoever has this repository alone."""
    found = [
        f"{file.relative_to(ROOT)}: {match[1]}"
        for file in SOURCES
        for match in re.finditer(written, file.read_text(encoding="utf-8"))
        if is_wrong(match[1])
    ]
    assert not found
