"""`scaling compare`: words before figures, no verdict on few runs, and what was chosen is named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scaling.analysis.between_studies import Across
from scaling.analysis.blocks import PSS
from scaling.analysis.comparison import Compared
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.verdict import RatioVerdict, Verdict, Word
from scaling.base import formats
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.record import Cell, RunLine, WorkerRecord
from scaling.report.compare import compare
from scaling.report.tables import arms as ladder_question
from scaling.report.tables.comparison import QUESTIONS, chapters
from scaling.report.tables.export import comparison_rows, markdown, summary
from scaling.report.tables.findings import Finding, in_words, verdict_text
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.models import break_even_note
from scaling.report.tables.notes import margins
from scaling.study.questions import THROUGHPUT
from tests.support.cli import Command
from tests.support.printing import printed, printed_by
from tests.support.runs import crashed, throttled, with_
from tests.support.studies import FakeStudy, in_memory

LADDER = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
MODELS = ("threads", "processes")
SINGLE = Cell(workload="echo", loop="asyncio", arm="3.14", model="threads", workers=1)


TWO = FakeStudy(arms=("3.14", "3.14t"), models=MODELS)
FEW = FakeStudy(arms=LADDER, models=MODELS, ticks=4)  # for a verdict
MANY = FakeStudy(arms=LADDER, models=MODELS, blocks=8, aa_pairs=True, ticks=4)


def compared(study: FakeStudy) -> Compared:
    (found,) = study.results.compared
    return found


def findings(found: Compared) -> list[Finding]:
    return [each for question in QUESTIONS for each in question.findings(found)]


@pytest.mark.parametrize("study", [FEW, MANY], ids=["few blocks", "many"])
def test_no_figure_is_cut_at_80_columns(study: FakeStudy) -> None:
    found = chapters(study.results)
    every = [
        cell
        for chapter in found
        for grid in chapter.grids
        for row in grid.rows
        for cell in row
        if isinstance(cell, Estimate)
    ]
    assert len(every) > 30
    text, markdown = printed(*found), chapters_markdown(found)
    words = set(text.split())
    for value in every:
        assert {formats.number(value.point), value.bounds} <= words
        assert str(value) in markdown
    unknown = [v for v in every if isinstance(v, RatioVerdict) and v.verdict.word == "inconclusive"]
    assert text.count("inconclusive") >= len(unknown) > 0


def test_the_answer_comes_first_and_claims_no_more_than_there_is() -> None:
    text = " ".join(printed(*chapters(FEW.results)).split())
    assert "inconclusive, too few blocks" in text
    assert "of that, allocator" in text
    assert "Break-even: inconclusive up to N = 4." in text
    assert "range of 3 runs, ratios paired inside blocks: too few for a verdict" in text
    assert text.index("The answer") < text.index("What freed the speed of threads")
    text = " ".join(printed(*chapters(MANY.results)).split())
    assert "95 % interval over 8 blocks, ratios paired inside blocks." in text
    assert "too few" not in text
    assert "Break-even: at N = 2" in text


def test_rows_name_what_they_are_of_and_over() -> None:
    rows = comparison_rows(FEW.results)
    steps = rows[(rows["question"] == "step") & (rows["workers"] == 2)]
    assert steps["measure"].tolist() == ["allocator", "build", "GIL"]
    assert steps["arm"].tolist() == list(LADDER[1:])
    assert steps["over_arm"].tolist() == list(LADDER[:-1])
    assert set(rows["question"]) == {
        "gain", "headline", "step", "over processes", "break-even",
    }  # fmt: skip
    assert (rows["ratio_low"] <= rows["ratio"]).all()
    assert rows["ratio_coverage"].isna().all()
    assert set(rows["verdict"]) == {"inconclusive"}
    assert rows["p_differs"].isna().all()


def test_rows_bear_their_verdicts() -> None:
    rows = comparison_rows(MANY.results)
    margins = rows.groupby("measure")["margin"].unique()
    assert margins["GIL"].tolist() == [MANY.results.floor.margin().share]
    assert margins["memory"].tolist() == [MANY.results.floor.margin("PSS").share]
    two = rows[rows["workers"] == 2].set_index(["question", "measure"])["verdict"]
    assert two["step", "GIL"] == two["step", "allocator"] == "faster"
    assert two["step", "build"] == "slower"
    assert two["over processes", "memory"] == "less"
    decided = rows[rows["verdict"].isin(["faster", "slower", "more", "less"])]
    assert (decided["p_differs"] < 0.05).all()
    assert (rows[rows["verdict"] == "same"]["p_same"] < 0.05).all()


def test_rows_bear_what_casts_doubt_on_them() -> None:
    def change(run: RunLine) -> RunLine:
        if (run.cell.arm, run.cell.workers) != ("3.14t", 2):
            return run
        if run.block:
            return with_(run, disturbance__steal_fraction=0.1)
        return throttled(run)

    arms = TWO.first_line.arms
    other = with_(arms["3.14t"], description__python__compiler="Clang 19")
    differing = {"arms": {**arms, "3.14t": other}}
    rows = comparison_rows(replace(TWO, workers=(1, 2), change=change, head=differing).results)
    assert set(rows["controls"]) == {"missing"}
    assert set(rows[rows["question"] != "gain"]["builds_differ"]) == {"compiler"}
    memory = rows[rows["measure"] == "memory"]
    assert set(memory["memory_kind"]) == {"PSS"}
    assert rows[rows["measure"] != "memory"]["memory_kind"].isna().all()
    (headline,) = rows[(rows["question"] == "headline") & (rows["workers"] == 2)].to_dict("records")
    counts = [headline[name] for name in ("runs", "suspect", "left_out")]
    over = [headline[f"over_{name}"] for name in ("runs", "suspect", "left_out")]
    assert (counts, over) == ([2, 2, 1], [3, 0, 0])


def test_verdicts_come_with_their_margin() -> None:
    words, *_ = margins(compared(MANY).ratios)
    assert words == "Verdicts use a margin of ±2 %: what differs by less is the same."
    assert margins(compared(FEW).ratios) == []


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
    study = FakeStudy(arms=arms, models=MODELS, workers=(1, 2), blocks=8, speeds=speeds)
    notes = margins(compared(study).ratios)
    assert any("holds for these binaries only" in note for note in notes) is said


def test_threads_over_processes_have_work_cpu_time_and_memory() -> None:
    found = findings(compared(replace(TWO, blocks=8)))
    words = {each.question: each.ratio.verdict.word for each in found}
    assert words["2 threads on 3.14t over as many on 3.14 (allocator, build and GIL)"] == "faster"
    over = [each.question for each in found].index("2 threads on 3.14t over 2 processes on 3.14")
    assert [(each.question, each.ratio.verdict.word) for each in found[over + 1 : over + 3]] == [
        ("… CPU time per operation", "less"),
        ("… memory (PSS)", "less"),
    ]
    assert found[over].ratio.verdict.word == "faster"


def test_a_single_step_is_named_and_nothing_is_together() -> None:
    found = compared(FakeStudy(arms=("3.14t+gil", "3.14t"), workers=(2,)))
    (only,) = ladder_question.LADDER.findings(found)
    assert only.question == "2 threads on 3.14t over as many on 3.14t+gil (GIL)"


def ratio(n: int, low: float, high: float, *, few: bool = False) -> Ratio:
    word: Word = "faster" if low > 1 else "slower" if high < 1 else "inconclusive"
    return Ratio(
        point=(low + high) / 2,
        low=low,
        high=high,
        unit="×",
        n=3 if few else 8,
        method="made up",
        coverage=None if few else 0.95,
        verdict=Verdict("inconclusive" if few else word, margin=0.02),
        question="break-even",
        measure=THROUGHPUT,
        of=SINGLE.but(arm="3.14t", workers=n),
        over=SINGLE,
        blocks=np.array([]),
    )


@pytest.mark.parametrize(
    ("ratios", "note"),
    [
        ([ratio(1, 0.8, 0.9, few=True), ratio(2, 1.5, 1.6, few=True)], "inconclusive up to N = 2"),
        ([ratio(1, 0.8, 0.9)], "not reached up to N = 1"),
        (
            [ratio(1, 0.9, 1.1), ratio(2, 1.5, 1.6), ratio(4, 0.8, 0.9), ratio(8, 0.9, 1.2)],
            "at N = 2, at N = 4 slower, at N = 8 inconclusive",
        ),
    ],
)
def test_a_break_even_is_no_more_than_a_verdict(ratios: list[Ratio], note: str) -> None:
    assert break_even_note(ratios) == f"Break-even: {note}."


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


def slowed(worker: WorkerRecord) -> WorkerRecord:
    """A worker ten times as slow, with as many page faults per operation as before."""
    done = [count // 10 for count in worker.ticks.operations]
    faults = [900 + 4 * count for count in done]
    return with_(worker, ticks__operations=done, ticks__minor_faults=faults)


def test_interpreters_are_spoken_of_on_their_fastest_arm() -> None:
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
            return crashed(run)
        if run.block == 0 and cell.model == "processes" and run.record is not None:
            return with_(run, record__workers=list(map(slowed, run.record.workers)))
        return run

    arms = ("3.14", "3.14+mimalloc")
    found = compared(
        FakeStudy(arms=arms, models=models, workers=(2,), speeds=speeds, change=change)
    )
    by_ratio = max(found.over_processes, key=lambda each: each.throughput.point)
    assert by_ratio.of.arm == "3.14+mimalloc"
    (answer,) = [each for each in findings(found) if "interpreters" in each.question]
    assert answer.question.startswith("2 interpreters on 3.14 over 2 processes on 3.14")
    assert answer.note == "Of interpreters on 3.14 and 3.14+mimalloc, 3.14 is the fastest."
    assert (
        verdict_text(answer.ratio)
        == "inconclusive, too few blocks: leaning faster, 2.04; 2 of 6 blocks"
    )


def test_a_table_has_memory_of_one_kind() -> None:
    """An arm without PSS is compared by RSS, and so are the others beside it."""

    def change(run: RunLine) -> RunLine:
        return with_(run, memory__pss_bytes=None) if run.cell.arm == "3.14" else run

    results = replace(TWO, models=("processes",), change=change).results
    assert "MiB (RSS) per extra worker" in chapters_markdown(chapters(results))
    assert "PSS" not in markdown(results)


def test_runs_made_again_are_reported() -> None:
    study = replace(TWO, models=("threads",), workers=(1, 2))
    first, *rest = study.runs
    bad, again = throttled(first), with_(first, attempt=2)
    results = StudyResults.of(in_memory([study.first_line, bad, *rest, again]))
    for text in (markdown(results), chapters_markdown(chapters(results))):
        assert "1 run was made again" in text
    assert summary(results)["again"].sum() == 1
    assert "made again" not in markdown(FEW.results)


def test_one_configuration_has_nothing_to_compare(tmp_path: Path) -> None:
    one = FakeStudy(workers=(1, 2), blocks=1)
    assert chapters(one.results) == []
    assert set(comparison_rows(one.results)["question"]) == {"gain"}
    one.write(tmp_path)
    text = printed_by(lambda console: compare([tmp_path], None, console))
    assert text.startswith("Nothing to compare: the study has one arm, one model and one loop")


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_nothing_is_written_unless_asked_and_nothing_is_drawn(
    command: Command, tmp_path: Path
) -> None:
    TWO.write(tmp_path / "study")
    done = command("compare", "study")
    assert (done.returncode, done.stderr) == (0, "")
    assert "What freed the speed" in done.stdout
    assert files(tmp_path) == ["study/journal.jsonl"]
    assert command("compare", "study", "--output", "out").returncode == 0
    written = ["comparison.csv", "comparison.md", "summary.csv", "tables.md"]
    assert files(tmp_path / "out") == written
    assert "What freed the speed" in (tmp_path / "out" / "tables.md").read_text()
    assert files(tmp_path / "study") == ["journal.jsonl"]


@pytest.mark.slow
def test_two_studies_stand_side_by_side(tmp_path: Path) -> None:
    quick = {("3.14t", "threads", n): 1.2 * n for n in (1, 2, 4)}
    slow = {("3.14t", "threads", n): 1.0 * n for n in (1, 2, 4)}
    then = FakeStudy(name="a", speeds=slow, blocks=8)
    arms = ("3.14t", "3.14")
    now = FakeStudy(name="b", speeds=quick, blocks=8, seed=2, workers=(1, 2), arms=arms)
    found = Across(then.results, now.results)
    throughput, memory = (found.ratios.where(measure=name) for name in ("throughput_per_s", PSS))
    assert [each.of.workers for each in throughput] == [1, 2]
    for ratio in throughput:
        assert ratio.point == pytest.approx(1.2, rel=0.03)
        assert ratio.coverage is not None
        assert "unpaired" in ratio.method
        assert ratio.verdict.word == "faster"
    assert {each.verdict.word for each in memory} == {"same"}
    folders = [study.write(tmp_path / name) for name, study in (("then", then), ("now", now))]
    text = printed_by(lambda console: compare(folders, tmp_path / "out", console))
    text = " ".join(text.split())
    assert text.startswith("now over then")
    assert "ratios are unpaired" in text
    assert "Left out: 1 cell only in the earlier, 2 cells only in the later." in text
    assert throughput[0].bounds in text
    assert (tmp_path / "out" / "now" / "summary.csv").exists()
    assert not (tmp_path / "out" / "now" / "plots").exists()
    assert "now over then" in (tmp_path / "out" / "comparison.md").read_text()


def test_what_is_not_the_same_in_both_is_warned_of() -> None:
    then = FakeStudy(blocks=1)
    assert Across(then.results, then.results).differences == ()
    now = replace(then, logical=4, head={"pins": "other"}, options={"window_s": 5.0})
    told = " ".join(Across(then.results, now.results).differences)
    assert "the machine (logical_cpus, usable_cpus)" in told
    assert "the pinned packages" in told
    assert "the study (window_s)" in told


def test_studies_are_called_by_their_folders_and_none_is_named_twice(tmp_path: Path) -> None:
    for machine in ("here", "there"):
        FakeStudy(blocks=1).write(tmp_path / machine / "study")
    out, both = tmp_path / "out", [tmp_path / "here/study", tmp_path / "there/study"]
    compare(both, out, new_console(quiet=True))
    assert "there-study over here-study" in (out / "comparison.md").read_text()
    assert (out / "there-study" / "tables.md").is_file()
    with pytest.raises(UsageError, match="named twice"):
        compare([both[0], both[0] / "journal.jsonl"], None, new_console(quiet=True))
