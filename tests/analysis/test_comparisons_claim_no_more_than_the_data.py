"""Comparisons say what they are of and what casts doubt on them."""

from dataclasses import replace
from pathlib import Path

import pytest

from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study, counting_lines
from scaling.journal.file import FILE_NAME
from scaling.journal.record import RunLine
from scaling.report.csv import comparison, summary
from scaling.report.view.notes import layout
from tests.support.cli import Command
from tests.support.documents import tables_markdown
from tests.support.runs import throttled, with_
from tests.support.studies import FakeStudy, one, write

MODELS = ("threads", "processes")
TWO = FakeStudy(arms=("3.14", "3.14t"), models=MODELS, workers=(1, 2), ticks=4)


def test_rows_have_what_casts_doubt_on_them() -> None:
    def change(run: RunLine) -> RunLine:
        if (run.cell.arm, run.cell.workers) != ("3.14t", 2):
            return run
        if run.block:
            return with_(run, disturbance__steal_fraction=0.1)
        return throttled(run)

    arms = TWO.first_line.arms
    other = with_(arms["3.14t"], description__python__compiler="Clang 19")
    differing = {"arms": {**arms, "3.14t": other}}
    rows = comparison(replace(TWO, change=change, head=differing).study)
    assert set(rows["controls"]) == {"missing"}
    between = rows[rows["arm"] != rows["over_arm"]]
    assert set(between["builds_differ"]) == {"compiler"}
    memory = rows[rows["measure"] == "memory"]
    assert set(memory["memory_kind"]) == {"PSS"}
    headline = one(rows, question="headline", workers=2)
    counts = [headline[name] for name in ("runs", "suspect", "left_out")]
    over = [headline[f"over_{name}"] for name in ("runs", "suspect", "left_out")]
    assert (counts, over) == ([2, 2, 1], [3, 0, 0])


@pytest.mark.parametrize(
    ("arms", "factor", "said"),
    [
        (("3.14", "3.14t"), 1.01, True),
        (("3.14", "3.14t"), 1.3, False),
        (("3.14t+gil", "3.14t"), 1.01, False),  # one binary
    ],
)
def test_small_ratios_of_two_builds_are_of_these_binaries(
    arms: tuple[str, str], factor: float, said: bool
) -> None:
    speeds = {
        (arm, model, n): n * (factor if arm == "3.14t" else 1.0)
        for arm in arms
        for model in MODELS
        for n in (1, 2)
    }
    study = FakeStudy(arms=arms, models=("threads",), workers=(1, 2), blocks=8, speeds=speeds).study
    assert ("holds for these binaries only" in layout(study)) is said


def test_runs_made_again_are_reported_and_what_is_read_again_is_the_attempt_that_counts(
    tmp_path: Path,
) -> None:
    study = replace(TWO, models=("threads",))
    first, *rest = study.runs
    bad, again = throttled(first), with_(first, attempt=2)
    made = Study.of(
        read_journal(write([study.first_line, bad, *rest, again], tmp_path / FILE_NAME))
    )
    assert "1 run made again" in tables_markdown(made)
    assert summary(made)["again"].sum() == 1
    assert [*counting_lines(made, "echo")] == [*rest, again]
    assert "made again" not in tables_markdown(study.study)


def test_nothing_is_written_unless_asked_and_nothing_is_drawn(
    command: Command, tmp_path: Path
) -> None:
    TWO.write(tmp_path / "study")
    for asked, files in (((), []), (("--output", "out"), ["comparison.md"])):
        done = command("compare", "study", *asked)
        assert (done.returncode, done.stderr) == (0, "")
        assert "What freed the speed" in done.stdout
        assert [each.name for each in tmp_path.glob("out/*")] == files
        assert [each.name for each in (tmp_path / "study").iterdir()] == ["journal.jsonl"]
    assert "What freed the speed" in (tmp_path / "out" / "comparison.md").read_text()
