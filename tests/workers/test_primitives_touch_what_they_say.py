"""Every row of `primitives` does its call as often as it counts, under every model."""

import ast
import inspect
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.children import each_case, measured
from workers.worker.workload import ParameterError, build, parameters_of
from workers.workloads import primitives
from workers.workloads.primitives import FEW_TURNS, ROWS, TURNS, UNROLLED, Primitives

CALLS: list[int] = []


def test_a_row_is_a_value_of_the_parameter() -> None:
    assert parameters_of(Primitives)["primitive"]["choices"] == [*ROWS]
    assert "nothing" in ROWS
    assert all(row.shares and row.turns in (TURNS, FEW_TURNS) for row in ROWS.values())
    with pytest.raises(ParameterError, match="expected one of nothing, log"):
        build(Primitives, {"primitive": "nonsense"})


def test_a_row_is_one_loop_of_one_statement() -> None:
    """So that a call is one operation: what comes before the loop is done once a callback."""
    functions = [
        each
        for each in ast.parse(inspect.getsource(primitives)).body
        if isinstance(each, ast.FunctionDef) and each.decorator_list
    ]
    assert len(functions) == len(ROWS)
    for function in functions:
        (loop,) = (each for each in function.body if isinstance(each, ast.For))
        assert len(loop.body) == 1, function.name


@pytest.mark.parametrize(
    ("name", "patched", "replacement"),
    [
        ("log", "LOG.debug", lambda *_: CALLS.append(1)),
        ("closure", "CLOSURE", lambda: CALLS.append(1)),
        ("method", "Common.method", lambda _: CALLS.append(1)),
        ("dataclass", "Point", lambda *_: CALLS.append(1)),
        ("json", "json.loads", lambda _: CALLS.append(1)),
        ("deepcopy", "deepcopy", lambda _: CALLS.append(1)),
        ("isinstance-abc", "isinstance", lambda *_: CALLS.append(1)),
    ],
)
def test_a_row_calls_what_it_names(
    name: str,
    patched: str,
    replacement: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    CALLS.clear()
    monkeypatch.setattr(f"{primitives.__name__}.{patched}", replacement, raising=False)
    ROWS[name].loop(2)
    assert len(CALLS) == 2 * UNROLLED


def test_what_is_shared_is_counted_for_each_reader() -> None:
    """Values that every thread touches must not be immortal: those have no reference count."""
    for shared in (primitives.COMMON, primitives.COMMON.value):
        before = sys.getrefcount(shared)
        more = [shared] * 10
        assert sys.getrefcount(shared) == before + 10
        del more


@pytest.mark.parametrize("name", ROWS)
def test_a_row_runs_in_two_threads(name: str) -> None:
    with ThreadPoolExecutor(2) as both:
        assert [*both.map(ROWS[name].loop, [ROWS[name].turns] * 2)] == [None, None]


@pytest.mark.slow
@each_case(
    ("model", "name", "own_code"),  # rows of many turns, and of few
    [("threads", "attribute", True), ("threads", "json", False), ("interpreters", "json", False)],
)
def test_calls_are_counted_and_what_is_shared_is_recorded(
    model: str, name: str, own_code: bool
) -> None:
    cell = {"workload": "primitives", "workers": 2, "model": model, "own_code": own_code}
    record = measured({**cell, "parameters": {"primitive": name}})
    assert record.facts == {"shares": ROWS[name].shares}
    for worker in record.workers:
        assert model != "threads" or bool(worker.own_code) == own_code
        done = worker.ticks.operations[-1]
        assert done > 0
        assert done % (ROWS[name].turns * UNROLLED) == 0
        assert worker.ticks.errors[-1] == 0
