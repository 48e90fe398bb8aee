"""What a figure shows is what was measured: every run, the medians, the noise, the ideal, the
borders.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from scaling.analysis.arrays import Floats
from scaling.analysis.curves import Curve
from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.journal.record import CeilingLine, Line, Machine, Memory, ParameterValue, RunLine
from scaling.report.plots.borders import bends, draw_bends, regions
from scaling.report.plots.caption import ceiling_text
from scaling.report.plots.draw import subjects
from scaling.report.plots.plot import Subject
from scaling.report.plots.sheet import Sheet
from scaling.report.plots.style import MARKERS, RC, arm_colours
from scaling.report.tables.export import comparison_rows
from tests.support.drawn import BY_NAME, bars_in, key_of, runs_in, small_print
from tests.support.runs import crashed, with_
from tests.support.served_studies import FakeAppStudy
from tests.support.studies import FakeStudy, in_memory

LADDER = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
TWO = ("threads", "processes")
CURVES = ("throughput", "efficiency", "memory")


def crash_one(run: RunLine) -> RunLine:
    return crashed(run) if (run.block, run.position) == (0, 1) else run


PLAIN = FakeStudy()
TWO_LOOPS = FakeStudy(loops=("asyncio", "uvloop"), change=crash_one)
NOISY = FakeStudy(arms=("3.14", "3.14t"), models=TWO, aa_pairs=True, noise=0.02, ticks=4)
STEPS = FakeStudy(arms=LADDER, models=TWO, ticks=4)


def subject(study: FakeStudy) -> Subject:
    first, *_ = subjects(study.results).values()
    return first


@cache
def drawn(study: FakeStudy, kind: str) -> Sheet:
    with mpl.rc_context(RC):
        return BY_NAME[kind].draw(subject(study))


def curves(study: FakeStudy) -> list[Curve]:
    return subject(study).section.curves


def x_of(line: Line2D) -> Floats:
    return np.asarray(line.get_xdata(), dtype=float)


def y_of(line: Line2D) -> Floats:
    return np.asarray(line.get_ydata(), dtype=float)


def lines_in(axes: Axes, gid: str) -> list[Line2D]:
    return [each for each in axes.lines if each.get_gid() == gid]


def bands(sheet: Sheet) -> list[Artist]:
    children = (each for axes in sheet.all_panels for each in axes.get_children())
    return [each for each in children if each.get_gid() == "noise"]


def texts(sheet: Sheet, gid: str) -> list[str]:
    return [t.get_text() for axes in sheet.all_panels for t in axes.texts if t.get_gid() == gid]


def test_every_valid_run_is_a_dot_at_its_place() -> None:
    sheet = drawn(TWO_LOOPS, "throughput")
    ((asyncio, uvloop),) = sheet.panels
    whole = TWO_LOOPS.frame
    for axes, loop in ((asyncio, "asyncio"), (uvloop, "uvloop")):
        frame = whole[(whole["loop"] == loop) & whole["valid"]]
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


def test_the_line_joins_the_medians_and_bars_are_the_bounds() -> None:
    (curve,) = curves(PLAIN)
    (bars,) = bars_in(drawn(PLAIN, "throughput").panels[0][0])
    joined, _, (stems,) = bars.lines
    np.testing.assert_allclose(x_of(joined), [1, 2, 4])
    np.testing.assert_allclose(y_of(joined), [p.throughput.point for p in curve.points])
    ends = [segment[:, 1] for segment in stems.get_segments()]
    np.testing.assert_allclose(ends, [(p.throughput.low, p.throughput.high) for p in curve.points])


def test_the_key_names_the_bars_that_are_drawn() -> None:
    def forgets(run: RunLine) -> RunLine:
        return with_(run, memory=Memory()) if run.block < 3 else run

    study = replace(PLAIN, blocks=8, change=forgets)
    interval = "median with 95 % interval over 8 blocks"
    assert interval in key_of(drawn(study, "throughput"))
    assert interval in key_of(drawn(study, "efficiency"))
    assert "median with range of 5 runs" in key_of(drawn(study, "memory"))


def test_the_ideal_is_n_times_the_median_at_one() -> None:
    study = replace(PLAIN, arms=("3.14+mimalloc", "3.14t"))
    ideals = lines_in(drawn(study, "throughput").panels[0][0], "ideal")
    assert len(ideals) == 2
    for ideal, curve in zip(ideals, curves(study), strict=True):
        base = curve.points[0].throughput.point
        np.testing.assert_allclose(x_of(ideal), [1, 4])
        np.testing.assert_allclose(y_of(ideal), [base, 4 * base])
        assert ideal.get_linestyle() == "--"


def test_speed_up_and_efficiency_stand_side_by_side() -> None:
    ((speedup, efficiency),) = drawn(PLAIN, "efficiency").panels
    np.testing.assert_allclose(y_of(lines_in(speedup, "ideal")[0]), [1, 4])
    np.testing.assert_allclose(y_of(lines_in(efficiency, "ideal")[0]), [1, 1])
    (curve,) = curves(PLAIN)
    ratio = curve.values["throughput"] / curve.values["throughput"][:, :1]
    np.testing.assert_allclose(sorted(y for _, y in runs_in(speedup)), np.sort(ratio.ravel()))
    per_worker = np.sort((ratio / [1, 2, 4]).ravel())
    np.testing.assert_allclose(sorted(y for _, y in runs_in(efficiency)), per_worker)


def test_memory_has_its_slope_written_in() -> None:
    study = replace(PLAIN, models=TWO)
    (axes,) = drawn(study, "memory").all_panels
    head, threads, processes = (t.get_text() for t in axes.texts if t.get_gid() == "slope")
    assert head == "MiB per extra worker"
    assert threads.startswith("3.14t threads: 1.")
    assert processes.startswith(("3.14t processes: 18.", "3.14t processes: 19."))
    assert "(" in threads
    assert axes.get_ylabel() == "PSS, MiB"
    expected = np.sort(study.frame["pss_bytes"] / 2**20)
    np.testing.assert_allclose(sorted(y for _, y in runs_in(axes)), expected)


def test_the_ladder_shows_each_factor_in_the_colour_of_its_arm() -> None:
    sheet = drawn(STEPS, "ladder")
    assert [axes.get_title(loc="left") for axes in sheet.all_panels] == [
        f"asyncio, N = {n}" for n in (1, 2, 4)
    ]
    rows = comparison_rows(STEPS.results)
    two = rows[rows["workers"] == 2]
    expected = [
        *two[two["question"] == "step"]["ratio"],
        *two[two["question"] == "headline"]["ratio"],
    ]
    assert texts(sheet, "factor")[4:8] == [f"×{formats.number(value)}" for value in expected]
    first = sheet.all_panels[0]
    edges = [mpl.colors.to_hex(bar.get_edgecolor(), keep_alpha=False) for bar in first.patches]
    assert edges == [arm_colours(LADDER)[name] for name in (*LADDER[1:], "3.14t")]
    labels = [tick.get_text() for tick in first.get_xticklabels()]
    assert labels == ["allocator", "build", "GIL", "together"]


def test_n_is_written_beside_what_it_gives_and_costs() -> None:
    sheet = drawn(replace(PLAIN, models=TWO), "trade")
    assert sorted(texts(sheet, "N"))[-2:] == ["4", "4"]
    assert sheet.all_panels[0].get_xlabel() == "PSS, MiB"


def test_p99_at_the_middle_rate_stands_beside_what_memory_gives() -> None:
    study = FakeAppStudy()
    sheet = drawn(study, "trade")
    throughput, p99 = sheet.all_panels
    assert (throughput.get_ylabel(), p99.get_ylabel()) == ("requests / s", "P99 at 400/s, ms")
    assert throughput.get_xlim() == p99.get_xlim()
    assert p99.get_title(loc="left").endswith("P99 at 400/s, N = 2")
    at_rate = study.frame[study.frame["parameters"].astype(str).str.contains("400.0")]
    of_threads = at_rate[(at_rate["model"] == "threads") & (at_rate["workers"] == 2)]
    (bars,) = (each for each in bars_in(p99) if each.get_label() == "3.14t threads")
    assert y_of(bars.lines[0])[-1] == pytest.approx(1e3 * of_threads["latency_p99_s"].median())
    assert "P99" not in drawn(replace(PLAIN, models=TWO), "trade").title


def test_many_arms_and_models_have_panels_with_the_ceiling_in_each() -> None:
    sheet = drawn(STEPS, "throughput")
    assert [axes.get_title(loc="left") for axes in sheet.all_panels] == [
        f"asyncio: {model}" for model in TWO
    ]
    frame = STEPS.frame
    best = frame[(frame["arm"] == "3.14+mimalloc") & (frame["model"] == "processes")]
    medians = best.groupby("workers")["throughput_per_s"].median()
    for axes in sheet.all_panels:
        (line,) = lines_in(axes, "ceiling")
        np.testing.assert_allclose(y_of(line), medians)
        assert len(axes.containers) == len(LADDER)
    assert "ceiling: N processes on 3.14+mimalloc" in key_of(sheet)


@pytest.mark.parametrize("kind", ["throughput", "efficiency"])
def test_a_loop_that_was_not_run_under_a_model_has_no_empty_panel(kind: str) -> None:
    models = (*TWO, "interpreters")
    every = replace(PLAIN, arms=LADDER[1:], models=models, loops=("asyncio", "uvloop"), ticks=4)
    asked = [c for c in every.every_cell if (c.loop, c.model) != ("uvloop", "threads")]
    sheet = drawn(replace(every, cells=asked), kind)
    assert [axes.get_title(loc="left") for axes in sheet.all_panels] == [
        *(f"asyncio: {model}" for model in models),
        *(f"uvloop: {model}" for model in models[1:]),
    ]
    assert all(axes.lines for axes in sheet.all_panels)
    assert set(sheet.figure.axes) == set(sheet.all_panels)


def test_an_arm_has_one_colour_and_a_loop_one_marker() -> None:
    study = FakeStudy(arms=("3.14", "3.14t"), loops=("asyncio", "uvloop"), blocks=1, ticks=4)
    colours = arm_colours(study.arms)
    for kind in CURVES:
        for axes in drawn(study, kind).all_panels:
            joined = [container.lines[0] for container in bars_in(axes)]
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


@pytest.mark.parametrize("kind", CURVES)
def test_a_band_is_around_every_median_as_wide_as_the_noise(kind: str) -> None:
    floor = NOISY.results.floor.of("echo", kind)
    found = bands(drawn(NOISY, kind))
    assert len(found) == (8 if kind == "efficiency" else 4)
    for band in found:
        assert isinstance(band, FillBetweenPolyCollection)
        (path,) = band.get_paths()
        points = np.asarray(path.vertices)
        for n in (1, 2, 4):
            heights = points[points[:, 0] == n, 1]
            assert heights.max() / heights.min() == pytest.approx((1 + floor) ** 2)
    key = " ".join(key_of(drawn(NOISY, kind)))
    assert f"A/A: equal cells differ by up to ±{formats.percent(floor)}" in key


def test_the_ladder_has_the_noise_around_1() -> None:
    floor = NOISY.results.floor.of("echo")
    found = bands(drawn(NOISY, "ladder"))
    assert len(found) == 3
    for band in found:
        assert isinstance(band, Rectangle)
        ends = band.get_y(), band.get_y() + band.get_height()
        assert ends == pytest.approx((1 / (1 + floor), 1 + floor))


def test_where_memory_meets_throughput_each_has_its_own_noise() -> None:
    across, up = (NOISY.results.floor.of("echo", what) for what in ("memory", "throughput"))
    assert across != up
    found = bands(drawn(NOISY, "trade"))
    assert len(found) == 4 * 3
    for box in found:
        assert isinstance(box, Rectangle)
        x, y = box.get_xy()
        assert box.get_width() == pytest.approx(x * ((1 + across) ** 2 - 1))
        assert box.get_height() == pytest.approx(y * ((1 + up) ** 2 - 1))
    told = f"±{formats.percent(across)} across, ±{formats.percent(up)} up"
    assert told in " ".join(key_of(drawn(NOISY, "trade")))


@pytest.mark.parametrize("kind", ["throughput", "memory", "ladder", "trade"])
def test_without_aa_pairs_there_is_no_band(kind: str) -> None:
    assert bands(drawn(STEPS, kind)) == []
    assert "A/A" not in " ".join(key_of(drawn(STEPS, kind)))


def test_borders_stand_where_the_hardware_ends() -> None:
    study = FakeStudy(workers=(1, 2, 6, 12, 20), cores=8, logical=16, blocks=1, ticks=4)
    sheet = drawn(study, "throughput")
    (axes,) = sheet.all_panels
    assert {
        name: x_of(lines_in(axes, f"border-{name}")[0])[0] for name in ("smt", "oversubscribed")
    } == {"smt": 8.5, "oversubscribed": 16.5}
    words = [text.get_text() for text in axes.texts]
    assert words == ["cores", "SMT siblings", "oversubscribed"]
    assert "N above 16 is oversubscribed on this machine" in small_print(sheet)
    blind = regions(curves(study), Machine(id="a machine that cannot tell its cores"))
    assert list(blind.items()) == [("cores", 0), ("smt", 9.0), ("oversubscribed", 16.0)]
    within = drawn(replace(study, workers=(1, 2)), "throughput")
    assert not within.all_panels[0].texts
    assert "oversubscribed" not in within.description


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"physical_cores": 8, "numa_nodes": 1, "efficiency_cpus": 0}, {}),
        ({}, {}),
        ({"physical_cores": 14, "efficiency_cpus": 8}, {6: "E-cores"}),
        (
            {"physical_cores": 24, "efficiency_cpus": 16, "numa_nodes": 2},
            {8: "E-cores", 12: "> 1 NUMA node"},
        ),
        (
            {"physical_cores": 16, "efficiency_cpus": 8, "numa_nodes": 2},
            {8: "E-cores, > 1 NUMA node"},
        ),
        # Nothing but slower cores: they are the machine's only kind.
        ({"physical_cores": 4, "efficiency_cpus": 4}, {}),
    ],
)
def test_a_machine_says_where_it_bends(facts: dict[str, Any], expected: dict[int, str]) -> None:
    assert bends(Machine(id="a", **facts)) == expected


@pytest.mark.parametrize(("largest", "where"), [(4, []), (6, []), (8, [6.5])])
def test_a_bend_is_drawn_only_where_the_curve_goes_beyond_it(
    largest: int, where: list[float]
) -> None:
    axes = Figure().subplots()
    axes.set_xticks([1, 2, largest])
    axes.set_xlim(0.6, largest + 0.5)
    draw_bends(axes, {6: "E-cores"})
    assert [x_of(line)[0] for line in lines_in(axes, "bend-E-cores")] == where
    assert [text.get_text() for text in axes.texts] == ["E-cores"] * len(where)


def told_of(study: FakeStudy, lines: list[Line] | None = None) -> str:
    found = StudyResults.of(in_memory(lines)) if lines else study.results
    first, *_ = subjects(found).values()
    with mpl.rc_context(RC):
        return small_print(BY_NAME["throughput"].draw(first))


def test_the_small_print_has_the_blocks_that_were_asked_for() -> None:
    study = FakeStudy(blocks=4, ticks=4)
    assert "· 4 blocks ·" in told_of(study)
    assert "· 4 blocks, fewer where runs were left out ·" in told_of(
        replace(study, change=crash_one)
    )
    assert "· 4 blocks, fewer where runs are missing ·" in told_of(study, study.lines[:-1])
    assert "· 4 blocks ·" in told_of(replace(study, head={"blocks": 3}))  # resumed


def test_the_small_print_names_what_bends_a_curve() -> None:
    plain = FakeStudy(cores=8, logical=16, blocks=1, workers=(1, 2), ticks=4)
    for word in ("NUMA", "efficiency", "unknown"):
        assert word not in told_of(plain)
    facts: dict[str, Any] = {"numa_nodes": 2, "efficiency_cpus": 4, "usable_cpus": 12}
    uneven = replace(plain, head={f"machine__{name}": value for name, value in facts.items()})
    assert "12 usable CPUs, other programs' use of them unknown" in told_of(uneven)
    assert "2 NUMA nodes, 4 efficiency CPUs" in told_of(uneven)


def test_a_ceiling_is_shown_where_its_service_and_its_parameters_are() -> None:
    def at(service: str, per_s: float, **parameters: ParameterValue) -> CeilingLine:
        return CeilingLine(service=service, parameters=parameters, requests_per_s=per_s)

    study = FakeStudy(
        variants={"echo": [{}], "scrape": [{"delay_ms": 0}, {"delay_ms": 20}]},
        blocks=1,
        workers=(1,),
        ceilings=[
            at("site", 14_231.0, delay_ms=0),
            with_(at("site", 9_004.0, delay_ms=20), processes=2),
            at("responder", 70_000.0, delay_ms=0),
            CeilingLine(service="site", mbytes_per_s=9.0),
        ],
    )
    echo, at_once, later = subjects(study.results).values()
    assert ceiling_text(echo.ceilings) == ""
    assert ceiling_text(at_once.ceilings) == "site ceiling 14,200 requests/s (delay_ms=0)"
    assert ceiling_text(later.ceilings) == (
        "site ceiling 9,000 requests/s (delay_ms=20; 2 processes)"
    )
    with mpl.rc_context(RC):
        assert "site ceiling 9,000" in small_print(BY_NAME["memory"].draw(later))
