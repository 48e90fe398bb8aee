"""A finding for maintainers has what an issue needs, in order, and its reproducer's own words."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.children import ROOT
from tests.support.pages import TEXTS

SECTIONS = [
    *("Cost", "Cause", "Counterfactual", "Reproducer", "Versions"),
    *("What was ruled out", "What would mend it"),
]
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
RESULTS = "results/README.md"
LISTED = TEXTS[RESULTS].partition("## For maintainers\n")[2].partition("\n## ")[0]
PAGES = [f"results/{each}" for each in re.findall(r"\]\((findings/[\w-]+\.md)\)", LISTED)]
REPRODUCERS = sorted((ROOT / "results" / "reproducers").glob("*.py"))
LEAST_LINES, MOST_LINES = 25, 70


@pytest.mark.parametrize("page", PAGES)
def test_it_has_every_section_and_is_short(page: str) -> None:
    text = TEXTS[page]
    assert HEADING.findall(text) == SECTIONS
    assert LEAST_LINES <= len(text.splitlines()) <= MOST_LINES


def test_every_page_of_that_form_is_listed() -> None:
    assert len(PAGES) == len(set(PAGES))
    assert set(PAGES) == {page for page, text in TEXTS.items() if "## Counterfactual\n" in text}


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_what_they_show_are_what_the_reproducer_says(page: str) -> None:
    section = TEXTS[page].partition("## Reproducer\n")[2].partition("\n## ")[0]
    said = [
        line.strip()
        for name in re.findall(r"\(\.\./reproducers/(\w+\.py)\)", section)
        for line in (ast.get_docstring(_tree(name)) or "").splitlines()
    ]
    shown = "\n".join(re.findall(r"```\n(.*?)```", section, re.DOTALL)).splitlines()
    assert shown
    assert not [line for line in shown if line and line not in said]


def _tree(name: str) -> ast.Module:
    return ast.parse((ROOT / "results" / "reproducers" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("program", REPRODUCERS, ids=lambda each: each.stem)
def test_every_reproducer_belongs_to_a_finding(program: Path) -> None:
    assert any(f"../reproducers/{program.name}" in TEXTS[page] for page in PAGES)
