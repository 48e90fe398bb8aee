"""Measures one command, once: starts it, has it loaded, reads its CPU time, ends it."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from workers.cell import LOOPBACK, SCHEMA, Cell, schedule
from workers.channel import DriverError, Observer
from workers.host.hosting import LEAD_S, LOAD_LEAD_S
from workers.outside.notes import Noted
from workers.outside.readiness import NotReadyError, settle_s, wait_for_answer
from workers.outside.tree import CpuClock, Known, Reading, Window, end, family, has_work
from workers.system import ends_with_this_process, free_port, raise_limit
from workers.worker.session import RefusedError, failure_of
from workers.worker.workload import build, load_workload, reason_against
from workers.workloads.parts.applications import read_budgets, share_variables
from workers.workloads.parts.clients import service_variables
from workers.workloads.parts.commands import SERVERS, Hosted, arguments_of, command_line
from workers.workloads.parts.first_request import READY_S
from workers.workloads.parts.served import Served

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook")
WORDS_KEPT = 4_000  # bytes of what the command printed, from the end
LINE_MOST = 300  # letters of a line in a message
LOOK_S = 0.02
NO_LOOP = "none"
REST_S = 0.25  # gunicorn waits up to 0.1 s before it starts the next worker
REST_SHARE = 0.05  # of one CPU: servers look now and then whether there is work
REST_MOST_S = 10.0  # an application may be busy by itself


class CommandError(RuntimeError):
    """The command ended or did not do its part; the message is one line with its last words."""


class OutsideHost:
    """Measures one cell whose workers belong to a command."""

    def __init__(self, cell: Cell, folder: str) -> None:
        self._cell = cell
        self._folder = folder
        self._observer = Observer(cell.observer_fd)
        self._noted = Noted(folder)
        self._cpu = CpuClock()
        self._process: subprocess.Popen[bytes] | None = None
        self._processes: set[Known] = set()  # that it has or had
        self._at_rest: bool | None = None
        self._phase = "import"
        self._facts: dict[str, str] = {}
        self._instants_ns: dict[str, int] = {"started": time.monotonic_ns()}
        self._worker: dict[str, Any] | None = None
        self._opened_ns: dict[Known, int] = {}  # CPU time of each process as the window opened
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `measure`

    def measure(self) -> dict[str, Any]:
        """Run the cell and return the record; a failure is an outcome, not an exception.

        Raises:
            BrokenPipeError: the driver is gone.
        """
        failure = None
        try:
            self._run()
        except BrokenPipeError:
            raise
        except Exception as error:
            failure = failure_of(error, self._phase, None)
            sys.stderr.write(self._words())
        finally:
            if self._process:
                end(self._process, self._processes)
            self._printed.close()
            self._observer.close()
        return self._record(failure)

    def _run(self) -> None:
        cell = self._cell
        workload = build(load_workload(cell.workload), cell.parameters)
        if self._observer.descriptor is None:
            raise DriverError("a served workload needs a driver that loads it: scaling run")
        reason = reason_against(workload, cell.kind, cell.loop)
        if reason is not None:
            raise RefusedError(reason)
        workload.placed(cell, None)
        self._phase = "setup"
        if cell.in_flight is not None and workload.in_flight is not None:
            setattr(workload, workload.in_flight, cell.share(0))
        assert isinstance(workload, Served)  # as all of `APPLICATIONS`
        app = workload.hosted()
        self._facts = workload.facts()
        port = free_port()
        self._start(app, port)
        self._be_ready(app, port)
        self._observer.phase("imported", self._pids())
        self._phase = "load"
        self._observer.phase(
            "serving",
            self._pids(),
            urls=[f"http://{LOOPBACK}:{port}"],
            requests=workload.client_requests(),
        )
        self._under_load(workload.settle_s)
        self._phase = "stop"
        self._instants_ns["report"] = time.monotonic_ns()

    def _under_load(self, settle_s: float) -> None:
        """Measure the window, or the slices of the turns, while the driver's load is on."""
        cell, window = self._cell, Window()
        busy_from_ns = time.monotonic_ns()
        if cell.alternating:
            self._slices(window, max(LEAD_S, settle_s))
        else:
            opens_ns = time.monotonic_ns() + round((LOAD_LEAD_S + cell.warmup_s) * 1e9)
            instants_ns = schedule(opens_ns, cell.window_s, cell.ticks)
            self._observer.phase("load", self._pids(), instants_ns=instants_ns)
            self._measure(window, instants_ns)
        opened_ns, closed_ns = window.slices["opened_ns"], window.slices["closed_ns"]
        self._instants_ns |= {"opened": opened_ns[0], "closed": closed_ns[-1]}
        self._instants_ns["measured"] = time.monotonic_ns()
        reply = self._observer.phase("closed", self._pids())
        self._worker = window.as_worker(reply.get("answered"))
        if cell.alternating:
            self._worker["slices"] = window.slices
        self._worker |= {"cpus": self._cpus and _cpus_of(self._pids())}
        self._worker |= {"busy_from_ns": busy_from_ns, "busy_until_ns": time.monotonic_ns()}

    def _start(self, app: Hosted, port: int) -> None:
        cell = self._cell
        line = command_line(app, cell.workers, cell.loop, cell.model)
        self._facts |= {"server": app.server, "command": line}
        asked = {"folder": self._folder, "gc": cell.gc, "gc_threshold": cell.gc_threshold}
        path = os.pathsep.join(filter(None, [HOOK, os.environ.get("PYTHONPATH")]))
        shares = share_variables(cell.workers, None, read_budgets(app.budgets), cell.interpreters)
        try:
            self._instants_ns["started"] = time.monotonic_ns()
            self._process = subprocess.Popen(
                arguments_of(line, port),
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                env={
                    **os.environ,
                    **shares,
                    **service_variables(cell.services),
                    **app.variables,
                    "PYTHONPATH": path,
                    "SCALING_HOOK": json.dumps({**asked, "switches": cell.switches}),
                },
                # This process has one thread.
                preexec_fn=_in_the_command(self._cpus),  # noqa: PLW1509
            )
        except (OSError, ValueError) as error:
            raise CommandError(f"the command cannot be started: {error}: {line}") from None

    def _be_ready(self, app: Hosted, port: int) -> None:
        """Wait until it answers, with as many loops as there are workers.

        Raises:
            CommandError: it ended before, or is not ready in time.
        """
        try:
            shown = wait_for_answer(port, app.health, self._check)
        except NotReadyError as error:
            raise CommandError(f"{error}{self._last_line()}") from None
        answered_ns = time.monotonic_ns()
        if SERVERS[app.server].has_loops:
            deadline = time.monotonic() + READY_S
            while self._loops < self._cell.workers and time.monotonic() < deadline:
                self._pause(LOOK_S)
            made_ns = [at_ns for at_ns, _ in self._noted.loops()]
            self._pause(settle_s(made_ns, answered_ns))
        ready_ns = self._rest()
        self._instants_ns |= {"imported": ready_ns, "ready": ready_ns}
        self._noted.moment("imported")
        self._facts |= shown

    @property
    def _loops(self) -> int:
        """The number of loops that its workers have made."""
        return len(self._noted.loops())

    def _rest(self) -> int:
        """Wait until its processes do nothing; return since when, ns.

        The first answer says nothing of the other workers, and those that share a port cannot be
        asked. Before there is load, all have started when none has anything to do. The record says
        if that did not come in time.
        """
        deadline = time.monotonic() + REST_MOST_S
        while True:
            since_ns, before_ns = time.monotonic_ns(), self._used_ns()
            self._pause(REST_S)
            self._check()  # some servers end when a worker cannot start
            used_ns = self._used_ns() - before_ns
            idle = used_ns <= REST_SHARE * REST_S * 1e9
            self._at_rest = idle and not has_work(self._processes)
            if self._at_rest or time.monotonic() > deadline:
                return since_ns

    def _used_ns(self) -> int:
        """The CPU time of all processes that it has now or had before."""
        self._processes |= family(self._root.pid)
        return self._cpu.read_ns(self._processes)

    def _pids(self) -> list[int]:
        """The ids of its processes, of those that still exist."""
        return sorted(each.pid for each in self._processes if each.exists)

    @property
    def _window_ns(self) -> list[int]:
        """The CPU time of each process in the window, the busiest first."""
        used = (ns - self._opened_ns.get(each, 0) for each, ns in self._cpu.each_ns.items())
        return sorted(used, reverse=True) if self._opened_ns else []

    @property
    def _cpus(self) -> list[int] | None:
        """The CPUs of all its workers together, as many as there are workers; None: any."""
        pinning = self._cell.pinning
        return None if pinning is None else sorted({cpu for each in pinning for cpu in each})

    @property
    def _root(self) -> "subprocess.Popen[bytes]":
        assert self._process
        return self._process

    def _slices(self, window: Window, settle_s: float) -> None:
        """Take a slice of the window whenever the driver gives the run a turn, until the last one.

        In between the command has no load.
        """
        late_ns = 0
        while turn := self._observer.phase("turn", self._pids(), late_ns=late_ns, served=True):
            self._check()
            self._observer.phase("resume", self._pids())
            opens_ns = time.monotonic_ns() + round((settle_s + turn["wait_s"]) * 1e9)
            instants_ns = schedule(opens_ns, turn["slice_s"], turn["parts"])
            self._observer.phase("load", self._pids(), instants_ns=instants_ns)
            late_ns = self._measure(window, instants_ns)

    def _measure(self, window: Window, instants_ns: list[int]) -> int:
        """Read the CPU time at each instant of the window or of a slice; return how late it closed.

        A look at all processes takes long, so it is made just before and after.
        """
        self._phase = "window"
        self._pause((instants_ns[0] - time.monotonic_ns()) / 1e9 - LOOK_S / 2)
        self._used_ns()
        readings: list[Reading] = []
        for instant_ns in instants_ns:
            self._pause((instant_ns - time.monotonic_ns()) / 1e9)
            cpu_ns = self._cpu.read_ns(self._processes)
            readings.append((time.monotonic_ns(), cpu_ns))
            if not window.slices["opened_ns"] and instant_ns == instants_ns[0]:
                self._noted.moment("opened")
                self._opened_ns = self._cpu.each_ns
        known = len(self._processes)
        used_ns = self._used_ns()
        if len(self._processes) > known:  # one was started meanwhile
            readings[-1] = time.monotonic_ns(), used_ns
        self._noted.moment("closed")
        self._check()
        return window.add(instants_ns, readings)

    def _check(self) -> None:
        self._pause(0)  # is the driver still there?
        code = self._root.poll()
        if code is not None:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise CommandError(f"the command ended with {how}{self._last_line()}")

    def _pause(self, seconds: float) -> None:
        """Sleep unless the driver goes.

        Raises:
            BrokenPipeError: the driver is gone.
        """
        assert self._observer.descriptor is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._observer.descriptor, selectors.EVENT_READ)
            if selector.select(max(0.0, seconds)):
                raise BrokenPipeError("the driver is gone")

    def _words(self) -> str:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, size - WORDS_KEPT))
        return self._printed.read().decode(errors="replace")

    def _last_line(self) -> str:
        """The last line that it printed, as the end of a message; of a traceback, the error."""
        lines = [line.strip() for line in self._words().splitlines() if line.strip()]
        errors = [line for line in lines if "Error" in line.split(":")[0]]
        found = (errors or lines)[-1:]
        return f": {found[0][:LINE_MOST]}" if found else ", and printed nothing"

    def _record(self, failure: dict[str, Any] | None) -> dict[str, Any]:
        cell = self._cell
        kinds = sorted({kind for _, kind in self._noted.loops()})
        server = SERVERS.get(cell.served_by)
        has_loops = server is not None and server.has_loops
        found = " and ".join(kinds) or (None if has_loops else NO_LOOP)
        workers = [] if self._worker is None or failure else [self._worker]
        return {
            "schema": SCHEMA,
            "outcome": "failed" if failure else "measured",
            "finite": False,
            "outside": {
                "workers": self._loops if has_loops else None,
                "processes": len(self._processes),
                "at_rest": self._at_rest,
                "cpu_ns": self._window_ns,
            },
            "failure": failure,
            "process": self._noted.process(),
            "loop": {"name": cell.loop, "class": found, "version": None},
            "facts": self._facts,
            "instants_ns": self._instants_ns,
            "workers": [{"loop_class": found, **each} for each in workers],
        }


def _in_the_command(cpus: list[int] | None) -> Callable[[], None]:
    """Return the function that the command calls before it begins.

    The kernel then ends it when this process ends in any way, and all of it stays on these CPUs.
    """
    end_with_us = ends_with_this_process(signal.SIGKILL)

    def prepare() -> None:
        end_with_us()
        if cpus:
            os.sched_setaffinity(0, cpus)

    return prepare


def _cpus_of(pids: list[int]) -> list[int]:
    """The CPUs that any of these processes may run on."""
    found: set[int] = set()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getaffinity(pid)
    return sorted(found)


def measure(cell: Cell) -> dict[str, Any]:
    """Measure one cell whose server is a command.

    Raises:
        BrokenPipeError: the driver is gone.
    """
    raise_limit()  # what the command has is inherited: the plan relies on it
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        return OutsideHost(cell, folder).measure()
