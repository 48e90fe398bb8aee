"""A headline ratio is about the largest N with a core for each worker, or the largest N."""

import pytest

from scaling.analysis.tables.study import Study
from scaling.base.vocabulary import QUESTIONS
from tests.support.plans import ECHO_FILE, asked
from tests.support.studies import FakeStudy

# Every question has a ratio, at two Ns.
EVERY = FakeStudy(
    arms=("3.13", "3.14", "3.14t", "3.14t+nogc"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
)


def headlines(study: Study, question: str) -> set[tuple[str, int]]:
    rows = study.ratios[study.ratios["headline"] & (study.ratios["question"] == question)]
    return set(zip(rows["measure"], rows["workers"], strict=True))


def test_of_each_question_it_is_of_throughput_at_the_headline_n() -> None:
    for question in QUESTIONS:
        if question != "runtime":
            assert ("throughput_per_s", 2) in headlines(EVERY.study, question)
            assert {n for _, n in headlines(EVERY.study, question)} == {2}


@pytest.mark.parametrize(
    ("study", "expected"),
    [
        (FakeStudy(workers=(1, 2, 4, 8), cores=4, blocks=6), {4}),
        (FakeStudy(cores=1, logical=1, blocks=6), {4}),
    ],
    ids=["the largest with a core each", "on one core the largest"],
)
def test_the_headline_n(study: FakeStudy, expected: set[int]) -> None:
    assert {n for _, n in headlines(study.study, "gain")} == expected


def test_the_journal_keeps_what_was_named() -> None:
    named, unnamed = (
        asked(f"{text}\n{ECHO_FILE}") for text in ("primary = ['version', 'gain']", "")
    )
    assert named.document["primary"] == ("version", "gain")
    assert "primary" not in unnamed.document, "a study that names none is the one it was before"
