"""The host: starts N workers, gives all of them one window, and collects one record.

Workers with a finite workload get one release instant instead of a window, and take as long as
they need; in turn with others they get one for each round. While workers are measured the host only
waits, so it costs the loops nothing.
"""

import contextlib
import dataclasses
import math
import os
import socket
import time
from typing import Any

from workers.cell import SCHEMA, Cell, CellError, schedule
from workers.channel import Channel, DriverError, Message, Observer, receive_from_all
from workers.host.inbound import Inbound
from workers.host.models import MODELS, refusal
from workers.readback.gil import GilWatch
from workers.readback.process import Readback
from workers.worker.session import GRACE_S, failure_of

SAME_FOR_ALL = ("loop_version", "facts", "debug")  # in the record once, from worker 0
LEAD_S = 0.02  # between publishing an instant and the instant: every loop must have read it by then
# Until workers begin a slice: each must have its order by then. As long on every build and model,
# so that cells which take turns are handed over alike.
RESTING_S, RESTING_S_EACH = 0.002, 0.0002
MOST_SETTLE_S = 1.0  # for loops that are late because each callback takes long
LOAD_LEAD_S = 0.1  # more, for a load generator: it passes them on, and begins 30 ms later
# A worker that is silent for this much longer than a phase should take counts as hung. Finite work
# has no limit here: the driver decides how long it may take.
LIMIT_S = 60.0
CLOSING_S = 2 * GRACE_S  # a teardown, which has its own limit, plus closing the loop


