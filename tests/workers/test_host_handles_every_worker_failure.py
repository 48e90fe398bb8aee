"""Whatever a worker does or fails to do, and when, the host records it: scripted over socket pairs.

No worker runs: a thread at the other end of each channel plays one. That the workers of each model
really fail in these ways is tested with `test_workload_failures_are_recorded.py`.
"""

import contextlib
import math
import select
import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from tests.support.waiting import wait_until
from workers.cell import Cell
from workers.channel import Channel, ChannelClosedError, Message, receive_from_all
from workers.host import hosting
from workers.host.hosting import Host
from workers.host.models import MODELS
from workers.readback.process import Readback
from workers.worker.session import run_workers

pytestmark = pytest.mark.one_build

FAILURE = {"phase": "wherever", "worker": 1, "error": "LookupError: no luck", "traceback": "…"}

type Script = Sequence[tuple[str, Message]]
type Play = Callable[[Channel], None]

# What a worker sends, and the phase in which the host then waits for it.
WINDOWED: Script = (
    ("import", {"is": "imported", "finite": False, "served": None, "settle_s": 0.02}),
    ("setup", {"is": "ready", "thread": [1, 1]}),
    ("window", {"is": "measured"}),
    ("stop", {"is": "report", "report": {"index": 1}}),
    ("closing", {"is": "closed", "report": {"pending_tasks": 0}}),
)
FINITE: Script = (
    ("import", {"is": "imported", "finite": True, "served": None, "settle_s": 0.02}),
    ("setup", {"is": "ready", "thread": [1, 1]}),
    ("work", {"is": "measured", "finished_ns": 7}),
    *WINDOWED[3:],
)
PHASES = [(script, phase) for script in (WINDOWED, FINITE) for phase, _ in script]
EACH_PHASE = pytest.mark.parametrize(
    ("script", "phase"),
    PHASES,
    ids=[f"{'finite' if script is FINITE else 'windowed'}-{phase}" for script, phase in PHASES],
)


class Stage:
    """A pool whose workers are threads of this process; each plays its part on its channel."""

    def __init__(self, plays: Sequence[Play], over: threading.Event) -> None:
        self._plays = plays
        self._over = over
        self._threads: list[threading.Thread] = []
        self.ended_with_stacks: bool | None = None

    def prepare(self, *_: object) -> None: ...

    def start(self, descriptors: list[int]) -> list[int]:
        for play, descriptor in zip(self._plays, descriptors, strict=True):
            channel = Channel(socket.socket(fileno=descriptor))
            thread = threading.Thread(target=self._run, args=(play, channel))
            thread.start()
            self._threads.append(thread)
        return []

    @staticmethod
    def _run(play: Play, channel: Channel) -> None:
        with contextlib.closing(channel), contextlib.suppress(ConnectionError):
            play(channel)  # until the host closes its end, as a worker does

    def join(self, limit_s: float) -> None:
        del limit_s

    def end(self, *, stacks: bool) -> None:
        self.ended_with_stacks = stacks
        self._over.set()

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()


class NoReadback:
    """Stands in for the readback, which would change the collector of this process."""

    def imported(self, **_: object) -> None: ...

    def opened(self) -> None: ...

    def closed(self) -> None: ...

    def result(self, **_: object) -> dict[str, Any]:
        return {}


def sends(channel: Channel, script: Script, until: str = "") -> None:
    """Send a script up to phase `until`, each message once the order before it has arrived."""
    for phase, message in script:
        if phase != "closing":  # which follows on the report
            channel.receive()
        if phase == until:
            break
        channel.send(message)


def plays(script: Script, until: str = "", last: Message | None = None) -> Play:
    """Send a script up to phase `until`, then `last`; then go away."""

    def play(channel: Channel) -> None:
        sends(channel, script, until)
        if last is not None:
            channel.send(last)

    return play


def falls_silent(
    script: Script, phase: str, until: threading.Event, silent: threading.Event | None = None
) -> Play:
    """Send a script up to `phase`, set `silent`, then send nothing until the event."""

    def play(channel: Channel) -> None:
        sends(channel, script, phase)
        if silent:
            silent.set()
        until.wait()

    return play


SHORT_S = 0.3  # to read what has been sent: a busy machine may take a tenth of a second


def impatient_from(monkeypatch: pytest.MonkeyPatch, silent: threading.Event) -> None:
    """The host waits for hardly any time once the last worker is silent and all others have sent.

    Until then it waits for as long as a machine takes to let them.
    """

    def receive(
        channels: Sequence[Channel], limit_s: float, driver: int | None, *, need_all: bool
    ) -> dict[Channel, Message]:
        *others, last = channels
        wait_until(lambda: all(map(has_sent, others)) and (silent.is_set() or has_sent(last)))
        return receive_from_all(
            channels, SHORT_S if silent.is_set() else limit_s, driver, need_all=need_all
        )

    monkeypatch.setattr(hosting, "receive_from_all", receive)


def has_sent(channel: Channel) -> bool:
    return channel.has_message or bool(select.select([channel], [], [], 0)[0])


