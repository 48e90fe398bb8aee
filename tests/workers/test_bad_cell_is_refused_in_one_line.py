"""A bad cell or a bad option gets exit code 2 and a message that says why."""

import re
from collections.abc import Callable

import pytest

from tests.support.children import ask, finish
from workers.cell import Cell, CellError, read_cell
from workers.loops import load_loop
from workers.worker import session
from workers.worker.workload import build, load_workload
from workers.workloads.echo import Echo
from workers.workloads.serve import Serve

pytestmark = pytest.mark.one_build


@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    ["rubbish", "[" * 200_000],
    ids=lambda text: text[:20],
)
def test_child_refuses(document: str) -> None:
    done = finish(document)
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("python -m workers: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workload": 7}, "workload: expected a name, got 7"),
        ({"workers": 0}, "workers: expected at least 1, got 0"),
        ({"workers": 1.5}, "workers: expected a whole number, got 1.5"),
        ({"ticks": None}, "ticks: expected a whole number, got None"),
        ({"window_s": 0}, "window_s: expected seconds above 0, got 0"),
        ({"window_s": float("nan")}, "window_s: expected seconds above 0, got nan"),
        ({"warmup_s": -0.1}, "warmup_s: expected seconds, 0 or more, got -0.1"),
        ({"gc": "no"}, "gc: expected true or false, got 'no'"),
        ({"parameters": []}, "parameters: expected an object, got []"),
        ({"loop": None}, "loop: expected a name, got None"),
        ({"in_flight": "8"}, "in_flight: expected a whole number or null, got '8'"),
        ({"in_flight": 1}, "in_flight: 1 is less than one for each of 2 workers"),
        ({"schema": 2}, "schema: this child reads 1, the cell has 2"),
        ({"wrokers": 2}, "unknown key 'wrokers' in the cell; known: "),
    ],
    ids=str,
)
def test_message_names_key_and_expectation(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(CellError) as refused:
        read_cell({"workload": "echo", "workers": 2} | wrong)
    assert str(refused.value).startswith(said)


def test_every_key_but_one_has_a_default() -> None:
    assert read_cell({"workload": "echo"}) == Cell("echo")
    documents: list[object] = [[], None, "echo", {}]
    for document in documents:
        with pytest.raises(CellError, match="a cell is a JSON object"):
            read_cell(document)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (lambda: load_workload("ehco"), "unknown workload 'ehco'; known: "),
        (lambda: load_workload("json:dumps"), "json has no workload 'dumps'"),
        (lambda: load_workload("no_such:Thing"), "No module named 'no_such'"),
        (lambda: load_loop("oloop"), "unknown loop 'oloop'; "),
        (lambda: build(Echo, {"connections": 0}), "Echo.connections: expected at least 1, got 0"),
        (
            lambda: build(Serve, {"connections": 10**6}),
            "Serve.connections: expected at most 100,000",
        ),
        (lambda: build(Echo, {"connections": "8"}), "Echo.connections: expected int, got '8'"),
        (
            lambda: build(Echo, {"api": "sockets"}),
            "Echo.api: expected one of protocol, buffered, streams, got 'sockets'",
        ),
    ],
)
def test_what_a_cell_names_and_is_not_there_is_named(
    asked: Callable[[], object], error: str
) -> None:
    with pytest.raises((ValueError, ImportError), match=f"^{re.escape(error)}"):
        asked()


@pytest.mark.slow
def test_the_run_of_such_a_cell_fails_whole_and_unknown_options_get_the_usage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = ask(["--describe", "--workload"], "")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python -m workers")
    assert done.stderr.count("\n") == 2  # one line for each use
    failure = finish({"workload": "echo", "parameters": {"conections": 8}}).failure
    assert failure.phase == "import"
    error = "ParameterError: Echo has no parameter 'conections'; it has: connections, "
    assert failure.error.startswith(error)
    says = "DriverError: a served workload needs a driver that loads it: scaling run"
    assert finish({"workload": "app"}).failure.error == says
    monkeypatch.setattr(session, "raise_limit", lambda: None)
    with pytest.raises(session.RefusedError, match="only inside one interpreter"):
        session.load(Cell("handoff", model="processes"))
