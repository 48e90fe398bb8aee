"""What a figure shows is what was measured: every run, the medians, the ideal, the borders."""

import gc
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import CeilingLine, Line, Machine, Memory, RunLine, WorkloadNote
from scaling.report.plots.borders import Region, regions
from scaling.report.plots.caption import ceiling_text
from scaling.report.plots.draw import draw_all, subjects
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import MARKERS, RC, arm_colours
from tests.support.drawn import BY_NAME, key_of, runs_in
from tests.support.fabricate import Made, Variants, journal, studied, with_, write


def drawn(study: Journal, kind: str) -> tuple[Sheet, list[Curve]]:
    subject, *_ = subjects(StudyResults.of(study)).values()
    with mpl.rc_context(RC):
        return BY_NAME[kind].draw(subject), subject.section.curves


def small_print(sheet: Sheet) -> str:
    return sheet.description.replace("\N{NO-BREAK SPACE}", " ")


def x_of(line: Line2D) -> Floats:
    return np.asarray(line.get_xdata(), dtype=float)


def y_of(line: Line2D) -> Floats:
    return np.asarray(line.get_ydata(), dtype=float)


def lines_in(axes: Axes, gid: str) -> list[Line2D]:
    return [each for each in axes.lines if each.get_gid() == gid]


def crash_one(run: RunLine) -> RunLine:
    if (run.block, run.position) != (0, 1):
        return run
    return with_(run, outcome="crashed", record=None, exit_code=1)


def test_every_valid_run_is_a_dot_at_its_place(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(loops=("asyncio", "uvloop"), workers=(1, 2, 4)), crash_one)
    sheet, _ = drawn(study, "throughput")
    ((asyncio, uvloop),) = sheet.panels
    for axes, loop in ((asyncio, "asyncio"), (uvloop, "uvloop")):
        frame = study.frame[(study.frame["loop"] == loop) & study.frame["valid"]]
        expected = sorted(zip(frame["workers"], frame["throughput_per_s"], strict=True))
        np.testing.assert_allclose(runs_in(axes), expected)
        assert axes.get_title(loc="left") == loop
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "4"]
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > frame["throughput_per_s"].max()
    assert len(runs_in(asyncio)) + len(runs_in(uvloop)) == 17
    assert asyncio.get_ylim() == uvloop.get_ylim()
    assert asyncio.get_ylabel() == "round trips / s"
    assert "1 invalid run left out" in small_print(sheet)


def test_the_line_joins_the_medians_and_bars_are_the_bounds(tmp_path: Path) -> None:
    sheet, (curve,) = drawn(studied(tmp_path, Made()), "throughput")
    (bars,) = [c for c in sheet.panels[0][0].containers if isinstance(c, ErrorbarContainer)]
    joined, _, (stems,) = bars.lines
    np.testing.assert_allclose(x_of(joined), [1, 2, 4])
    np.testing.assert_allclose(y_of(joined), [p.throughput.point for p in curve.points])
    ends = [segment[:, 1] for segment in stems.get_segments()]
    np.testing.assert_allclose(ends, [(p.throughput.low, p.throughput.high) for p in curve.points])


def test_the_key_names_the_bars_that_are_drawn(tmp_path: Path) -> None:
    def forgets(run: RunLine) -> RunLine:
        return with_(run, memory=Memory()) if run.block < 3 else run

    study = studied(tmp_path, Made(blocks=8), forgets)
    interval = "median with 95 % interval over 8 blocks"
    assert interval in key_of(drawn(study, "throughput")[0])
    assert interval in key_of(drawn(study, "efficiency")[0])
    assert "median with range of 5 runs" in key_of(drawn(study, "memory")[0])


@pytest.mark.slow
def test_the_small_print_has_the_blocks_that_were_asked_for(tmp_path: Path) -> None:
    def told(lines: list[Line]) -> str:
        study = read_journal(write(lines, tmp_path / "journal.jsonl"))
        return small_print(drawn(study, "throughput")[0])

    whole = journal(Made(blocks=4))
    assert "· 4 blocks ·" in told(whole)
    assert "· 4 blocks, fewer where runs were left out ·" in told(
        journal(Made(blocks=4), crash_one)
    )
    assert "· 4 blocks, fewer where runs are missing ·" in told(whole[:-1])
    gone_on_with = [with_(whole[0], blocks=3), *whole[1:]]
    assert "· 4 blocks ·" in told(gone_on_with)


