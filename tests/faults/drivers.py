"""Real studies in processes that can be killed: each measures in a folder of its own.

What takes seconds (environments, descriptions, imports) is done once, before the processes are
forked. Each leads a session, as one that was started in a terminal does.
"""

import contextlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.file import FILE_NAME
from scaling.run import child, execute
from scaling.run import measure as measuring
from scaling.run.alternation import Member
from scaling.run.child import Ending, Run, observed
from scaling.run.prepare import ChildNeeds, Prepared, prepared
from scaling.run.probe import Phase
from scaling.run.progress import PlainLines
from scaling.run.services import Services
from tests.faults.checks import After, Key, Try, checked, wrong
from tests.support.cli import BUILD
from tests.support.plans import flagged

PATIENCE_S = 150.0  # it bounds a hang, and measures nothing
LIMIT_S = 10.0  # for a child to start and to end, in place of minutes; on a busy machine 4 s
IN_WINDOW_S = 0.4  # from ready workers to a time in their window
READY = "> ready"
TRACEBACK = 70  # the exit code of a driver that a user would have seen a traceback of
SERVED = ("serve.server=tcp", "serve.connections=2", "serve.rate_per_s=200")  # a small load
FILES = ("tmp", "said", FILE_NAME)


@contextlib.contextmanager
def study(own: Sequence[Path] = (), **options: Any) -> Iterator[Prepared]:
    """A prepared study, by default of this build, without controls; `own` has its workloads."""
    asked: dict[str, Any] = {
        "arm": (BUILD,),
        "blocks": 1,
        "seconds": 0.1,
        "workers": ("1",),
        "loop": ("asyncio",),
    } | options
    flags = flagged(controls=False, aa_pairs=False, **asked)
    needs = ChildNeeds(paths=[str(each) for each in own])
    with prepared(flags, needs, lambda text: None) as ready:
        yield ready


@dataclass
class Driver:
    """A process that measures a study in `folder`."""

    folder: Path
    pid: int = 0
    before: int = 0  # windows that other drivers opened in this folder
    exit_code: int | None = None

    @property
    def said(self) -> str:
        """All that it printed, for a user and for us."""
        file = self.folder / "said"
        return file.read_text(errors="replace") if file.exists() else ""

    def windows(self) -> int:
        """How many windows it has opened so far, or is about to open."""
        return self.said.splitlines().count(READY) - self.before

    def kill(self) -> None:
        """Kill it and all that shares its session, and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()

    def wait(self, limit_s: float = PATIENCE_S) -> bool:
        """Wait for its end; False if it takes longer."""
        deadline = time.monotonic() + limit_s
        while self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                return False
            else:
                time.sleep(0.005)
        return True

    def wait_for_window(self, number: int) -> bool:
        """Wait until it opens this window, counted from 1; False if it ends or takes too long."""
        deadline = time.monotonic() + PATIENCE_S
        while self.windows() < number and time.monotonic() < deadline and not self.wait(0):
            time.sleep(0.01)
        return self.windows() >= number

    def after(self, kept: Collection[Key] = (), problem: str = "") -> Try:
        """A try whose driver has ended: its journal should have the records `kept`."""
        return checked(After(self.folder, kept, FILES, self.said, problem))


def start(ready: Prepared, folder: Path, change: Callable[[], object] = lambda: None) -> Driver:
    """Start a driver; `change` is called in its process first."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    driver = Driver(folder)
    driver.before = driver.windows()
    driver.pid = os.fork()
    if not driver.pid:
        os._exit(_drive(ready, folder, change))
    return driver


def _drive(ready: Prepared, folder: Path, change: Callable[[], object]) -> int:
    """Measure, as a command would; return its exit code."""
    try:
        os.setsid()
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder / "tmp")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        child.LIMIT_S = LIMIT_S
        for module in (child, execute):
            vars(module)["observed"] = _telling
        Services.ceiling.__kwdefaults__ = {"seconds": 0.1}
        vars(measuring)["is_complete"] = lambda *_: False  # or it is measured once more
        change()
        measuring.measure(ready, folder, PlainLines(new_console()))
    except ScalingError as error:
        print(f"scaling: {error}", flush=True)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BaseException:
        print(traceback.format_exc(), flush=True)
        return TRACEBACK
    return 0


async def _telling(run: Run, turn: Member[Any] | None = None) -> Ending:
    """Run a child, and say when its workers are ready."""
    return await observed(replace(run, observers=[_Telling()]), turn)


class _Telling:
    def at(self, phase: Phase) -> None:
        if phase.name == "ready":
            print(READY, flush=True)


def finished(driver: Driver, kept: Collection[Key] = (), codes: Sequence[int] = (0,)) -> Try:
    """A try whose driver should end by itself with one of these exit codes."""
    if not driver.wait():
        driver.kill()
        return driver.after(kept, "it hangs")
    if driver.exit_code not in codes:
        last = "".join(driver.said.strip().splitlines()[-1:])
        return driver.after(kept, f"exit code {driver.exit_code}: {last}")
    return driver.after(kept)


def during(
    ready: Prepared, folder: Path, windows: Sequence[int], do: Callable[[Driver], str]
) -> Iterator[tuple[Driver, Try]]:
    """In each of these windows, in a study of its own, do something; the driver goes on.

    `do` returns why nothing was tried, "" if it was.
    """
    for number in windows:
        driver = start(ready, folder / str(number))
        if not driver.wait_for_window(number):
            driver.kill()
            yield driver, wrong(f"window {number} did not open: {driver.said}")
            continue
        time.sleep(IN_WINDOW_S)
        if problem := do(driver):
            yield driver, wrong(problem)
        yield driver, finished(driver)
