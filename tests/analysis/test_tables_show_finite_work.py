"""Finite work is shown by its time to finish, timed work by its latencies, and a workload's own
figures stand beside them with a unit that can be read.
"""

import io
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import sections
from scaling.analysis.table.load import Journal
from scaling.analysis.table.run_fields import is_count, readable, unit_of
from scaling.journal.record import Latency, RunLine
from scaling.report.plots.caption import caption
from scaling.report.tables.export import markdown, summary
from scaling.report.tables.measures import measures, notes
from scaling.report.tables.terminal import GAP, packed
from scaling.report.terminal.show import Results
from tests.support.fabricate import Made, studied, with_
from tests.support.fabricate_finite import finite

OUTCOMES = {"ok_total": 996.0, "http_error_total": 1.0, "client_error_total": 0.0}
FIGURES = {**OUTCOMES, "timeout_total": 3.0, "littles_law_s": 0.21, "overhead_ns_per_op": 840.0}
# 1,980 operations of 134 ms and 20 of 268 ms: P99 is that of the 1,980th.
LATENCY = Latency(value_ns=[2**27, 2**28], count=[1980, 20])


def took_s(run: RunLine) -> float:
    """2 s in block 0, 3 s in block 1, 4 s in block 2, whatever N is."""
    return 2.0 + run.block


@pytest.fixture
def study(tmp_path: Path) -> Journal:
    change = finite(took_s, figures=lambda _: FIGURES, latency=LATENCY)
    made = Made(variants={"fetch": [{}]}, workers=(1, 2))
    return studied(tmp_path, made, change)


def headings(study: Journal) -> list[str]:
    (section,) = sections(study.frame, study.study)
    return [measure.heading for measure in measures(section)]


def printed(study: Journal, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Results(StudyResults.of(study)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_point_has_the_time_to_finish_and_the_workload_s_own_figures(study: Journal) -> None:
    (curve,) = curves(study.frame)
    one, two = curve.points
    for point in (one, two):
        finish = point.figures["finish_s"]
        assert (finish.point, finish.low, finish.high) == pytest.approx((3, 2, 4))
        assert finish.unit == "s"
        assert point.figures["lag_p50_s"].n == 0
        assert point.figures["latency_p99_s"].point == pytest.approx(0.1345, rel=5e-3)
        assert point.figures["latency_p95_s"].point == pytest.approx(0.1345, rel=5e-3)
        assert point.figures["latency_mean_s"].point == pytest.approx(0.1358, rel=5e-3)
        assert point.own["overhead_ns_per_op"].unit == "ns/op"
    assert one.own["ok_total"].point == 996
    assert two.own["ok_total"].point == 2 * 996
    assert two.own["littles_law_s"].point == pytest.approx(0.21)
    assert two.throughput.point == pytest.approx(2 * one.throughput.point)
    peaks = study.frame.groupby("workers")["peak_bytes"].median() / 2**20
    assert [each.figures["peak_bytes"].point / 2**20 for each in (one, two)] == pytest.approx(
        peaks.tolist()
    )


def test_what_a_law_predicts_stands_beside_what_was_measured(study: Journal) -> None:
    told = headings(study)
    place = told.index("mean latency ms")
    assert told[place : place + 3] == ["mean latency ms", "P99 latency ms", "Little's law ms"]
    assert told.index("finish s") == 1
    assert "peak RSS MiB" in told
    assert not {"lag ms", "worst lag ms"} & set(told)
    outcomes = ["ok", "HTTP error", "client error", "timeout"]
    assert [each for each in told if each in outcomes] == outcomes


def test_windowed_work_has_no_such_columns(tmp_path: Path) -> None:
    plain = studied(tmp_path, Made())
    told = headings(plain)
    assert "lag ms" in told
    assert not {"finish s", "peak RSS MiB", "mean latency ms", "P99 latency ms"} & set(told)
    (section,) = sections(plain.frame, plain.study)
    for word in ("Finish", "Peak", "closed-loop"):
        assert word not in " ".join(notes(section))


def test_notes_say_what_finish_and_latencies_are(study: Journal) -> None:
    (section,) = sections(study.frame, study.study)
    told = " ".join(notes(section))
    assert "from the release of all workers to the last one's finish" in told
    assert "closed-loop" in told
    everything = (told, printed(study, 120), caption(section, study.study, []))
    assert "window" not in " ".join(everything)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_do_not_fit_are_in_a_further_table(study: Journal, width: int) -> None:
    lines = printed(study, width).splitlines()
    assert max(map(len, lines)) <= width
    heads = [line for line in lines if line.split()[:1] == ["N"]]
    assert len(heads) > 1
    told = " ".join(heads)
    for heading in (
        "finish s",
        "P99 latency ms",
        "Little's law ms",
        "HTTP error",
        "overhead ns/op",
    ):
        assert told.count(heading) == 1
    assert ("P90 latency ms" in told) == ("P95 latency ms" in told) == (width == 120)
    assert "2.00–4.00" in printed(study, width)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=20), st.integers(0, 50), st.integers(20, 120)
)
def test_no_column_is_lost_and_no_table_too_wide(
    widths: list[int], leading: int, room: int
) -> None:
    tables = packed(widths, leading, room)
    assert [place for table in tables for place in table] == list(range(len(widths)))
    for table in tables:
        wide = leading + sum(widths[place] + GAP for place in table)
        assert wide <= room or len(table) == 1