@pytest.mark.slow
def test_the_small_print_names_what_bends_a_curve(tmp_path: Path) -> None:
    head, *runs = journal(Made(cores=8, logical=16, blocks=1))
    plain = read_journal(write([head, *runs], tmp_path / "plain.jsonl"))
    told = small_print(drawn(plain, "throughput")[0])
    for word in ("NUMA", "efficiency", "unknown"):
        assert word not in told
    facts = {"numa_nodes": 2, "efficiency_cpus": 4, "usable_cpus": 12}
    uneven = with_(head, **{f"machine__{name}": value for name, value in facts.items()})
    study = read_journal(write([uneven, *runs], tmp_path / "uneven.jsonl"))
    told = small_print(drawn(study, "throughput")[0])
    assert "12 usable CPUs, other programs' use of them unknown" in told
    assert "2 NUMA nodes, 4 efficiency CPUs" in told


def test_the_small_print_has_the_ceiling_of_a_service_that_was_used(tmp_path: Path) -> None:
    variants: Variants = {"echo": [{}], "scrape": [{"delay_ms": 0}]}
    study = studied(tmp_path, Made(variants=variants, blocks=1))
    ceilings = [
        CeilingLine(service="site", requests_per_s=14_231.0),
        CeilingLine(service="site", mbytes_per_s=9.0),
    ]
    echo, scrape = subjects(StudyResults(study.frame, study.study, ceilings)).values()
    with mpl.rc_context(RC):
        texts = [small_print(BY_NAME["memory"].draw(about)) for about in (echo, scrape)]
    assert "ceiling" not in texts[0]
    assert texts[1].endswith("· site ceiling 14,200 requests/s")


def test_a_ceiling_is_shown_where_its_parameters_are_and_with_them(tmp_path: Path) -> None:
    variants: Variants = {"scrape": [{"delay_ms": 0}, {"delay_ms": 20}]}
    study = studied(tmp_path, Made(variants=variants, blocks=1))
    ceilings = [
        CeilingLine(service="site", parameters={"delay_ms": 0}, processes=1, requests_per_s=14_231),
        CeilingLine(service="site", parameters={"delay_ms": 20}, processes=2, requests_per_s=9_004),
        CeilingLine(service="responder", parameters={"delay_ms": 9}, requests_per_s=70_000),
    ]
    at_once, later = subjects(StudyResults(study.frame, study.study, ceilings)).values()
    assert ceiling_text(at_once.ceilings) == "site ceiling 14,200 requests/s (delay_ms=0)"
    assert (
        ceiling_text(later.ceilings) == "site ceiling 9,000 requests/s (delay_ms=20; 2 processes)"
    )


def test_a_workload_has_no_ceiling_of_a_service_that_it_does_not_use(tmp_path: Path) -> None:
    head, *runs = journal(Made(variants={"scrape": [{"delay_ms": 0}]}, blocks=1))
    asks = with_(head, workloads={"scrape": WorkloadNote(services=["site"])})
    study = read_journal(write([asks, *runs], tmp_path / "journal.jsonl"))
    ceilings = [
        CeilingLine(service=name, parameters={"delay_ms": 0}, requests_per_s=100)
        for name in ("responder", "site")
    ]
    (about,) = subjects(StudyResults(study.frame, study.study, ceilings)).values()
    assert [each.service for each in about.ceilings] == ["site"]


def test_the_ideal_is_n_times_the_median_at_one(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(arms=("3.14+mimalloc", "3.14t"), workers=(1, 2, 4)))
    sheet, curves = drawn(study, "throughput")
    ideals = lines_in(sheet.panels[0][0], "ideal")
    assert len(ideals) == len(curves) == 2
    for ideal, curve in zip(ideals, curves, strict=True):
        np.testing.assert_allclose(x_of(ideal), [1, 4])
        base = curve.points[0].throughput.point
        np.testing.assert_allclose(y_of(ideal), [base, 4 * base])
        assert ideal.get_linestyle() == "--"


