"""Background requests load the server and count; their latency is kept apart from the others'."""

import random
from itertools import cycle, repeat
from typing import Any

import pytest

from tests.support.simulated_load import SECOND_NS, Server, Span, simulate
from workers.services.load.arrivals import arrivals
from workers.services.load.options import parser, read_options
from workers.services.load.summary import printout
from workers.services.load.tally import Distribution

MS = 1_000_000
LIGHT_MS, HEAVY_MS = 1, 20
TWENTIETH = [0] * 19 + [1]  # positions: every twentieth request is the second of the list
COSTS_MS = [LIGHT_MS] * 19 + [HEAVY_MS]
NEVER: Span = (0, 0)


def mixed(rate: int | None, connections: int, *, stopped: Span = NEVER) -> dict[str, Any]:
    """Ten seconds of light requests with 5 % heavy ones in the background, one server."""
    server = Server((ms * MS for ms in cycle(COSTS_MS)), stopped)
    due_ns = None if rate is None else arrivals("constant", rate, 1)
    return simulate(due_ns, [server] * connections, 10, positions=cycle(TWENTIETH), background=[1])


def test_every_request_counts_and_only_the_others_are_timed() -> None:
    summary = mixed(100, 64)
    assert (summary["offered"], summary["completed"], summary["censored"]) == (1_000, 999, 1)
    assert summary["latency_ms"]["n"] == summary["service_ms"]["n"] == 950
    assert summary["background_ms"]["n"] == 50
    assert summary["slip_ms"]["n"] == 1_000
    assert summary["rate_per_s"] == pytest.approx(100, rel=0.01)


def test_light_requests_wait_behind_heavy_ones_and_the_heavy_ones_for_themselves() -> None:
    """Due every 10 ms, served one at a time: the two behind a heavy one wait 10 ms and 1 ms."""
    summary = mixed(100, 64)
    assert summary["latency_ms"]["max"] == pytest.approx(HEAVY_MS - 10 + LIGHT_MS, rel=0.005)
    assert summary["latency_ms"]["p50"] == pytest.approx(LIGHT_MS, rel=0.005)
    assert summary["background_ms"]["p50"] == pytest.approx(HEAVY_MS, rel=0.005)


@pytest.mark.parametrize("connections", [1, 64])
def test_what_is_unfinished_keeps_its_kind(connections: int) -> None:
    """The server stops for good: what waits, for it or for a connection, is light or heavy."""
    summary = mixed(100, connections, stopped=(5 * SECOND_NS, 100 * SECOND_NS))
    assert summary["latency_ms"]["n"] + summary["background_ms"]["n"] == 1_000
    assert summary["background_ms"]["n"] == 50
    assert summary["background_ms"]["max"] > 4_000
    (window,) = summary["windows"]
    assert window["offered"] == 1_000
    assert Distribution([window["background"]]).n == 50


def test_a_closed_loop_has_them_too() -> None:
    summary = mixed(None, 4)
    assert summary["latency_ms"]["n"] == pytest.approx(19 * summary["background_ms"]["n"], rel=0.1)


def test_the_summary_for_people_shows_them_where_there_are_any() -> None:
    assert "background " in printout(mixed(100, 4))
    plain = simulate(arrivals("constant", 100, 1), [Server(repeat(MS))] * 4, 10)
    assert "background" not in printout(plain)


def test_a_list_of_background_requests_alone_has_nothing_to_time(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text('{"path": "/heavy", "background": true}\n', encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        read_options(parser(), ["http://127.0.0.1:9", "--rate=1", f"--requests={file}"])
    assert ended.value.code == 2
    assert "there is no latency to measure" in capsys.readouterr().err


def test_which_requests_are_in_the_background_does_not_depend_on_the_server() -> None:
    """They are drawn in the order in which they are due, so every server gets the same ones."""

    def heavy(cost_ms: int, connections: int) -> int:
        draw = random.Random(7)
        positions = iter(lambda: int(draw.random() < 0.05), None)
        server = Server(repeat(cost_ms * MS))
        due_ns = arrivals("poisson", 200, 3)
        found = simulate(due_ns, [server] * connections, 10, positions=positions, background=[1])
        return int(found["background_ms"]["n"])

    assert heavy(1, 64) == heavy(1, 2) == heavy(30, 1) > 50
