"""README.md has the answer to each question that a first reader must be able to answer from it."""

import re
import tomllib

import pytest

from tests.support.children import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
QUESTIONS = tomllib.loads((ROOT / "tests" / "first_reader.toml").read_text("utf-8"))["questions"]
MOST_LINES = 120


def plain(text: str) -> str:
    """The words alone: without comments, emphasis, and the targets of links."""
    text = re.sub(r"<!--.*?-->|[*`]", "", text)
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each["ask"][:40])
def test_the_words_that_answer_it_are_there(question: dict[str, str]) -> None:
    assert question["said"] in plain(README), question["answer"]


def test_one_reading_is_short() -> None:
    assert len(QUESTIONS) == 10
    assert len(README.splitlines()) <= MOST_LINES