def test_speed_up_and_efficiency_stand_side_by_side(tmp_path: Path) -> None:
    sheet, (curve,) = drawn(studied(tmp_path, Made()), "efficiency")
    ((speedup, efficiency),) = sheet.panels
    np.testing.assert_allclose(y_of(lines_in(speedup, "ideal")[0]), [1, 4])
    np.testing.assert_allclose(y_of(lines_in(efficiency, "ideal")[0]), [1, 1])
    ratio = curve.values["throughput"] / curve.values["throughput"][:, :1]
    np.testing.assert_allclose(sorted(y for _, y in runs_in(speedup)), np.sort(ratio.ravel()))
    per_worker = np.sort((ratio / [1, 2, 4]).ravel())
    np.testing.assert_allclose(sorted(y for _, y in runs_in(efficiency)), per_worker)


def test_memory_has_its_slope_written_in(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(models=("threads", "processes")))
    sheet, _ = drawn(study, "memory")
    axes = sheet.panels[0][0]
    told = [text.get_text() for text in axes.texts if text.get_gid() == "slope"]
    assert told[0] == "MiB per extra worker"
    assert told[1].startswith("3.14t threads: 1.")
    assert told[2].startswith("3.14t processes: 18.") or told[2].startswith("3.14t processes: 19.")
    assert all("(" in text for text in told[1:])
    assert axes.get_ylabel() == "PSS, MiB"
    expected = np.sort(study.frame["pss_bytes"] / 2**20)
    np.testing.assert_allclose(sorted(y for _, y in runs_in(axes)), expected)


def test_borders_stand_where_the_hardware_ends(tmp_path: Path) -> None:
    made = Made(workers=(1, 2, 6, 12, 20), cores=8, logical=16, blocks=1)
    sheet, curves = drawn(studied(tmp_path, made), "throughput")
    axes = sheet.panels[0][0]
    assert {
        name: x_of(lines_in(axes, f"border-{name}")[0])[0] for name in ("smt", "oversubscribed")
    } == {"smt": 8.5, "oversubscribed": 16.5}
    words = [text.get_text() for text in axes.texts]
    assert words == ["cores", "SMT siblings", "oversubscribed"]
    told = small_print(sheet)
    assert "N above 16 is oversubscribed on this machine" in told
    blind = regions(curves, Machine(id="a machine that cannot tell its cores"))
    assert blind == [
        Region("cores", None, 9.0),
        Region("smt", 9.0, 16.0),
        Region("oversubscribed", 16.0, None),
    ]


def test_a_figure_within_the_cores_has_no_border(tmp_path: Path) -> None:
    sheet, _ = drawn(studied(tmp_path, Made(workers=(1, 2))), "throughput")
    assert not sheet.panels[0][0].texts
    assert "oversubscribed" not in sheet.description


def test_a_parameter_may_look_like_mathematics(tmp_path: Path) -> None:
    variants = {"mine": [{"pattern": r"$\frac{$"}, {"pattern": "$x_1$ {_"}]}
    study = studied(tmp_path, Made(variants=variants, workers=(1,), blocks=1, ticks=2))
    sheet, _ = drawn(study, "memory")
    sheet.figure.draw_without_rendering()
    assert r"mine · pattern=$\frac{$: memory" in [text.get_text() for text in sheet.figure.texts]