def test_markdown_and_csv_have_every_figure_with_its_unit(study: Journal) -> None:
    rows = summary(StudyResults.of(study))
    assert rows["finish_s"].tolist() == pytest.approx([3, 3])
    assert rows["finish_s_low"].tolist() == pytest.approx([2, 2])
    assert rows["latency_p99_ms"].tolist() == pytest.approx([134.5, 134.5], rel=5e-3)
    assert rows["own_littles_law_ms"].tolist() == pytest.approx([210, 210])
    assert rows["own_overhead_ns_per_op"].tolist() == pytest.approx([840, 840])
    assert rows["own_timeout_total"].tolist() == [3, 6]
    text = markdown(StudyResults.of(study))
    head = next(line for line in text.splitlines() if line.startswith("| curve"))
    for heading in (
        "finish s",
        "mean latency ms",
        "P99 latency ms",
        "Little's law ms",
        "client error",
    ):
        assert f"| {heading} |" in head


@pytest.mark.parametrize(
    ("name", "what", "unit", "count"),
    [
        ("settle_max_s", "settle max", "s", False),
        ("overhead_ns_per_op", "overhead", "ns/op", False),
        ("ns_per_task", "", "ns/task", False),
        ("littles_law_s", "Little's law", "s", False),
        ("http_error_total", "HTTP error", "", True),
        ("waited_total_s", "waited", "s", False),
        ("wakeups_per_s", "wakeups", "/s", False),
        ("held_bytes", "held", "B", False),
        ("depth", "depth", "", False),
        ("s", "", "s", False),
    ],
)
def test_a_name_is_read(name: str, what: str, unit: str, count: bool) -> None:
    assert (readable(name), unit_of(name), is_count(name)) == (what, unit, count)


def test_a_figure_that_some_curves_lack_is_blank_there(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        return finite(
            took_s, figures=lambda r: {"held_bytes": 2**21} if r.cell.arm == "3.14" else {}
        )(run)

    made = Made(arms=("3.14", "3.14t"), workers=(1,))
    study = studied(tmp_path, made, change)
    assert summary(StudyResults.of(study))["own_held_mib"].tolist() == [
        2,
        pytest.approx(math.nan, nan_ok=True),
    ]
    assert "held MiB" in printed(study, 80)


def test_a_workload_s_figure_takes_no_other_s_place(tmp_path: Path) -> None:
    change = finite(took_s, figures=lambda _: {"speedup": 77.0, "runs": 78.0})
    study = studied(tmp_path, Made(workers=(1,)), change)
    (row,) = summary(StudyResults.of(study)).to_dict("records")
    assert (row["speedup"], row["runs"]) == (1, 3)
    assert (row["own_speedup"], row["own_runs"]) == (77, 78)


def test_an_invalid_run_is_in_none_of_them(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        done = finite(took_s, figures=lambda r: {"depth": float(r.block)})(run)
        return with_(done, disturbance__throttled_s=0.5) if run.block == 2 else done

    study = studied(tmp_path, Made(workers=(1,)), change)
    ((point,),) = (curve.points for curve in curves(study.frame))
    finish, depth = point.figures["finish_s"], point.own["depth"]
    assert (finish.high, depth.high, depth.n) == (3, 1, 2)
