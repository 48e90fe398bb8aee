"""`scaling compare`: text first, no figure cut at 80 columns, two studies side by side."""

import io
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from rich.console import Console
from typer.testing import CliRunner

from scaling.analysis.between_studies import Across
from scaling.analysis.blocks import PSS
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.noise import noise_floor
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.errors import UsageError
from scaling.cli.program import app
from scaling.report.compare import compare
from scaling.report.plots.draw import subjects
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import RC, arm_colours
from scaling.report.tables.comparison import chapters
from scaling.report.tables.export import comparison_rows
from scaling.report.tables.grid import chapters_markdown
from scaling.report.tables.terminal import Chapters
from tests.support.drawn import BY_NAME
from tests.support.fabricate import Made, studied, with_
from tests.support.time_terms import plus, with_terms

LADDER = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
MODELS = ("threads", "processes", "interpreters")
FULL = Made(arms=LADDER, models=MODELS, loops=("asyncio", "uvloop"))


def printed(study: Journal, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Chapters(chapters(StudyResults.of(study))))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def figures(study: Journal) -> list[Estimate]:
    return [
        cell
        for chapter in chapters(StudyResults.of(study))
        for grid in chapter.grids
        for row in grid.rows
        for cell in row
        if isinstance(cell, Estimate)
    ]


@pytest.mark.parametrize("blocks", [3, 8])
def test_no_figure_is_cut_at_80_columns(tmp_path: Path, blocks: int) -> None:
    study = studied(tmp_path, Made(arms=LADDER, models=MODELS, blocks=blocks))
    text = printed(study)
    assert max(map(len, text.splitlines())) <= 80
    words = set(text.split())
    every = figures(study)
    ratios = [value for value in every if isinstance(value, RatioVerdict)]
    assert text.count("inconclusive") >= sum(v.verdict.word == "inconclusive" for v in ratios) > 0
    assert len(every) > 40
    for value in every:
        assert formats.number(value.point) in words
        assert value.bounds in words
    markdown = chapters_markdown(chapters(StudyResults.of(study)))
    assert all(str(value) in markdown for value in every)


def test_the_answer_comes_first_and_claims_no_more_than_there_is(tmp_path: Path) -> None:
    few = " ".join(printed(studied(tmp_path / "few", FULL)).split())
    assert "inconclusive, too few blocks" in few
    assert "of that, allocator" in few
    assert "Break-even: inconclusive up to N = 4." in few
    assert "range of 3 runs, ratios paired inside blocks: too few for a verdict" in few
    assert few.index("The answer") < few.index("What freed the speed of threads")
    many = " ".join(printed(studied(tmp_path / "many", Made(arms=LADDER, blocks=8))).split())
    assert "95 % interval over 8 blocks, ratios paired inside blocks." in many
    assert "too few" not in many
    assert "Break-even: at N = 2" in many


def test_one_way_alone_has_no_comparison(tmp_path: Path) -> None:
    study = studied(tmp_path, Made())
    assert chapters(StudyResults.of(study)) == []
    assert set(comparison_rows(StudyResults.of(study))["question"]) == {"gain"}


def test_rows_name_what_they_are_of_and_over(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(arms=LADDER, models=("threads", "processes")))
    rows = comparison_rows(StudyResults.of(study))
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


def test_rows_bear_their_verdicts(tmp_path: Path) -> None:
    made = Made(arms=LADDER, models=("threads", "processes"), blocks=8, aa_pairs=True)
    study = studied(tmp_path, made)
    rows = comparison_rows(StudyResults.of(study))
    floor = noise_floor(study.frame, study.study)
    margins = rows.groupby("measure")["margin"].unique()
    assert margins["GIL"].tolist() == [floor.margin().share]
    assert margins["memory"].tolist() == [floor.margin("PSS").share]
    two = rows[rows["workers"] == 2].set_index(["question", "measure"])["verdict"]
    assert two["step", "GIL"] == two["step", "allocator"] == "faster"
    assert two["step", "build"] == "slower"
    assert two["over processes", "memory"] == "less"
    decided = rows[rows["verdict"].isin(["faster", "slower", "more", "less"])]
    assert (decided["p_differs"] < 0.05).all()
    assert (rows[rows["verdict"] == "same"]["p_same"] < 0.05).all()


