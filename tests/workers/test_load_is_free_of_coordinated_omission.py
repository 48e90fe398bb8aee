"""Open-loop latency is what queueing theory gives for the same arrivals; stalls are not hidden.

In virtual time, so figures are exact up to a bucket of a histogram (0.4 %). The summary adds up
all processes, times background requests apart, and says what is invalid.
"""

import random
from itertools import cycle, repeat
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.benchmarks.figure import Effort
from tests.benchmarks.queue import run
from tests.support.simulated_load import SECOND_NS, Server, simulate
from workers.services.load.options import parser, read_options
from workers.services.load.part import arrivals
from workers.services.load.summary import printout, summarize
from workers.services.load.tally import Distribution, Tally
from workers.worker.handle import Histogram

pytestmark = pytest.mark.one_build

MS = 1_000_000
BUCKET = 0.005


def quantile_ms(summary: dict[str, Any], q: float) -> float:
    """A percentile whatever the number of samples."""
    (window,) = summary["windows"]
    found = Distribution([window["latency"], window["censored"]]).quantile_ms(q)
    assert found is not None
    return found


def lindley_ms(due_ns: list[int], service_ns: list[int]) -> NDArray[np.float64]:
    """Time in a single-server queue: W(n+1) = max(0, W(n) + S(n) − A(n))."""
    waits = [0]
    for n in range(len(due_ns) - 1):
        waits.append(max(0, waits[n] + service_ns[n] - (due_ns[n + 1] - due_ns[n])))
    return np.add(waits, service_ns) / float(MS)


@pytest.mark.parametrize(("load", "connections"), [(0.9, 64), (0.7, 4)])
def test_latency_of_a_single_server_is_that_of_the_lindley_recursion(
    load: float, connections: int
) -> None:
    seconds, rate = 60, load / 0.002
    shape = random.Random(3).gammavariate
    service_ns = [round(shape(4, 0.5 * MS)) for _ in range(int(rate * seconds * 1.2))]
    due = until(seconds, rate)
    server = Server(iter(service_ns))
    summary = simulate(arrivals("poisson", rate, 5), [server] * connections, seconds)
    expected = lindley_ms(due, service_ns[: len(due)])
    assert summary["offered"] == len(due)
    assert summary["latency_ms"]["mean"] == pytest.approx(expected.mean(), rel=BUCKET)
    for q in (0.5, 0.9, 0.99):
        exact = np.percentile(expected, 100 * q, method="inverted_cdf")
        assert quantile_ms(summary, q) == pytest.approx(exact, rel=BUCKET)
    assert summary["slip_ms"]["max"] == 0
    assert summary["invalid"] == []


def until(seconds: int, rate: float) -> list[int]:
    due: list[int] = []
    for each in arrivals("poisson", rate, 5):
        if each >= seconds * SECOND_NS:
            return due
        due.append(each)
    raise AssertionError


@pytest.mark.parametrize(("rate", "service_ms"), [(20, 35), (500, 0.8)])
def test_a_server_stopped_for_a_second_delays_as_many_requests_as_it_must(
    rate: int, service_ms: float
) -> None:
    """Stopped 1 s of 10: a fraction f = 0.1 / (1 − ρ) waits, evenly from 0 to 1 s."""
    opened, closed = (
        Server(repeat(int(service_ms * MS)), (4 * SECOND_NS, 5 * SECOND_NS)) for _ in range(2)
    )
    summary = simulate(arrivals("constant", rate, 1), [opened] * 64, 10)
    affected = 0.1 / (1 - rate * service_ms / 1_000)
    for q in (0.95, 0.99):
        expected_ms = 1_000 * (1 - (1 - q) / affected)
        step_ms = 1_000 / rate  # requests are that far apart
        assert quantile_ms(summary, q) == pytest.approx(
            expected_ms, abs=step_ms + service_ms, rel=BUCKET
        )
    hidden = simulate(None, [closed], 10)  # by a closed loop
    assert quantile_ms(hidden, 0.99) == pytest.approx(service_ms, rel=BUCKET)
    assert hidden["latency_ms"]["max"] > 900


def test_requests_of_a_connection_that_hangs_go_to_the_others() -> None:
    """One of four never answers: it holds one request, and delays no other."""
    servers = [Server(repeat(2 * MS)) for _ in range(3)]
    summary = simulate(arrivals("constant", 100, 1), [None, *servers], 10)
    assert summary["censored"] == 1
    assert summary["completed"] == summary["offered"] - 1 > 900
    assert quantile_ms(summary, 0.99) < 10


