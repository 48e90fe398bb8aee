"""In an open loop throughput is what was asked for: no output takes it for a rate of the server."""

from dataclasses import replace
from pathlib import Path

import pytest

from scaling.analysis.between_studies import Across
from scaling.analysis.gate.checked import checked
from scaling.analysis.ratios import FELL_BEHIND
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import BLANK
from scaling.report.export.pyperf_suite import suite
from scaling.report.tables.across import across_chapters
from scaling.report.tables.grid import chapters_markdown
from scaling.study.load import is_open_loop
from scaling.study.questions import P99, THROUGHPUT
from tests.support.served import Served, studied

ONE = (("3.14t", "threads"),)
OPEN = Served(configurations=ONE, workers=(1, 2), rates=(500.0,), blocks=6, window_s=5.0)
BOTH = replace(OPEN, rates=(0.0, 500.0))


def two_studies(folder: Path, now: Served) -> tuple[Journal, Journal]:
    return studied(folder / "then", OPEN), studied(folder / "now", now)


def compared(then: Journal, now: Journal) -> Across:
    return Across(StudyResults.of(then), StudyResults.of(now))


def test_studies_are_compared_by_p99(tmp_path: Path) -> None:
    found = compared(*two_studies(tmp_path, replace(OPEN, speeds={ONE[0]: 1_400.0}, seed=2)))
    assert THROUGHPUT not in {each.measure for each in found.ratios}
    ratios = found.ratios.where(measure=P99)
    assert len(ratios) == 2
    for each in ratios:
        then, now = (s.points[each.of].figures[P99] for s in (found.then, found.now))
        assert each.point == pytest.approx(now.point / then.point, rel=0.05)
        assert each.point < 1
        assert each.verdict.word == "faster"
    text = chapters_markdown(across_chapters(found, "then", "now"))
    assert "P99 ms then" in text
    assert "requests/s then" not in text


def test_a_lower_bound_over_a_latency_is_slower_by_at_least_so_much(tmp_path: Path) -> None:
    """The policy of all ratios: what is known of a server that fell behind is not dropped."""
    found = compared(*two_studies(tmp_path, replace(OPEN, speeds={ONE[0]: 300.0})))
    one, _ = found.ratios.where(measure=P99)
    assert (one.n, one.verdict.word) == (6, "slower")
    back = Across(found.now, found.then).ratios.where(measure=P99)[0]
    assert (back.n, back.verdict.word) == (6, "faster")


def test_two_lower_bounds_have_no_ratio(tmp_path: Path) -> None:
    behind = [studied(tmp_path / n, replace(OPEN, speeds={ONE[0]: 300.0})) for n in ("a", "b")]
    found = compared(*behind)
    one, two = found.ratios.where(measure=P99)
    assert (one.n, two.n) == (0, 6)
    assert one.verdict.why == FELL_BEHIND
    text = chapters_markdown(across_chapters(found, "then", "now"))
    assert f"{BLANK} no ratio:" in text


def test_the_gate_checks_closed_loops_only(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, BOTH))
    assert not any(is_open_loop(each.parameters) for each in checked(results.blocks, {}))


def test_the_gate_says_why_there_is_nothing_to_check(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, OPEN))
    with pytest.raises(UsageError, match="open loops"):
        checked(results.blocks, {})


def test_pyperf_gets_closed_loops_only(tmp_path: Path) -> None:
    names = [
        each["metadata"]["parameters"] for each in suite(studied(tmp_path, BOTH))["benchmarks"]
    ]
    assert len(names) == 2
    assert all('"rate_per_s":0.0' in name for name in names)


def test_pyperf_gets_nothing_of_an_open_loop(tmp_path: Path) -> None:
    with pytest.raises(ScalingError, match="--to hdr"):
        suite(studied(tmp_path, OPEN))