def files(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


def test_nothing_is_written_unless_asked_and_nothing_is_drawn(tmp_path: Path) -> None:
    study = tmp_path / "study"
    studied(study, Made(arms=("3.14", "3.14t"), models=("threads", "processes")))
    result = CliRunner().invoke(app, ["compare", str(study)])
    assert result.exit_code == 0, result.output
    assert "What freed the speed" in result.output
    assert files(tmp_path) == ["study/journal.jsonl"]
    asked = ["compare", str(study), "--output", str(tmp_path / "out")]
    assert CliRunner().invoke(app, asked).exit_code == 0
    written = ["comparison.csv", "comparison.md", "laws.csv", "summary.csv", "tables.md"]
    assert files(tmp_path / "out") == written
    assert "What freed the speed" in (tmp_path / "out" / "tables.md").read_text()
    assert files(study) == ["journal.jsonl"]


def test_one_configuration_has_nothing_to_compare(tmp_path: Path) -> None:
    studied(tmp_path, Made(arms=("3.14t",), workers=(1, 2), blocks=1))
    out = Console(file=io.StringIO(), width=80, color_system=None)
    compare([tmp_path], None, out)
    assert isinstance(out.file, io.StringIO)
    assert (
        "Nothing to compare: the study has one arm, one model and one loop" in out.file.getvalue()
    )


@pytest.mark.slow
def test_two_studies_stand_side_by_side(tmp_path: Path) -> None:
    quick = {("3.14t", "threads", n): 1.2 * n for n in (1, 2, 4)}
    slow = {("3.14t", "threads", n): 1.0 * n for n in (1, 2, 4)}
    then = studied(tmp_path / "then", Made(name="a", speeds=slow, blocks=8))
    made = Made(name="b", speeds=quick, blocks=8, seed=2, workers=(1, 2), arms=("3.14t", "3.14"))
    now = studied(tmp_path / "now", made)
    found = Across(StudyResults.of(then), StudyResults.of(now))
    throughput, memory = (found.ratios.where(measure=name) for name in ("throughput_per_s", PSS))
    assert [each.of.workers for each in throughput] == [1, 2]
    for ratio in throughput:
        assert ratio.point == pytest.approx(1.2, rel=0.03)
        assert ratio.coverage is not None
        assert "unpaired" in ratio.method
        assert ratio.verdict.word == "faster"
    for ratio in memory:
        assert ratio.verdict.word == "same"
        assert ratio.point == pytest.approx(1, rel=0.02)
    console = Console(file=io.StringIO(), width=80, color_system=None)
    compare([tmp_path / "then", tmp_path / "now"], tmp_path / "out", console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    text = " ".join(" ".join(lines).split())
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    assert text.startswith("now over then")
    assert "ratios are unpaired" in text
    assert "Left out: 1 cell only in the earlier, 2 cells only in the later." in text
    assert throughput[0].bounds in text
    assert (tmp_path / "out" / "now" / "summary.csv").exists()
    assert not (tmp_path / "out" / "now" / "plots").exists()
    assert "now over then" in (tmp_path / "out" / "comparison.md").read_text()


def test_what_is_not_the_same_in_both_is_warned_of(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, Made()))
    assert Across(results, results).differences == ()
    now = studied(tmp_path / "now", Made(logical=4))
    line = with_(now.study, pins="other", study={**now.study.study, "window_s": 5.0})
    then = studied(tmp_path, Made())
    found = Across(StudyResults.of(then), StudyResults(now.frame, line))
    told = " ".join(found.differences)
    assert "the machine (logical_cpus, usable_cpus)" in told
    assert "the pinned packages" in told
    assert "the study (window_s)" in told


def test_a_study_is_not_compared_with_itself(tmp_path: Path) -> None:
    studied(tmp_path, Made())
    with pytest.raises(UsageError, match="named twice"):
        compare([tmp_path, tmp_path / "journal.jsonl"], None, Console(quiet=True))


def test_folders_with_one_name_are_called_by_their_parents_too(tmp_path: Path) -> None:
    for machine in ("here", "there"):
        studied(tmp_path / machine / "study", Made())
    out, both = tmp_path / "out", [tmp_path / "here/study", tmp_path / "there/study"]
    compare(both, out, Console(quiet=True))
    assert "there-study over here-study" in (out / "comparison.md").read_text()
    assert (out / "there-study" / "tables.md").is_file()


def drawn(study: Journal, kind: str) -> Sheet:
    about, *_ = subjects(StudyResults.of(study)).values()
    with mpl.rc_context(RC):
        return BY_NAME[kind].draw(about)


def texts(sheet: Sheet, gid: str) -> list[Text]:
    return [text for axes in sheet.all_panels for text in axes.texts if text.get_gid() == gid]


@pytest.mark.slow
def test_the_waterfall_shows_each_factor_in_the_colour_of_its_arm(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(arms=LADDER, workers=(1, 2, 4)))
    sheet = drawn(study, "ladder")
    assert [axes.get_title(loc="left") for axes in sheet.all_panels] == [
        f"asyncio, N = {n}" for n in (1, 2, 4)
    ]
    told = [text.get_text() for text in texts(sheet, "factor")]
    rows = comparison_rows(StudyResults.of(study))
    two = rows[rows["workers"] == 2]
    expected = [
        *two[two["question"] == "step"]["ratio"],
        *two[two["question"] == "headline"]["ratio"],
    ]
    assert told[4:8] == [f"×{formats.number(value)}" for value in expected]
    colours = arm_colours(LADDER)
    edges = [mpl.colors.to_hex(bar.get_edgecolor(), keep_alpha=False)
             for bar in sheet.all_panels[0].patches]  # fmt: skip
    assert edges == [colours[name] for name in (*LADDER[1:], "3.14t")]
    labels = [tick.get_text() for tick in sheet.all_panels[0].get_xticklabels()]
    assert labels == ["allocator", "build", "GIL", "together"]


def test_n_is_written_beside_what_it_gives_and_costs(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(arms=("3.14t",), models=("threads", "processes")))
    sheet = drawn(study, "trade")
    assert sorted(text.get_text() for text in texts(sheet, "N"))[-2:] == ["4", "4"]
    assert sheet.all_panels[0].get_xlabel() == "PSS, MiB"


def beyond_the_view(axes: Axes) -> Iterator[Text]:
    """The labels of ticks past the end of an axis, which Matplotlib keeps and does not draw."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BY_NAME)
def test_no_word_of_a_full_comparison_leaves_the_sheet(tmp_path: Path, kind: str) -> None:
    study = studied(tmp_path, FULL)
    if kind == "losses":  # drawn of runs with readings only
        study = with_terms(study, lambda _arm, _model, n: plus(user=9_000.0 * n))
    sheet = drawn(study, kind)
    sheet.lay_out()
    sheet.figure.draw_without_rendering()
    edges = sheet.figure.bbox
    undrawn = {label for axes in sheet.figure.axes for label in beyond_the_view(axes)}
    for text in sheet.figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in undrawn:
            box = text.get_window_extent()
            assert edges.x0 <= box.x0 <= box.x1 <= edges.x1, text
            assert edges.y0 <= box.y0 <= box.y1 <= edges.y1, text


def test_many_arms_and_models_have_panels_with_the_ceiling_in_each(tmp_path: Path) -> None:
    from scaling.report.plots import throughput

    study = studied(tmp_path, FULL)
    about, *_ = subjects(StudyResults.of(study)).values()
    with mpl.rc_context(RC):
        sheet = throughput.draw(about)
    titles = [axes.get_title(loc="left") for axes in sheet.all_panels]
    assert titles == [f"{loop}: {model}" for loop in FULL.loops for model in MODELS]
    best = study.frame[
        (study.frame["loop"] == "asyncio")
        & (study.frame["arm"] == "3.14+mimalloc")
        & (study.frame["model"] == "processes")
    ]
    medians = best.groupby("workers")["throughput_per_s"].median()
    for axes in sheet.panels[0]:
        (line,) = [each for each in axes.lines if each.get_gid() == "ceiling"]
        np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), medians)
        assert len(axes.containers) == len(LADDER)