def test_requests_unfinished_at_the_end_keep_the_latency_they_have() -> None:
    """The server stops for good at 5 s of 10: half are unfinished, and half of those wait 2.5 s."""
    server = Server(repeat(1 * MS), (5 * SECOND_NS, 100 * SECOND_NS))
    summary = simulate(arrivals("constant", 100, 1), [server] * 8, 10)
    assert (summary["offered"], summary["completed"], summary["censored"]) == (1_000, 500, 500)
    assert summary["latency_ms"]["n"] == 1_000
    assert summary["service_ms"]["n"] == 500
    assert quantile_ms(summary, 0.75) == pytest.approx(2_500, abs=11, rel=BUCKET)
    assert summary["latency_ms"]["max"] == pytest.approx(5_000, rel=BUCKET)


def test_a_server_that_falls_behind_is_measured() -> None:
    """Twice what it can do: after 10 s the backlog is 5 s long, and so is the longest wait."""
    summary = simulate(arrivals("constant", 1_000, 1), [Server(repeat(2 * MS))] * 4, 10)
    assert summary["invalid"] == []
    assert summary["rate_per_s"] == pytest.approx(500, rel=0.01)
    assert summary["censored"] == pytest.approx(5_000, abs=10)
    assert summary["latency_ms"]["max"] == pytest.approx(5_000, rel=BUCKET)
    assert "the server fell behind" in printout(summary)


@pytest.mark.slow
@pytest.mark.measures  # on a busy machine the generator reads an answer late, which no server logs
def test_latency_is_what_a_real_server_logged_since_each_request_was_due() -> None:
    """Whatever delays sending or serving is in both. A pause of the machine while an answer is read
    is in one of them, so the nearest of several runs counts: what omits requests does so in all.
    """

    def differ_by(seed: int) -> float:
        found = run(Effort(window_s=0.5), load=0.7, seed=seed)
        return float(abs(found.measured / found.logged - 1.0).max())

    assert any(differ_by(seed) < 0.05 for seed in range(1, 6))


@pytest.mark.parametrize("connections", [64, 1])
def test_a_stopped_generator_shows_in_the_slip_and_makes_the_result_invalid(
    connections: int,
) -> None:
    """Stopped 1 s of 10: a tenth of all requests slip, also where every connection is busy."""
    stopped = (4 * SECOND_NS, 5 * SECOND_NS)
    busy_ms = 9 if connections == 1 else 1
    server = Server(repeat(busy_ms * MS))
    summary = simulate(arrivals("constant", 100, 1), [server] * connections, 10, stopped=stopped)
    slip = summary["slip_ms"]
    assert slip["n"] == summary["offered"] == 1_000
    assert slip["max"] == pytest.approx(1_000, abs=busy_ms, rel=0.02)
    assert slip["p90"] is not None
    assert slip["p95"] == pytest.approx(500, abs=11, rel=BUCKET)
    assert "the generator was late" in summary["invalid"][0]


LIGHT_MS, HEAVY_MS = 1, 20


def mixed(rate: int | None, connections: int) -> dict[str, Any]:
    """Ten seconds of light requests, of which every twentieth is a heavy one in the background."""
    costs_ms, positions = [LIGHT_MS] * 19 + [HEAVY_MS], [0] * 19 + [1]
    server = Server(ms * MS for ms in cycle(costs_ms))
    due_ns = None if rate is None else arrivals("constant", rate, 1)
    return simulate(due_ns, [server] * connections, 10, positions=cycle(positions), background=[1])


def test_every_request_counts_and_only_the_others_are_timed() -> None:
    """Due every 10 ms, served one at a time: the two behind a heavy one wait 10 ms and 1 ms."""
    summary = mixed(100, 64)
    assert (summary["offered"], summary["completed"], summary["censored"]) == (1_000, 999, 1)
    latency, background = summary["latency_ms"], summary["background_ms"]
    assert latency["n"] == summary["service_ms"]["n"] == 950
    assert (background["n"], summary["slip_ms"]["n"]) == (50, 1_000)
    assert summary["rate_per_s"] == pytest.approx(100, rel=0.01)
    assert latency["max"] == pytest.approx(HEAVY_MS - 10 + LIGHT_MS, rel=BUCKET)
    assert latency["p50"] == pytest.approx(LIGHT_MS, rel=BUCKET)
    assert background["p50"] == pytest.approx(HEAVY_MS, rel=BUCKET)
    assert "background " in printout(summary)
    closed = mixed(None, 4)
    assert closed["latency_ms"]["n"] == pytest.approx(19 * closed["background_ms"]["n"], rel=0.1)


