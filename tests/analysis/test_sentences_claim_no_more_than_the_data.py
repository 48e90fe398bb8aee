"""Answers claim no more than the data: few runs give no verdict, and what was chosen is named."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.ladder import BreakEven
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.verdict import RatioVerdict, Verdict, Word
from scaling.analysis.table.load import read_journal
from scaling.base.errors import ScalingError
from scaling.journal.protected_write import try_writing
from scaling.journal.record import Cell, RunLine, WorkerRecord
from scaling.report.output import finish, write_again
from scaling.report.plots.draw import subjects
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows, markdown, summary
from scaling.report.tables.findings import Finding, in_words, verdict_text
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.notes import margins
from scaling.report.tables.questions import arms as ladder_question
from scaling.report.tables.questions.models import break_even_note
from scaling.report.tables.questions.registry import QUESTIONS
from scaling.study.questions import THROUGHPUT
from tests.support.drawn import key_of
from tests.support.fabricate import Made, journal, studied, with_, write

SINGLE = Cell(workload="echo", loop="asyncio", arm="3.14", model="threads", workers=1)


def compared(
    folder: Path, made: Made, change: Callable[[RunLine], RunLine] | None = None
) -> Compared:
    study = studied(folder, made, change)
    (found,) = StudyResults(study.frame, study.study).compared
    return found


def ratio(n: int, low: float, high: float, *, few: bool = False) -> Ratio:
    word: Word = "faster" if low > 1 else "slower" if high < 1 else "inconclusive"
    blocks, coverage = (3, None) if few else (8, 0.95)
    return Ratio(
        point=(low + high) / 2,
        low=low,
        high=high,
        unit="×",
        n=blocks,
        method="made up",
        coverage=coverage,
        verdict=Verdict("inconclusive" if few else word, margin=0.02),
        question="break-even",
        measure=THROUGHPUT,
        of=SINGLE.but(arm="3.14t", workers=n),
        over=SINGLE,
        blocks=np.array([]),
    )


def findings(found: Compared) -> list[Finding]:
    return [each for question in QUESTIONS for each in question.findings(found)]


def test_a_range_gives_no_break_even() -> None:
    few = [ratio(1, 0.8, 0.9, few=True), ratio(2, 1.5, 1.6, few=True)]
    assert break_even_note(BreakEven(few)) == ("Break-even: inconclusive up to N = 2.")


def test_a_break_even_that_is_not_reached_is_reported() -> None:
    never = break_even_note(BreakEven([ratio(1, 0.8, 0.9)]))
    assert never == "Break-even: not reached up to N = 1."


def test_slower_again_is_not_the_same_as_unknown() -> None:
    bounds = {1: (0.9, 1.1), 2: (1.5, 1.6), 4: (0.8, 0.9), 8: (0.9, 1.2)}
    note = break_even_note(BreakEven([ratio(n, *each) for n, each in bounds.items()]))
    assert note == "Break-even: at N = 2, at N = 4 slower, at N = 8 inconclusive."


def test_threads_over_processes_have_work_cpu_time_and_memory(tmp_path: Path) -> None:
    made = Made(arms=("3.14", "3.14t"), models=("threads", "processes"), blocks=8)
    found = findings(compared(tmp_path, made))
    words = {each.question: each.ratio.verdict.word for each in found}
    assert words["2 threads on 3.14t over as many on 3.14 (allocator, build and GIL)"] == "faster"
    over = [each.question for each in found].index("2 threads on 3.14t over 2 processes on 3.14")
    assert [each.question for each in found[over + 1 : over + 3]] == [
        "… CPU time per operation",
        "… memory (PSS)",
    ]
    assert [each.ratio.verdict.word for each in found[over : over + 3]] == [
        "faster",
        "less",
        "less",
    ]


def test_a_verdict_is_said_in_words() -> None:
    verdict = Verdict("same", margin=0.031, why="within ±3.1 %")
    alike = RatioVerdict(1.0, 0.99, 1.01, "×", 8, "made up", 0.95, verdict=verdict)
    assert verdict_text(alike) == "same, within ±3.1 %"
    assert verdict_text(ratio(2, 1.2, 1.3)) == "faster"
    why = Verdict("inconclusive", 0.02, why="too noisy: between 8 % slower and 1 % faster")
    doubtful = RatioVerdict(0.958, 0.92, 1.01, "×", 8, "made up", 0.95, verdict=why)
    assert in_words(doubtful) == (
        "0.958× (95 % interval 0.920–1.01), inconclusive, too noisy: between 8 % slower and 1 % "
        "faster"
    )
    exploratory = Verdict("faster", 0.02, why="by 40 to 60 %", family="exploratory")
    assert verdict_text(RatioVerdict(1.5, 1.4, 1.6, "×", 8, "", 0.95, verdict=exploratory)) == (
        "faster, by 40 to 60 % (exploratory)"
    )


@pytest.mark.parametrize("aa_pairs", [True, False])
def test_verdicts_come_with_their_margin(tmp_path: Path, aa_pairs: bool) -> None:
    made = Made(
        arms=("3.14", "3.14t"), models=("threads", "processes"), blocks=8, aa_pairs=aa_pairs
    )
    (words,) = margins(compared(tmp_path, made))
    assert words == "Verdicts use a margin of ±2 %: what differs by less is the same."
    few = Made(arms=("3.14", "3.14t"), aa_pairs=aa_pairs)
    assert margins(compared(tmp_path, few)) == []


@pytest.mark.parametrize(
    ("arms", "told"),
    [
        (
            ("3.14t+gil", "3.14t"),
            "2 threads on 3.14t over as many on 3.14t+gil (GIL)",
        ),
        (
            ("3.14", "3.14t"),
            "2 threads on 3.14t over as many on 3.14 (allocator, build and GIL)",
        ),
    ],
)
def test_a_single_step_is_named_and_nothing_is_together(
    tmp_path: Path, arms: tuple[str, ...], told: str
) -> None:
    found = compared(tmp_path, Made(arms=arms, workers=(2,)))
    assert [each.question for each in ladder_question.LADDER.findings(found)] == [told]


def slowed(worker: WorkerRecord) -> WorkerRecord:
    """A worker ten times as slow, with as many page faults per operation as before."""
    done = [count // 10 for count in worker.ticks.operations]
    faults = [900 + 4 * count for count in done]
    return with_(worker, ticks__operations=done, ticks__minor_faults=faults)


def test_interpreters_are_spoken_of_on_their_fastest_arm(tmp_path: Path) -> None:
    """On the other arm they have the better ratio by luck: its one run met slow processes."""
    models = ("processes", "interpreters")
    speeds = {
        ("3.14", "interpreters", 2): 2.0,
        ("3.14+mimalloc", "interpreters", 2): 1.0,
        ("3.14", "processes", 2): 1.0,
        ("3.14+mimalloc", "processes", 2): 0.5,
    }

    def change(run: RunLine) -> RunLine:
        """Block 0 has slow processes and interpreters of 3.14+mimalloc only; others, of 3.14."""
        cell = run.cell
        lost = cell.arm == "3.14" and cell.model == "interpreters" and run.block == 0
        slow = (cell.arm, cell.model) == ("3.14+mimalloc", "interpreters") and run.block
        if lost or slow:
            return with_(run, outcome="crashed", record=None, exit_code=1)
        if run.block == 0 and cell.model == "processes" and run.record is not None:
            return with_(run, record__workers=list(map(slowed, run.record.workers)))
        return run

    made = Made(arms=("3.14", "3.14+mimalloc"), models=models, workers=(2,), speeds=speeds)
    found = compared(tmp_path, made, change)
    by_ratio = max(found.over_processes, key=lambda each: each.throughput.point)
    assert by_ratio.of.arm == "3.14+mimalloc"
    (answer,) = [each for each in findings(found) if "interpreters" in each.question]
    assert answer.question.startswith("2 interpreters on 3.14 over 2 processes on 3.14")
    assert answer.note == "Of interpreters on 3.14 and 3.14+mimalloc, 3.14 is the fastest."
    assert (
        verdict_text(answer.ratio)
        == "inconclusive, too few blocks: leaning faster, 2.04; 2 of 6 blocks"
    )


def test_a_table_has_memory_of_one_kind(tmp_path: Path) -> None:
    """An arm without PSS is compared by RSS, and so are the others beside it."""

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.arm == "3.14" else run

    made = Made(arms=("3.14", "3.14t"), models=("processes",))
    study = studied(tmp_path, made, change)
    results = StudyResults.of(study)
    assert "MiB (RSS) per extra worker" in chapters_markdown(chapters(results))
    assert "PSS" not in markdown(results)


def test_rows_bear_what_casts_doubt_on_them(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        if (run.cell.arm, run.cell.workers) != ("3.14t", 2):
            return run
        if run.block:
            return with_(run, disturbance__steal_fraction=0.1)
        return with_(run, disturbance__throttled_s=0.5)

    made = Made(arms=("3.14", "3.14t"), models=("threads", "processes"), workers=(1, 2))
    study = studied(tmp_path, made, change)
    arms = study.study.arms
    other = with_(arms["3.14t"], description__python__compiler="Clang 19")
    line = with_(study.study, arms={**arms, "3.14t": other})
    rows = comparison_rows(StudyResults(study.frame, line))
    assert set(rows["controls"]) == {"missing"}
    assert set(rows[rows["question"] != "gain"]["builds_differ"]) == {"compiler"}
    memory = rows[rows["measure"] == "memory"]
    assert set(memory["memory_kind"]) == {"PSS"}
    assert rows[rows["measure"] != "memory"]["memory_kind"].isna().all()
    (headline,) = rows[(rows["question"] == "headline") & (rows["workers"] == 2)].to_dict("records")
    counts = [headline[name] for name in ("runs", "suspect", "left_out")]
    over = [headline[f"over_{name}"] for name in ("runs", "suspect", "left_out")]
    assert (counts, over) == ([2, 2, 1], [3, 0, 0])


def test_runs_made_again_are_reported(tmp_path: Path) -> None:
    made = Made(arms=("3.14", "3.14t"), workers=(1, 2), blocks=2)
    lines = journal(made)
    bad = with_(lines[1], disturbance__throttled_s=0.5)
    study = read_journal(
        write([lines[0], bad, *lines[2:], with_(lines[1], attempt=2)], tmp_path / "journal.jsonl")
    )
    told = "1 run was made again"
    assert told in markdown(StudyResults.of(study))
    assert told in chapters_markdown(chapters(StudyResults.of(study)))
    assert summary(StudyResults.of(study))["again"].sum() == 1
    plain = studied(tmp_path, made)
    assert "made again" not in markdown(StudyResults.of(plain))


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_missing_controls_are_reported_once_in_a_file(tmp_path: Path) -> None:
    studied(tmp_path, Made(arms=("3.14", "3.14t")))
    finish(tmp_path, Console(quiet=True))
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith("**Controls missing")
    assert text.count("Controls missing") == 1
    assert text.index("What freed the speed") < text.index("| curve | N |")


def test_what_cannot_be_written_is_named_with_what_writes_it_again(tmp_path: Path) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(ScalingError) as caught:
        try_writing(tmp_path / "tables.md", full, "scaling compare")
    assert str(caught.value).startswith(f"{tmp_path / 'tables.md'} cannot be written (No space")
    assert "`scaling compare`" in str(caught.value)
    studied(tmp_path, Made())
    (tmp_path / "summary.csv").mkdir()
    with pytest.raises(ScalingError, match=r"summary\.csv cannot be written .*`scaling plot`"):
        write_again(tmp_path, None, Console(quiet=True))
    (tmp_path / "summary.csv").rmdir()
    (tmp_path / "plots").write_text("in the way")
    with pytest.raises(ScalingError, match=r"plots cannot be written .*`scaling plot`"):
        write_again(tmp_path, None, Console(quiet=True))


def test_the_ceiling_is_named_by_the_arms_that_make_it(tmp_path: Path) -> None:
    from scaling.report.plots import throughput

    arms = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
    study = studied(tmp_path, Made(arms=arms, models=("threads", "processes")))
    about, *_ = subjects(StudyResults.of(study)).values()
    assert "ceiling: N processes on 3.14+mimalloc" in key_of(throughput.draw(about))


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_a_valid_run_fails(tmp_path: Path) -> None:
    def crash(run: RunLine) -> RunLine:
        return with_(run, outcome="crashed", record=None, exit_code=1)

    write(journal(Made(workers=(1, 2), blocks=1), crash), tmp_path / "journal.jsonl")
    printed = Console(record=True, width=80, file=StringIO())
    with pytest.raises(ScalingError, match="none of the 2 runs is valid"):
        finish(tmp_path, printed)
    assert "crashed" in printed.export_text()
