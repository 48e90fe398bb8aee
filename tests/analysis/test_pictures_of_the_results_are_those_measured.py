"""Pictures and figures of the instrument itself are those of the data beside them: a server that
stopped, and two cells that take turns.
"""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from scaling.report.publish import names_in
from tests.benchmarks import turns_picture
from tests.benchmarks.alternation import MODELS
from tests.benchmarks.load_stall import TARGET
from tests.benchmarks.stall_picture import PUBLISHED, SHARES, draw
from tests.benchmarks.stalls import Stalls, measured_ms
from tests.benchmarks.turns_picture import Turns
from tests.support.children import ROOT
from tests.support.published import alike
from workers.services.load.tally import BEYOND

RESULTS = (ROOT / "results" / "findings" / "stalled-server.md").read_text(encoding="utf-8")
NAMES = re.compile(r'\bid="[^"]*"|href="#[^"]*"|url\(#[^)]*\)')  # made of digests of what they name
POINTS = 0.1


@pytest.fixture(scope="module")
def stalls() -> Stalls:
    return Stalls.read(PUBLISHED)


def drawn(folder: Path) -> str:
    (svg,) = draw(folder)
    return NAMES.sub("", svg.read_text(encoding="utf-8"))


def is_published(svg: str) -> bool:
    there = NAMES.sub("", (PUBLISHED / "stall.svg").read_text(encoding="utf-8"))
    return alike(svg, there, by=0.0, to=POINTS)


def test_the_picture_is_drawn_from_the_histograms(stalls: Stalls, tmp_path: Path) -> None:
    stalls.write(tmp_path)
    assert (tmp_path / "stall.json").read_bytes() == (PUBLISHED / "stall.json").read_bytes()
    assert is_published(drawn(tmp_path)), "`python -m tests.benchmarks.stall_picture` draws it"


def test_the_open_loop_is_what_was_predicted(stalls: Stalls) -> None:
    for q in (0.95, 0.99):
        found_ms = measured_ms(stalls.latency("open"), q)
        assert found_ms == pytest.approx(stalls.predicted_ms(q), rel=TARGET)


def test_the_tables_of_the_results_are_those_of_the_histograms(stalls: Stalls) -> None:
    predicted = [printed(stalls.predicted_ms(q)) for q in SHARES.values()]
    rows = {"predicted": predicted, "open loop": row(stalls, "open")}
    rows["closed loop"] = row(stalls, "closed")
    for name, cells in rows.items():
        assert f"| {' | '.join([name, *cells])} |" in RESULTS
    assert f"CPython {stalls.python} " in " ".join(RESULTS.split())
    closed = stalls.latency("closed")
    late = [run for run in stalls.closed for edge in run.value_ns if edge > 0.1e9]
    assert late == list(stalls.closed)  # one request in each run
    assert f"{len(stalls.closed)} of {closed.n:,} requests" in RESULTS


def row(stalls: Stalls, loop: str) -> list[str]:
    latency = stalls.latency(loop)
    return [
        printed(measured_ms(latency, q)) if latency.n * (1 - q) >= BEYOND - 1e-9 else "–"
        for q in SHARES.values()
    ]


def printed(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}"


def test_nothing_names_a_machine() -> None:
    for file in PUBLISHED.iterdir():
        assert list(names_in(file.read_text(encoding="utf-8"))) == [], file.name


@pytest.fixture(scope="module")
def turns() -> Turns:
    return Turns.read(turns_picture.PUBLISHED)


def test_the_picture_of_turns_shows_every_part_and_both_ratios(
    turns: Turns, tmp_path: Path
) -> None:
    turns.write(tmp_path)
    (svg,) = turns_picture.draw(tmp_path)
    shown = svg.read_text(encoding="utf-8")
    for way, cells in turns.ways.items():
        assert f"{turns.ratio(way):.3f}" in shown
        for model in MODELS:
            assert len(cells[model]) >= 8
    halved = {m: [(a, b, r / 2) for a, b, r in each] for m, each in turns.ways["in turn"].items()}
    replace(turns, ways={**turns.ways, "in turn": halved}).write(tmp_path)
    assert turns_picture.draw(tmp_path)[0].read_text(encoding="utf-8") != shown


def test_cells_never_work_at_the_same_time_and_only_those_in_turn_are_alive_together(
    turns: Turns,
) -> None:
    def overlap(way: str) -> bool:
        ends = [(cells[0][0], cells[-1][1]) for cells in turns.ways[way].values()]
        return max(start for start, _ in ends) < min(end for _, end in ends)

    for cells in turns.ways.values():
        spans = sorted((part[0], part[1]) for each in cells.values() for part in each)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert (overlap("one by one"), overlap("in turn")) == (False, True)