class WorkerFailedError(Exception):
    """A worker reported a failure, which is in `failure`."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(failure["error"])
        self.failure = failure


class Host:
    """Measures one cell, once."""

    def __init__(self, cell: Cell, readback: Readback, started_ns: int) -> None:
        self._cell = cell
        self._pool = MODELS[cell.kind]()
        self._readback = readback
        self._observer = Observer(cell.observer_fd)
        self._instants_ns = {"started": started_ns}  # phases of the run, monotonic
        self._channels: list[Channel] = []
        self._threads: list[list[int]] = []  # process and thread of each worker, as it says
        self._finite = False
        self._settle_s = LEAD_S
        self._inbound: Inbound | None = None
        self._phase = "import"

    def measure(self) -> dict[str, Any]:
        """Run the cell and return the record; a failure is an outcome, not an exception.

        Raises:
            BrokenPipeError: the driver is gone.
        """
        reports: list[Message] = []
        failure = None
        try:
            reports = self._run()
        except WorkerFailedError as error:
            self._pool.end(stacks=False)
            failure = error.failure
        except BrokenPipeError:  # no driver is left to report to
            self._pool.end(stacks=False)
            raise
        except Exception as error:
            self._pool.end(stacks=isinstance(error, TimeoutError))
            failure = failure_of(error, self._phase, None)
        finally:
            for channel in self._channels:  # a worker that still waits for an order then ends
                channel.close()
            if self._inbound:
                self._inbound.close()
            self._observer.close()
        return self._record(reports, failure)

    def _record(self, reports: list[Message], failure: dict[str, Any] | None) -> dict[str, Any]:
        """Assemble the record: the JSON document that a run leaves, measured or failed.

        `reports` is empty when it failed.
        """
        cell = self._cell
        first: Message = reports[0] if reports else {}
        process = self._readback.result(debug=any(report.get("debug") for report in reports))
        if cell.model == "interpreters":  # one allocator for the whole process
            for report in reports:
                report["process"]["allocator"] = process["allocator"]
        return {
            "schema": SCHEMA,
            "outcome": "failed" if failure else "measured",
            "finite": self._finite,
            "failure": failure,
            "process": process,
            "loop": {
                "name": cell.loop,
                "class": first.get("loop_class"),
                "version": first.get("loop_version"),
            },
            "facts": first.get("facts", {}),
            "instants_ns": self._instants_ns,
            "workers": [
                {name: value for name, value in report.items() if name not in SAME_FOR_ALL}
                | {"thread": thread}
                for report, thread in zip(reports, numbered(self._threads), strict=False)
            ],
        }

    def _run(self) -> list[Message]:
        cell = self._cell
        self._pool.prepare(cell, self._readback)
        self._readback.imported(
            collect=cell.gc, switches=cell.switches, threshold=cell.gc_threshold
        )
        descriptors = []
        for _ in range(cell.workers):
            host_end, worker_end = socket.socketpair()
            self._channels.append(Channel(host_end))
            descriptors.append(worker_end.detach())
        pids = [os.getpid(), *self._pool.start(descriptors)]
        for index, channel in enumerate(self._channels):
            channel.send({"cell": dataclasses.asdict(cell), "index": index})
        workload = self._await("imported")[0]  # every worker has the same
        self._finite = workload["finite"]
        self._settle_s = max(LEAD_S, workload["settle_s"])
        self._observer.phase("imported", pids)
        self._begin(workload["served"])
        self._phase = "setup"
        ready = self._await("ready", 0.0 if self._finite else cell.warmup_s)
        self._threads = [each["thread"] for each in ready]
        self._observer.phase("ready", pids, threads=self._threads)
        if cell.alternating and self._finite:
            self._instants_ns |= self._rounds(pids, [each["parts"] for each in ready])
        elif cell.alternating:
            self._instants_ns |= self._slices(pids, workload["served"])
        else:
            self._readback.opened()
            if self._finite:
                self._instants_ns |= self._release(_soon_ns())
            else:
                self._instants_ns |= self._window(pids, workload["served"])
            self._readback.closed()
        self._observer.phase("closed", pids)
        self._phase = "stop"
        self._order({"do": "stop"})
        reports = [message["report"] for message in self._await("report")]
        self._phase = "closing"
        return self._close(reports)

    def _begin(self, served: Message | None) -> None:
        """Tell the workers to set up; those of a served workload get a socket each."""
        if served is None:
            self._order({"do": "begin"})
            return
        if self._observer.descriptor is None:
            raise DriverError("a served workload needs a driver that loads it: scaling run")
        self._inbound = inbound = Inbound(served["policy"], self._cell.workers)
        for index, channel in enumerate(self._channels):
            with contextlib.suppress(BrokenPipeError):  # as in `_order`
                order = {"do": "begin", "policy": inbound.policy}
                channel.send(order, [inbound.descriptor(index)])
        inbound.start()

    def _window(self, pids: list[int], served: Message | None) -> dict[str, int]:
        """Open one window for all workers and wait for its end; return both instants.

        The workers of a served workload answer already; the driver connects its load generator,
        then gets the instants, and the generator sends from the warm-up before them. It reads what
        services use from the first instant on.
        """
        opens_ns = _soon_ns()
        if self._cell.services:
            opens_ns = _soon_ns(LOAD_LEAD_S)
        if served:
            self._serving(pids, served)
            opens_ns = _soon_ns() + round((LOAD_LEAD_S + self._cell.warmup_s) * 1e9)
        instants_ns = schedule(opens_ns, self._cell.window_s, self._cell.ticks)
        if served or self._cell.services:
            self._observer.phase("load", pids, instants_ns=instants_ns)
        if served:
            self._readback.collections_from(instants_ns[0])  # not those of the warm-up
        self._phase = "window"
        self._order({"do": "measure", "instants_ns": instants_ns, "begins_ns": 0})
        self._await("measured", self._cell.window_s + (self._cell.warmup_s if served else 0.0))
        return {"opened": instants_ns[0], "closed": instants_ns[-1]}

    def _serving(self, pids: list[int], served: Message) -> None:
        """Ask the driver to connect its load generator: the workers answer."""
        self._phase = "load"
        if self._inbound:
            urls = [f"{served['scheme']}://{each}" for each in self._inbound.addresses]
            self._observer.phase("serving", pids, urls=urls, requests=served["requests"])

    def _slices(self, pids: list[int], served: Message | None) -> dict[str, int]:
        """Take a slice of the window whenever the driver gives the run a turn, until the last one.

        In between the driver stops all processes of the run, or the load of a served workload, so a
        slice opens once it has settled: with loops that were late for the last one, later. All
        workers begin at once: one that began earlier could keep the GIL from this thread, which
        still has to send orders to the others. Services of clients are not stopped; what they use
        is read in slices.
        """
        instants_ns: list[int] = []
        late_ns = 0
        settle_s = self._settle_s
        rests_s = RESTING_S + RESTING_S_EACH * self._cell.workers
        if served:
            self._serving(pids, served)
        while turn := self._observer.phase("turn", pids, late_ns=late_ns, served=bool(served)):
            if served or self._cell.services:
                self._observer.phase("resume", pids)
            begins_ns = _soon_ns(0.0 if served else rests_s)
            opens_ns = begins_ns + round((settle_s + turn["wait_s"]) * 1e9)
            slice_ns = schedule(opens_ns, turn["slice_s"], turn["parts"])
            if served or self._cell.services:
                self._observer.phase("load", pids, instants_ns=slice_ns)
            self._phase = "window"
            self._readback.opened(slice_ns[0])
            self._order({"do": "measure", "instants_ns": slice_ns, "begins_ns": begins_ns})
            taken = self._await("measured", turn["slice_s"])
            late_ns = max(each["late_ns"] for each in taken)
            opened_late_s = max(each["opened_late_ns"] for each in taken) / 1e9
            settle_s = max(self._settle_s, min(2 * opened_late_s, MOST_SETTLE_S))
            self._readback.closed()
            instants_ns += slice_ns
        return {"opened": instants_ns[0], "closed": instants_ns[-1]}

    def _rounds(self, pids: list[int], parts: list[int]) -> dict[str, int]:
        """Do a round of the work whenever the driver gives the run a turn, until all is done.

        The driver says which share of all `parts` of each worker is done then, and gets to know how
        long all of it takes at the rate so far. A round takes from its release to the last finish,
        as work that is done at once does.
        """
        opened_ns = closed_ns = 0
        done, took_s = [0 for _ in parts], 0.0
        facts: Message = {"finite": True, "served": False, "late_ns": 0, "work_s": 0.0}
        while turn := self._observer.phase("turn", pids, **facts):
            to_be_done = [round(turn["share_done"] * each) for each in parts]
            if to_be_done == done:
                continue
            released_ns = _soon_ns()
            self._readback.opened(released_ns)
            closed_ns = self._release(released_ns, turn["share_done"])["closed"]
            self._readback.closed()
            opened_ns = opened_ns or released_ns
            done, took_s = to_be_done, took_s + (closed_ns - released_ns) / 1e9
            facts["work_s"] = took_s * sum(parts) / sum(done)
        return {"opened": opened_ns, "closed": closed_ns}

    def _release(self, released_ns: int, share_done: float = 1.0) -> dict[str, int]:
        """Release all finite runs at one instant; return it, and when the last one finished.

        `share_done` is of all work, after it.
        """
        self._phase = "work"
        self._order({"do": "work", "released_ns": released_ns, "share_done": share_done})
        finished = self._await("measured", math.inf)
        return {"opened": released_ns, "closed": max(each["finished_ns"] for each in finished)}

    def _close(self, reports: list[Message]) -> list[Message]:
        """Wait for the workers to close; add to each report how that went.

        The figures are complete before, so a worker that hangs while it closes loses none.
        """
        closed = self._receive(CLOSING_S, need_all=False)
        self._instants_ns["report"] = time.monotonic_ns()
        self._pool.join(GRACE_S if len(closed) == len(self._channels) else 0.0)
        hung: Message = {"pending_tasks": 0, "hung": True}
        return [
            report | (closed[channel]["report"] | {"hung": False} if channel in closed else hung)
            for channel, report in zip(self._channels, reports, strict=True)
        ]

    def _order(self, order: Message) -> None:
        for channel in self._channels:
            # If a worker is gone, its failure is still in the channel: the next `_await` reads it.
            with contextlib.suppress(BrokenPipeError):
                channel.send(order)

    def _await(self, expected: str, takes_s: float = 0.0) -> list[Message]:
        """Wait for one message from each worker; note when the last one arrived."""
        messages = self._receive(takes_s + LIMIT_S)
        self._instants_ns[expected] = time.monotonic_ns()
        return [messages[channel] for channel in self._channels]

    def _receive(self, limit_s: float, *, need_all: bool = True) -> dict[Channel, Message]:
        driver = self._observer.descriptor
        messages = receive_from_all(self._channels, limit_s, driver, need_all=need_all)
        for message in messages.values():
            if message["is"] == "failed":
                raise WorkerFailedError(message["failure"])
        return messages


def numbered(threads: list[list[int]]) -> list[list[int]]:
    """The process and the thread of each worker by numbers from 0: `[[0, 0], [0, 1], [1, 0], …]`.

    `threads` has their identifiers. A record keeps none of these.
    """
    known: dict[int, dict[int, int]] = {}
    for process, thread in threads:
        own = known.setdefault(process, {})
        own.setdefault(thread, len(own))
    processes = list(known)
    return [[processes.index(process), known[process][thread]] for process, thread in threads]


def _soon_ns(lead_s: float = LEAD_S) -> int:
    return time.monotonic_ns() + round(lead_s * 1e9)


def measure(cell: Cell, started_ns: int) -> dict[str, Any]:
    """Measure one cell in this process; `started_ns` is when the process started (monotonic).

    Raises:
        CellError: this interpreter cannot run workers of that model.
        BrokenPipeError: the driver is gone.
    """
    reason = refusal(cell.kind)
    if reason is not None:
        raise CellError(f"model: {reason}")
    watch = GilWatch()
    readback = Readback(watch)
    watch.install()
    return Host(cell, readback, started_ns).measure()