def hosted(
    monkeypatch: pytest.MonkeyPatch,
    *parts: Play,
    observer_fd: int | None = None,
    over: threading.Event | None = None,
) -> tuple[dict[str, Any], Stage]:
    """The record of a cell whose workers play these parts, and the pool; its end sets `over`."""
    stage = Stage(parts, over or threading.Event())
    monkeypatch.setitem(MODELS, "processes", lambda: stage)
    cell = Cell(
        workload="compute",
        model="processes",
        workers=len(parts),
        warmup_s=0,
        window_s=0.001,
        ticks=1,
        observer_fd=observer_fd,
    )
    try:
        record = Host(cell, cast(Readback, NoReadback()), started_ns=0).measure()
    finally:
        stage.wait()
    return record, stage


@pytest.mark.parametrize(("script", "unlimited"), [(WINDOWED, []), (FINITE, ["work"])])
def test_a_run_without_failures_is_measured(
    monkeypatch: pytest.MonkeyPatch, script: Script, unlimited: list[str]
) -> None:
    """Only the driver limits how long finite work may take."""
    limits_s: list[float] = []

    def receive(
        channels: Sequence[Channel], limit_s: float, driver: int | None, *, need_all: bool
    ) -> dict[Channel, Message]:
        limits_s.append(limit_s)
        return receive_from_all(channels, limit_s, driver, need_all=need_all)

    monkeypatch.setattr(hosting, "receive_from_all", receive)
    record, stage = hosted(monkeypatch, plays(script))
    assert (record["outcome"], record["failure"]) == ("measured", None)
    assert [worker["hung"] for worker in record["workers"]] == [False]
    assert stage.ended_with_stacks is None
    without = [phase for (phase, _), s in zip(script, limits_s, strict=True) if s == math.inf]
    assert without == unlimited


@EACH_PHASE
@pytest.mark.parametrize("other_hangs", [False, True])
def test_a_failure_that_a_worker_reports_is_recorded(
    monkeypatch: pytest.MonkeyPatch, script: Script, phase: str, other_hangs: bool
) -> None:
    over = threading.Event()
    failing = plays(script, phase, {"is": "failed", "failure": FAILURE})
    other = falls_silent(script, phase, over) if other_hangs else plays(script)
    record, stage = hosted(monkeypatch, other, failing, over=over)
    assert (record["outcome"], record["failure"]) == ("failed", FAILURE)
    assert stage.ended_with_stacks is False


def test_a_failure_is_read_although_its_worker_can_be_sent_no_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Worker 0 fails and is gone before the other is ready and the schedule is sent."""
    gone = threading.Event()

    def early(channel: Channel) -> None:
        sends(channel, WINDOWED[:2])
        channel.send({"is": "failed", "failure": FAILURE})
        channel.close()
        gone.set()

    def late(channel: Channel) -> None:
        sends(channel, WINDOWED[:1])
        gone.wait()
        sends(channel, WINDOWED[1:])

    record, _ = hosted(monkeypatch, early, late)
    assert record["failure"] == FAILURE


@EACH_PHASE
def test_a_worker_that_goes_away_is_named(
    monkeypatch: pytest.MonkeyPatch, script: Script, phase: str
) -> None:
    record, stage = hosted(monkeypatch, plays(script), plays(script, phase))
    failure = record["failure"]
    assert failure["phase"] == phase
    assert failure["error"].startswith("ChannelClosedError: worker 1 ended without")
    assert stage.ended_with_stacks is False


@pytest.mark.parametrize("phase", ["import", "setup", "window", "stop"])
def test_a_silent_worker_is_given_up_with_its_stack(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    over, silent = threading.Event(), threading.Event()
    impatient_from(monkeypatch, silent)
    last = falls_silent(WINDOWED, phase, over, silent)
    record, stage = hosted(monkeypatch, plays(WINDOWED), last, over=over)
    assert record["failure"]["phase"] == phase
    assert record["failure"]["error"].startswith("TimeoutError: 1 of 2 workers sent nothing")
    assert stage.ended_with_stacks is True


def test_a_worker_that_hangs_while_closing_loses_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    over, silent = threading.Event(), threading.Event()
    impatient_from(monkeypatch, silent)
    monkeypatch.setattr(Stage, "join", lambda self, limit_s: over.set())
    last = falls_silent(WINDOWED, "closing", over, silent)
    record, _ = hosted(monkeypatch, plays(WINDOWED), last)
    assert record["outcome"] == "measured"
    assert [worker["hung"] for worker in record["workers"]] == [False, True]
    assert [worker["index"] for worker in record["workers"]] == [1, 1]


def test_without_a_driver_the_host_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, drivers = socket.socketpair()
    over = threading.Event()

    def driver() -> None:
        with drivers:
            drivers.recv(1 << 16)
            drivers.sendall(b"{}\n")  # the reply to "imported"; then it is gone

    threading.Thread(target=driver).start()
    silent = falls_silent(WINDOWED, "setup", over)
    with pytest.raises(BrokenPipeError, match="the driver is gone"):
        hosted(monkeypatch, silent, observer_fd=ours.detach(), over=over)


@pytest.mark.parametrize("count", [1, 2])
def test_a_worker_that_cannot_begin_says_why(count: int) -> None:
    pairs = [socket.socketpair() for _ in range(count)]
    ours = [Channel(one) for one, _ in pairs]
    for channel in ours:
        channel.send({"cell": {"nothing": "known"}, "index": 0})
    run_workers([other.detach() for _, other in pairs])
    for channel in ours:
        message = channel.receive()
        assert (message["is"], message["failure"]["phase"]) == ("failed", "start")
        assert message["failure"]["error"].startswith("TypeError: ")
        with pytest.raises(ChannelClosedError):
            channel.receive()
        channel.close()