def test_a_list_of_background_requests_alone_has_nothing_to_time(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text('{"path": "/heavy", "background": true}\n', encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        read_options(parser(), ["http://127.0.0.1:9", "--rate=1", f"--requests={file}"])
    assert ended.value.code == 2
    assert "there is no latency to measure" in capsys.readouterr().err


def histogram(values_ms: list[float]) -> Any:
    made = Histogram()
    for value in values_ms:
        made.record(round(value * MS))
    return made.document()


def a_report(
    latency_ms: list[float],
    slip_ms: list[float],
    *,
    censored_ms: list[float] | None = None,
    errors: dict[str, int] | None = None,
    busy: float = 0.1,
    timer: str | None = "timerfd",
) -> dict[str, Any]:
    window = {
        "offered": len(latency_ms) + len(censored_ms or []) + sum((errors or {}).values()),
        "completed": len(latency_ms),
        "received": len(latency_ms),
        "errors": errors or {},
        "declined": {},
        "latency": histogram(latency_ms),
        "service": histogram(latency_ms),
        "first_byte": histogram(latency_ms),
        "slip": histogram(slip_ms),
        "censored": histogram(censored_ms or []),
    }
    return {
        "answered": len(latency_ms),
        "windows": [window],
        "busy_fraction": busy,
        "cpu_s": busy,
        "timer": timer,
        "python": "3.14.7",
        "gil": True,
        "loop": "uvloop",
        "slice_ns": 100_000,
    }


def summed(*reports: dict[str, Any]) -> dict[str, Any]:
    return summarize(reports, [0, 10_000 * MS], histograms=True)


def test_answers_count_in_the_part_in_which_they_come() -> None:
    tally = Tally([100, 200, 300])
    for sent_ns in range(0, 300, 50):  # two are in flight at any time
        tally.settle(tally.take(sent_ns), sent_ns, sent_ns, sent_ns + 100, "")
    assert [window.received for window in tally.windows] == [2, 2]
    assert [window.completed for window in tally.windows] == [2, 0]  # of those due in it
    assert tally.answered == 4
    assert Tally([0, 10, 20, 30]).take(25).closes_ns == 30  # nothing was due before


def test_latency_and_first_byte_are_from_the_due_time_and_service_is_from_the_send() -> None:
    tally = Tally([0, 100])
    tally.settle(tally.take(0), 0, 60, 90, "", first_ns=70)
    (window,) = tally.windows
    found = [getattr(window, name).document() for name in ("latency", "first_byte", "service")]
    assert [each["value_ns"] for each in found] == [[90], [70], [30]]


@pytest.mark.parametrize(
    ("name", "least"), [("p50", 40), ("p90", 200), ("p95", 400), ("p99", 2_000), ("p999", 20_000)]
)
def test_a_percentile_needs_twenty_samples_beyond_it(name: str, least: int) -> None:
    for count, given in ((least, True), (least - 1, False)):
        figures = Distribution([histogram([5.0] * count)]).figures()
        assert (figures[name] is not None) is given


def test_processes_are_added_up_and_the_busiest_counts() -> None:
    one = a_report([1.0] * 50, [0.0] * 53, errors={"status": 2}, censored_ms=[9.0], busy=0.1)
    other = a_report([3.0] * 50, [0.0] * 51, errors={"status": 1, "reset": 1}, busy=0.6)
    found = summed(one, other)
    assert (found["offered"], found["completed"], found["censored"]) == (105, 100, 1)
    assert found["errors"] == {"reset": 1, "status": 3}
    assert found["rate_per_s"] == 10
    assert found["busy_fraction"] == 0.6
    assert found["latency_ms"]["n"] == 101
    assert found["latency_ms"]["max"] == pytest.approx(9, rel=0.004)  # of the unfinished one
    assert found["service_ms"]["max"] == pytest.approx(3, rel=0.004)
    assert sum(found["windows"][0]["latency"]["count"]) == 100
    assert found["invalid"] == []


@pytest.mark.parametrize(
    ("slip_ms", "doubtful", "invalid"),
    [
        ([0.01] * 3_000, [], False),
        ([1.1] * 3_000, ["mean", "p50", "p90", "p95", "p99", "max"], True),
        ([0.0] * 2_900 + [1.2] * 100, ["p99", "max"], True),
        ([0.0] * 2_999 + [8.0], ["max"], False),
    ],
)
def test_slip_is_compared_with_the_same_figure_of_the_latency(
    slip_ms: list[float], doubtful: list[str], invalid: bool
) -> None:
    found = summed(a_report([10.0] * 3_000, slip_ms))
    assert found["doubtful"] == doubtful
    assert bool(found["invalid"]) is invalid
    assert ("INVALID: the generator was late" in printout(found)) is invalid


def test_a_busy_generator_is_invalid_in_the_open_loop_alone() -> None:
    assert "71% busy" in summed(a_report([1.0], [0.0], busy=0.71))["invalid"][0]
    assert summed(a_report([1.0], [0.0], busy=0.69))["invalid"] == []
    assert summed(a_report([1.0], [], busy=0.99, timer=None))["invalid"] == []


def test_no_answer_at_all_is_invalid() -> None:
    found = summed(a_report([], [0.0] * 5, errors={"timeout": 5}))
    assert found["invalid"] == ["no request was answered"]
    assert found["latency_ms"] == dict.fromkeys(found["latency_ms"], None) | {"n": 0}
    assert "5 failed: no answer in time" in printout(found)
