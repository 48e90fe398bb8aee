"""The picture of two cells in turn is drawn from the ticks that are kept beside it."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.benchmarks.alternation import MODELS
from tests.benchmarks.turns_picture import PUBLISHED, Turns, draw


@pytest.fixture
def turns() -> Turns:
    return Turns.read(PUBLISHED)


def test_the_picture_shows_every_part_and_both_ratios(turns: Turns, tmp_path: Path) -> None:
    turns.write(tmp_path)
    (svg,) = draw(tmp_path)
    drawn = svg.read_text(encoding="utf-8")
    for way, cells in turns.ways.items():
        assert f"{turns.ratio(way):.3f}" in drawn
        for model in MODELS:
            assert len(cells[model]) >= 8
    halved = {m: [(a, b, r / 2) for a, b, r in each] for m, each in turns.ways["in turn"].items()}
    replace(turns, ways={**turns.ways, "in turn": halved}).write(tmp_path)
    assert draw(tmp_path)[0].read_text(encoding="utf-8") != drawn


def test_cells_in_turn_never_work_at_the_same_time(turns: Turns) -> None:
    for cells in turns.ways.values():
        spans = sorted((part[0], part[1]) for each in cells.values() for part in each)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_one_run_begins_when_the_other_has_ended_and_in_turn_it_does_not(turns: Turns) -> None:
    def overlap(way: str) -> bool:
        ends = [(cells[0][0], cells[-1][1]) for cells in turns.ways[way].values()]
        return max(start for start, _ in ends) < min(end for _, end in ends)

    assert (overlap("one by one"), overlap("in turn")) == (False, True)
