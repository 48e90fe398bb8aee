"""Benchmarks divide records by their places: the order of turns, which is random, is not theirs."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tests.benchmarks import alternation

CELLS = [{"workload": f"{place}"} for place in range(8)]


def test_records_are_in_the_order_of_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = set()

    def in_turn(
        make: Callable[[ExitStack], Sequence[partial[Any]]], window_s: float
    ) -> tuple[list[SimpleNamespace], None]:
        made = [job.args[0] for job in make(ExitStack())]
        orders.add(tuple(each["workload"] for each in made))
        return [SimpleNamespace(outcome="measured", record=each) for each in made], None

    monkeypatch.setattr(alternation, "_run", lambda cell, *_, **__: cell)
    monkeypatch.setattr(alternation, "in_turn", in_turn)
    for _ in range(5):
        found: Sequence[Any] = alternation.records(CELLS, 0.1, in_turns=True)
        assert found == CELLS
    assert len(orders) > 1