LONG = {f"a_rather_long_parameter_{letter}": 100_000 for letter in "abcd"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        Made(
            arms=("3.14+mimalloc", "3.14t+gil", "3.14t"),
            loops=("asyncio", "rloop", "uvloop", "zuvloop"),
            models=("threads", "processes", "interpreters"),
            variants={"echo": [LONG, dict.fromkeys(LONG, 2)]},
            workers=(1, 2, 4, 16, 64),
            cores=8,
            logical=16,
            blocks=1,
            ticks=2,
        ),
    ],
)
@pytest.mark.parametrize("kind", ["throughput", "memory"])
def test_no_word_is_cut_off_or_runs_into_another(tmp_path: Path, made: Made, kind: str) -> None:
    sheet, _ = drawn(studied(tmp_path, made), kind)
    sheet.lay_out()
    figure = sheet.figure
    figure.draw_without_rendering()
    edges = figure.bbox
    texts = [
        text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()
    ]
    assert len(texts) > 40
    boxes = {text: text.get_window_extent() for text in texts}
    for text, box in boxes.items():
        assert edges.x0 <= box.x0, text
        assert box.x1 <= edges.x1, text
        assert edges.y0 <= box.y0, text
        assert box.y1 <= edges.y1, text
    for axes in sheet.all_panels:
        labels = [label for label in axes.get_xticklabels() if label.get_text()]
        for one, other in pairwise(labels):
            assert boxes[one].x1 < boxes[other].x0


def test_an_arm_has_one_colour_and_a_loop_one_marker(tmp_path: Path) -> None:
    made = Made(arms=("3.14", "3.14t"), loops=("asyncio", "uvloop"), blocks=1)
    study = studied(tmp_path, made)
    colours = arm_colours(made.arms)
    for kind in ("throughput", "efficiency", "memory"):  # of curves
        sheet, _ = drawn(study, kind)
        for axes in sheet.all_panels:
            bars = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
            joined = [container.lines[0] for container in bars]
            assert [each.get_color() for each in joined] == [colours["3.14"], colours["3.14t"]]
            loop = axes.get_title(loc="left").partition(":")[0]
            assert {each.get_marker() for each in joined} == {MARKERS[loop]}


def test_no_two_arms_look_alike() -> None:
    ladder = [f"{v}{s}" for v in ("3.13", "3.14") for s in ("", "+mimalloc", "t+gil", "t")]
    colours = arm_colours(ladder)
    assert len(set(colours.values())) == len(ladder)
    assert list(colours) == ladder
    assert colours["3.14t"] == arm_colours(["3.14t"])["3.14t"]
    assert arm_colours(["3.9", "3.14"])["3.14"] == arm_colours(["3.14"])["3.14"]


def figures_alive() -> int:
    gc.collect()
    return sum(isinstance(thing, Figure) for thing in gc.get_objects())


@pytest.mark.slow
def test_drawing_gives_the_same_files_on_any_machine_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    variants = {"echo": [{"payload_bytes": 256}, {"payload_bytes": 1024}]}
    study = studied(tmp_path, Made(variants=variants, workers=(1, 2), blocks=1))
    before, figures = dict(mpl.rcParams), figures_alive()
    once = draw_all(StudyResults.of(study), tmp_path / "once")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
        again = draw_all(StudyResults.of(study), tmp_path / "deep" / "again")
    assert [file.name for file in once] == [
        f"echo-payload_bytes-{size}-weak-{kind}.{suffix}"
        for size in (256, 1024)
        for kind in ("throughput", "efficiency", "memory")
        for suffix in ("svg", "png")
    ] + [f"echo-weak-by-payload_bytes.{suffix}" for suffix in ("svg", "png")]
    for one, other in zip(once, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    svg = once[0].read_text()
    assert "<dc:date>" not in svg
    assert str(tmp_path) not in svg
    assert "echo · payload_bytes=256: throughput" in svg
    assert dict(mpl.rcParams) == before
    pyplot = sys.modules["matplotlib.pyplot"]
    assert pyplot.get_fignums() == []
    assert figures_alive() <= figures


@pytest.mark.slow
def test_what_was_not_measured_is_not_drawn(tmp_path: Path) -> None:
    study = studied(tmp_path, Made(workers=(2, 4), blocks=1))
    files = draw_all(StudyResults.of(study), tmp_path)
    assert {file.stem for file in files} == {"echo-weak-throughput", "echo-weak-memory"}

    def crash(run: RunLine) -> RunLine:
        return with_(run, outcome="crashed", record=None, exit_code=1)

    nothing = studied(tmp_path, Made(blocks=1), crash)
    assert draw_all(StudyResults.of(nothing), tmp_path / "none") == []
