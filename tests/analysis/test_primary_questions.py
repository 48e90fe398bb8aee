"""The primary family: what a report names first, and Holm corrects.

It is gains and threads over processes, unless the study file names other questions; all of the
other ratios of a study, whatever its loops and rates, are exploratory.
"""

from dataclasses import replace

import pytest

from scaling.analysis.ratios import ratios
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.hypotheses import corrected
from scaling.analysis.statistics.verdict import hypothesis
from scaling.base.vocabulary import PRIMARY_QUESTIONS, QUESTIONS
from scaling.report.tables.headline import headlines
from scaling.study.questions import P99, at_rate
from tests.support.plans import ECHO_FILE, asked
from tests.support.served_studies import FakeServedStudy
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


def asking(*questions: str) -> StudyResults:
    """The study with these questions named as primary, if any."""
    options = {"primary": list(questions)} if questions else {}
    return StudyResults(EVERY.frame, replace(EVERY, options=options).first_line)


def primary(found: StudyResults) -> set[tuple[str, str, int]]:
    """Question, measure and N of the ratios in the primary family."""
    return {
        (ratio.question, ratio.figure, ratio.of.workers)
        for ratio in found.ratios
        if ratio.verdict.family == "primary"
    }


def test_without_a_word_they_are_gains_and_threads_over_processes() -> None:
    assert primary(asking()) == {(each, "throughput", 2) for each in PRIMARY_QUESTIONS}


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each != "runtime"])
def test_a_question_that_is_named_is_the_only_one(question: str) -> None:
    found = asking(question)
    assert primary(found) == {(question, "throughput", 2)}
    # The answer begins with them as before, but for a study of settings.
    assert bool(headlines(found)) == (question != "setting")


def test_several_are_one_family() -> None:
    """With more hypotheses in it their corrected p-values are higher."""
    few, many = asking("gain"), asking(*QUESTIONS)
    assert primary(few) < primary(many)
    alone, among = (
        [gain.verdict.p_differs for each in headlines(found) for gain in each.headline_gains]
        for found in (few, many)
    )
    assert alone != among
    assert all(one <= other for one, other in zip(alone, among, strict=True))


@pytest.mark.parametrize(
    ("study", "expected"),
    [
        (FakeStudy(workers=(1, 2, 4, 8), cores=4, blocks=6), {("threads", 4)}),
        (FakeStudy(cores=1, logical=1, blocks=6), {("threads", 4)}),
    ],
    ids=["the largest with a core each", "on one core the largest"],
)
def test_the_headline_gains_are_the_primary_ones(
    study: FakeStudy, expected: set[tuple[str, int]]
) -> None:
    gains = study.results.ratios.where("gain", keep=lambda each: each.verdict.family == "primary")
    shown = [gain for each in headlines(study.results) for gain in each.headline_gains]
    assert {(each.of.model, each.of.workers) for each in shown} == expected
    assert {each.of for each in shown} == {each.of for each in gains}


def test_the_journal_keeps_what_was_named() -> None:
    named, unnamed = (
        asked(f"{text}\n{ECHO_FILE}") for text in ("primary = ['version', 'gain']", "")
    )
    assert named.document["primary"] == ("version", "gain")
    assert "primary" not in unnamed.document, "a study that names none is the one it was before"


def test_closed_and_open_loops_share_the_families_of_a_study() -> None:
    """More questions never make it easier."""
    results = FakeServedStudy(
        answers_per_s={("3.14t", "threads"): 1_100.0},
        rates=(0.0, 500.0, 800.0),
        blocks=7,
        window_s=5.0,
        speed_noise=0.03,
    ).results
    primary = [each for each in results.ratios if each.verdict.family == "primary"]
    tested = [hypothesis(each.blocks, each.verdict.margin) for each in primary]
    expected = corrected([each.p_differs for each in tested], ["primary"] * len(tested))
    assert [each.verdict.p_differs for each in primary] == pytest.approx(expected)
    (p99,) = [each for each in primary if each.measure == P99]
    assert len(primary) == 3
    asked = [each for each in at_rate(results.blocks) if each.measure == P99]
    (alone,) = [each for each in ratios(results.blocks, asked) if each.of == p99.of]
    assert p99.verdict.p_differs >= alone.verdict.p_differs
