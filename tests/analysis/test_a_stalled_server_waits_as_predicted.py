"""The finding about a server that stands still says what was measured, and that is as predicted."""

import pytest

from tests.benchmarks.stall import TARGET, Stalls, read
from tests.support.children import ROOT
from workers.services.load.tally import BEYOND

FINDING = (ROOT / "results" / "findings" / "stalled-server.md").read_text(encoding="utf-8")
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


@pytest.fixture(scope="module")
def stalls() -> Stalls:
    return read(ROOT / "results" / "published" / "stall")


def test_the_open_loop_is_what_was_predicted(stalls: Stalls) -> None:
    for q in (0.95, 0.99):
        found_ms = stalls.latency("open").quantile_ms(q)
        assert found_ms == pytest.approx(stalls.predicted_ms(q), rel=TARGET)


def test_the_table_is_that_of_the_histograms(stalls: Stalls) -> None:
    predicted = [printed(stalls.predicted_ms(q)) for q in SHARES]
    rows = {"predicted": predicted, "open loop": row(stalls, "open")}
    rows["closed loop"] = row(stalls, "closed")
    for name, cells in rows.items():
        assert f"| {' | '.join([name, *cells])} |" in FINDING
    assert f"CPython {stalls.python} " in " ".join(FINDING.split())
    late = [run for run in stalls.closed for edge in run.value_ns if edge > 0.1e9]
    assert late == list(stalls.closed)  # one request in each run
    assert f"{len(stalls.closed)} of {stalls.latency('closed').n:,} requests" in FINDING


def row(stalls: Stalls, loop: str) -> list[str]:
    latency = stalls.latency(loop)
    return [
        printed(latency.quantile_ms(q) or 0.0) if latency.n * (1 - q) >= BEYOND - 1e-9 else "–"
        for q in SHARES
    ]


def printed(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}"
