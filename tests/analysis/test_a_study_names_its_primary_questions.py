"""A study file may name its primary questions; all other ratios are exploratory then."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.errors import UsageError
from scaling.base.vocabulary import PRIMARY_QUESTIONS, QUESTIONS
from scaling.journal.record import StudyLine
from scaling.report.tables.headline import headlines
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from tests.support.fabricate import Made, journal, write

# Every question has a ratio here, at two Ns.
MADE = Made(
    arms=("3.13", "3.14", "3.14t", "3.14t+nogc"),
    models=("threads", "processes"),
    loops=("asyncio", "uvloop"),
    workers=(1, 2),
    blocks=6,
)
FILE = "[[workloads]]\nname = 'echo'\n"


def results(folder: Path, **study: Any) -> StudyResults:
    line, *runs = journal(MADE)
    assert isinstance(line, StudyLine)
    lines = [replace(line, study=line.study | study), *runs]
    return StudyResults.of(read_journal(write(lines, folder / "journal.jsonl")))


def primary(found: StudyResults) -> set[tuple[str, str, int]]:
    """Question, measure and N of the ratios in the primary family."""
    return {
        (ratio.question, ratio.figure, ratio.of.workers)
        for ratio in found.ratios
        if ratio.verdict.family == "primary"
    }


def document(text: str) -> dict[str, Any]:
    study = study_from(
        Options(study="mine"),
        running_build="3.14t",
        load_file=lambda name: read_study(f"{text}\n{FILE}", f"{name}.toml"),
    )
    return study.document


def test_without_a_word_they_are_gains_and_threads_over_processes(tmp_path: Path) -> None:
    assert primary(results(tmp_path)) == {(each, "throughput", 2) for each in PRIMARY_QUESTIONS}


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each != "runtime"])
def test_a_question_that_is_named_is_the_only_one(question: str, tmp_path: Path) -> None:
    found = results(tmp_path, primary=[question])
    assert primary(found) == {(question, "throughput", 2)}
    assert [each.gains for each in headlines(found)] != []  # the answer begins with them as before


def test_several_are_one_family(tmp_path: Path) -> None:
    """With more hypotheses in it their corrected p-values are higher."""
    few, many = (results(tmp_path, primary=names) for names in (["gain"], [*QUESTIONS]))
    assert primary(few) < primary(many)
    alone, among = (
        [gain.verdict.p_differs for each in headlines(found) for gain in each.gains]
        for found in (few, many)
    )
    assert alone != among
    assert all(one <= other for one, other in zip(alone, among, strict=True))


def test_the_journal_keeps_what_was_named() -> None:
    assert document("primary = ['version', 'gain']")["primary"] == ("version", "gain")


def test_a_study_that_names_none_is_the_one_it_was_before_it_could() -> None:
    assert "primary" not in document("")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("primary = ['gian']", "mine.toml: primary: unknown question 'gian'. Did you mean 'gain'?"),
        ("primary = []", "mine.toml: primary: the list is empty"),
        ("primary = 'gain'", "mine.toml: primary: expected list"),
    ],
)
def test_a_question_that_there_is_not_gets_a_one_line_error(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        document(text)
    assert message in str(caught.value)
