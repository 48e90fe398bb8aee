"""The host of N workers: starts them, opens one window for all, gathers one record.

Workers whose work is finite are released at one instant instead, and take as long as they take.
The host only waits while they are measured; whatever it does then costs the loops nothing.
"""

import contextlib
import dataclasses
import math
import os
import time
from typing import Any

from workers.cell import SCHEMA, Cell, CellError
from workers.host.channel import Channel, Message, line_pair, receive_from_all
from workers.host.models import MODELS, refusal
from workers.host.observer import Observer
from workers.host.schedule import schedule
from workers.readback.gil import GilWatch
from workers.readback.process import Readback
from workers.worker.session import GRACE_S, failure_of, load

LEAD_S = 0.02  # from publishing an instant to the instant itself: every loop must hear of it
# Beyond what a phase takes by itself; a worker silent for longer is hung. Finite work has no limit
# of ours: how long it may take is for the driver to say.
LIMIT_S = 60.0
CLOSING_S = 2 * GRACE_S  # for a teardown, which has its own limit, and a loop


class WorkerFailedError(Exception):
    """A worker said that it failed; carries what it said."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(failure["error"])
        self.failure = failure


class Host:
    """Measures one cell, once."""

    def __init__(self, cell: Cell, readback: Readback, started_ns: int) -> None:
        self._cell = cell
        self._crew = MODELS[cell.model]()
        self._readback = readback
        self._observer = Observer(cell.observer_fd)
        self._instants_ns = {"started": started_ns}
        self._lines: list[Channel] = []
        self._finite = False
        self._phase = "import"

    def measure(self) -> dict[str, Any]:
        """Run the cell and return the record; a failure is an outcome, not an exception."""
        try:
            reports = self._run()
        except WorkerFailedError as error:
            self._crew.end(stacks=False)
            return self._record(failure=error.failure)
        except BrokenPipeError:  # the driver is gone: there is nobody to tell
            self._crew.end(stacks=False)
            raise
        except Exception as error:
            self._crew.end(stacks=isinstance(error, TimeoutError))
            return self._record(failure=failure_of(error, self._phase, None))
        finally:
            for channel in self._lines:  # a worker that still waits for an order ends itself
                channel.close()
            self._observer.close()
        return self._record(reports=reports)

    def _run(self) -> list[Message]:
        cell = self._cell
        if cell.model == "threads":  # the workers find everything imported, one after the other
            load(cell)
        self._readback.imported(collect=cell.gc, switches=cell.switches)
        descriptors = []
        for _ in range(cell.workers):
            channel, theirs = line_pair()
            self._lines.append(channel)
            descriptors.append(theirs.detach())
        pids = [os.getpid(), *self._crew.start(descriptors)]
        for index, channel in enumerate(self._lines):
            channel.send({"cell": dataclasses.asdict(cell), "index": index})
        self._finite = self._await("imported")[0]["finite"]  # as the workload is, which is one
        self._observer.phase("imported", pids)
        self._order({"do": "begin"})
        self._phase = "setup"
        self._await("ready", 0.0 if self._finite else cell.warmup_s)
        self._readback.opened()
        self._instants_ns |= self._work() if self._finite else self._window()
        self._readback.closed()
        self._observer.phase("closed", pids)
        self._phase = "stop"
        self._order({"do": "stop"})
        reports = [message["report"] for message in self._await("report")]
        self._phase = "closing"
        return self._close(reports)

    def _window(self) -> dict[str, int]:
        """Open one window for all and wait until it has closed; return when it did both."""
        self._phase = "window"
        instants_ns = schedule(_soon_ns(), self._cell.window_s, self._cell.ticks)
        self._order({"do": "measure", "instants_ns": instants_ns})
        self._await("measured", self._cell.window_s)
        return {"opened": instants_ns[0], "closed": instants_ns[-1]}

    def _work(self) -> dict[str, int]:
        """Release all and wait until the last is done; return the release and the last finish."""
        self._phase = "work"
        released_ns = _soon_ns()
        self._order({"do": "work", "released_ns": released_ns})
        finished = self._await("measured", math.inf)
        return {"opened": released_ns, "closed": max(each["finished_ns"] for each in finished)}

    def _close(self, reports: list[Message]) -> list[Message]:
        """Wait for the workers to be gone; add what is known then. The figures are complete."""
        closed = self._hear(CLOSING_S, all_of_them=False)
        self._instants_ns["report"] = time.monotonic_ns()
        self._crew.join(GRACE_S if len(closed) == len(self._lines) else 0.0)
        left: Message = {"pending_tasks": 0, "hung": True}
        return [
            report | (closed[channel]["report"] | {"hung": False} if channel in closed else left)
            for channel, report in zip(self._lines, reports, strict=True)
        ]

    def _order(self, order: Message) -> None:
        for channel in self._lines:
            # A worker that is gone has left its last words behind: the next `_await` reads them.
            with contextlib.suppress(BrokenPipeError):
                channel.send(order)

    def _await(self, expected: str, takes_s: float = 0.0) -> list[Message]:
        """Wait for one message from each worker; note the instant at which the last has come."""
        heard = self._hear(takes_s + LIMIT_S)
        self._instants_ns[expected] = time.monotonic_ns()
        return [heard[channel] for channel in self._lines]

    def _hear(self, limit_s: float, *, all_of_them: bool = True) -> dict[Channel, Message]:
        watched = self._observer.descriptor
        heard = receive_from_all(self._lines, limit_s, watched, all_of_them=all_of_them)
        for message in heard.values():
            if message["is"] == "failed":
                raise WorkerFailedError(message["failure"])
        return heard

    def _record(
        self,
        *,
        reports: list[Message] | None = None,
        failure: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        workers = reports or []
        first: Message = workers[0] if workers else {}
        shared = ("loop_class", "loop_version", "facts", "debug")
        process = self._readback.result(debug=bool(first.get("debug")))
        if self._cell.model == "interpreters":  # one allocator for the whole process
            for worker in workers:
                worker["process"]["allocator"] = process["allocator"]
        return {
            "schema": SCHEMA,
            "outcome": "failed" if failure else "measured",
            "finite": self._finite,
            "failure": failure,
            "process": process,
            "loop": {
                "name": self._cell.loop,
                "class": first.get("loop_class"),
                "version": first.get("loop_version"),
            },
            "facts": first.get("facts", {}),
            "instants_ns": self._instants_ns,
            "workers": [
                {key: value for key, value in worker.items() if key not in shared}
                for worker in workers
            ],
        }


def _soon_ns() -> int:
    return time.monotonic_ns() + round(LEAD_S * 1e9)


def measure(cell: Cell, started_ns: int) -> dict[str, Any]:
    """Measure one cell in this process; `started_ns` is when the process began (monotonic).

    Raises:
        CellError: this interpreter has no workers of that model.
        BrokenPipeError: the driver is gone.
    """
    reason = refusal(cell.model)
    if reason is not None:
        raise CellError(f"model: {reason}")
    watch = GilWatch()
    readback = Readback(watch)
    watch.install()
    return Host(cell, readback, started_ns).measure()
