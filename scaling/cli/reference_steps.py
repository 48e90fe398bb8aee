"""The steps of `scaling reference`: the plan, each study in a process of its own, its outcome.

A complete, published study is the unit: none is measured twice, and a session that ends early
leaves no half of one. What is measured and could only not be drawn or published is published by the
next session. The outcomes are kept in a file for each machine. A study during which the machine
changed belongs to neither machine and is not published, and no machine publishes among the studies
of another one of its kind.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path
from typing import NoReturn

import msgspec
from rich.console import Console

from scaling.analysis.results import StudyResults, incomplete
from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console, say
from scaling.base.errors import TERMINATED, ScalingError, UsageError
from scaling.base.files import text_in
from scaling.base.formats import duration, listed, now
from scaling.builds import interpreters
from scaling.builds.cpython import VERSIONS
from scaling.journal.file import FILE_NAME as JOURNAL
from scaling.journal.identity import MACHINE_KEYS, Facts, facts_of
from scaling.journal.protected_write import try_writing, write_file
from scaling.journal.record import Machine
from scaling.machine.identity import describe_machine, label
from scaling.machine.topology import read_topology, worker_counts
from scaling.report.compare import write_programs
from scaling.report.output import without_figure
from scaling.report.publish import FILE_NAME as ENVIRONMENT
from scaling.report.publish import publish
from scaling.report.tables.grid import Cell, Grid
from scaling.study.kinds import COUNTS
from scaling.study.reference import WORKERS, ReferenceStudy

STATE = "reference.json"
AGAIN = "scaling reference"
PUBLISHED, FAILED, MOVED = "published", "failed", "another machine"


class Ended(msgspec.Struct, frozen=True):
    """The outcome of a study, when it ended, and how long it took."""

    outcome: str
    at: str
    took_s: float


class State(msgspec.Struct):
    """The outcomes of the studies on one machine, and the commands that `measured` all of one."""

    machine: Facts
    studies: dict[str, Ended] = {}
    measured: dict[str, str] = {}


class Where(msgspec.Struct, frozen=True):
    """Where a published study was measured: the part of its environment that is read here."""

    machine: Facts


def run_here(command: Sequence[str], variables: dict[str, str]) -> int:
    """Run `scaling` in a process of its own; return its exit code.

    SIGTERM ends that process first, then this one. Ctrl-C reaches both.
    """
    words = [sys.executable, "-m", "scaling", *command]

    def end(*_: object) -> NoReturn:
        process.terminate()
        raise SystemExit(TERMINATED)

    with subprocess.Popen(words, env={**os.environ, **variables}) as process:
        before = signal.signal(signal.SIGTERM, end)
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()  # it writes down what it has
            raise
        finally:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def publish_here(study: Path, folder: Path) -> None:
    """Publish a study in PUBLISHED/MACHINE/STUDY, in place of what is there, and write the page of
    all studies anew. Raises `ScalingError`.
    """
    from scaling.report.index import write_index

    publish(study, folder, new_console(), replace=True)
    write_index(folder.parent.parent)


def machine_here() -> Machine:
    """This machine."""
    return describe_machine(read_topology())


@dataclass
class ReferenceSteps:
    """A session: `studies` in the order of their value, as many as fit into `hours`.

    `workers` are the Ns of studies that have none of their own, as `--workers` takes them. `run`,
    `publish`, `here` and `clock` are for tests.
    """

    studies: Sequence[ReferenceStudy]
    output: Path
    published: Path
    console: Console
    label: str | None = None
    hours: float | None = None
    workers: Sequence[str] = ()
    pgo: bool = True
    alternate: bool = True
    run: Callable[[Sequence[str], dict[str, str]], int] = run_here
    publish: Callable[[Path, Path], None] = publish_here
    here: Callable[[], Machine] = machine_here
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.label is not None and not re.fullmatch(r"\w[\w.-]*", self.label):
            raise UsageError(f"--label {self.label}: expected a name for a folder: epyc-2-cores")
        if self.workers:
            count, text = how_many(self.workers), ",".join(self.workers)
            self.studies = [study.with_workers(text, count) for study in self.studies]
        self._began = self.clock()

    @cached_property
    def machine(self) -> Facts:
        """What must stay the same for results to be of one machine."""
        return facts_of(self.here())

    @cached_property
    def name(self) -> str:
        """What the machine is called: with a number where another one has the name."""
        return free_name(self.label or label(self.here()), self._is_ours)

    @cached_property
    def state(self) -> State:
        """The outcomes of the studies on this machine, in earlier sessions and this one."""
        return self._state_of(self.name) or State(self.machine)

    def print_plan(self) -> None:
        """Print what is done, what is to be measured and how long that takes."""
        chosen = self._chosen()
        total_s = sum(60 * study.minutes for study in chosen)
        title = (
            f"{self.name}: {len(chosen)} of {len(self.studies)} reference studies to measure, "
            f"about {duration(total_s)} on two cores"
        )
        rows: list[list[Cell]] = [
            [str(study.batch), study.name, self._fate(study, chosen), f"{study.minutes:.0f}"]
            for study in self.studies
        ]
        headings = ["batch", "study", "outcome", "minutes"]
        self.console.print(Grid(title, headings, rows, words=3))

    def measure(self) -> None:
        """Measure and publish all that is to be done.

        Raises:
            UsageError: the folder to measure in cannot be written.
            ScalingError: a study failed; the others were measured.
        """
        folder = self.output / self.name
        try_writing(folder, lambda: folder.mkdir(parents=True, exist_ok=True), AGAIN)
        failed = []
        for study in self._chosen():
            if 60 * study.minutes > self._left_s():
                say(self.console, f"{study.name}: left out: not enough time is left")
                continue
            say(self.console, f"\n{study.name}: {study.command}".replace("\n", " ").strip())
            began = self.clock()
            outcome = self._made(study)
            self.state.studies[study.name] = Ended(outcome, now(), self.clock() - began)
            self._write_state()
            if outcome != PUBLISHED:
                failed.append(f"{study.name} ({outcome})")
            if outcome == MOVED:
                break
        if failed:
            raise ScalingError(f"not published: {listed(failed)}. The same command tries again")

    def _chosen(self) -> list[ReferenceStudy]:
        """Those to be measured: the first ones that fit into the time together."""
        left_s = self._left_s()
        chosen = []
        for study in self.studies:
            if self._is_done(study) or not self._is_here(study):
                continue
            if 60 * study.minutes <= left_s:
                left_s -= 60 * study.minutes
                chosen.append(study)
        return chosen

    def _fate(self, study: ReferenceStudy, chosen: Sequence[ReferenceStudy]) -> str:
        if self._is_done(study):
            return f"published on {self.state.studies[study.name].at[:10]}"
        if not self._is_here(study):
            return f"left out: there is no {study.source} here"
        return "to measure" if study in chosen else "left out: it does not fit"

    def _is_done(self, study: ReferenceStudy) -> bool:
        ended = self.state.studies.get(study.name)
        return ended is not None and ended.outcome == PUBLISHED

    def _is_here(self, study: ReferenceStudy) -> bool:
        return not study.source or Path(study.source).is_dir()

    def _left_s(self) -> float:
        elapsed_s = self.clock() - self._began
        return float("inf") if self.hours is None else 3600 * self.hours - elapsed_s

    def _made(self, study: ReferenceStudy) -> str:
        """Measure a study and publish it; return its outcome."""
        folder = self.output / self.name / study.name
        try:
            if obstacle := self._measured(study, folder):
                return obstacle
            target = self.published / self.name / study.name
            self.publish(newest(folder), target)
            if study.group:
                write_programs(target.parent, study.group, self.console)
        except ScalingError as error:
            say(self.console, f"{study.name}: {error}")
            return FAILED
        return PUBLISHED

    def _measured(self, study: ReferenceStudy, folder: Path) -> str:
        """Measure a study; return its outcome if that failed.

        What this command has measured in whole on this machine is not measured again. A study
        that is whole has not failed if it could not be drawn: that is part of publishing.
        """
        arms = self._every_version() if study.every_version else []
        ways = interpreters.source_first() if study.every_version else {}
        one_by_one = [] if self.alternate else ["--no-alternate"]
        command = [*study.arguments, *arms, *one_by_one, "--output", str(folder)]
        variables = {**ways, "SCALING_PGO": "1" if self.pgo and study.pgo else "0"}
        asked = shlex.join([*(f"{name}={value}" for name, value in variables.items()), *command])
        if self.state.measured.get(study.name) == asked and (newest(folder) / JOURNAL).is_file():
            return ""
        self.state.measured.pop(study.name, None)  # another command may write another folder
        self._write_state()
        began = time.time()
        code = self.run(command, variables)
        if facts_of(self.here()) != self.machine:
            return MOVED
        # Other commands go on after the runs of their first study.
        if code != 0 and not (command[0] == "run" and is_whole(newest(folder), began)):
            return FAILED
        self.state.measured[study.name] = asked
        self._write_state()
        return ""

    def _every_version(self) -> list[str]:
        """The options for the arms that every version of Python gives."""
        builds = interpreters.available(VERSIONS, say=partial(say, self.console))
        return ["--arm", ",".join(builds)]

    def _is_ours(self, name: str) -> bool:
        """Whether no other machine is called so, here or among what is published."""
        state = self._state_of(name)
        known = chain([state.machine] if state else [], published_on(self.published / name))
        return all(facts == self.machine for facts in known)

    def _state_of(self, name: str) -> State | None:
        file = self.output / name / STATE
        return decoded(file, State, "Remove it to start again") if file.is_file() else None

    def _write_state(self) -> None:
        text = msgspec.json.format(msgspec.json.encode(self.state), indent=2)
        file = self.output / self.name / STATE
        write_file(file, lambda unfinished: unfinished.write_bytes(text), AGAIN)


def decoded[Kind: msgspec.Struct](file: Path, kind: type[Kind], advice: str) -> Kind:
    """What a file of JSON holds. Raises `UsageError` with `advice` if it is something else."""
    try:
        return msgspec.json.decode(text_in(file), type=kind)
    except msgspec.DecodeError as error:
        raise UsageError(f"{file}: {error}. {advice}") from None


def how_many(workers: Sequence[str]) -> int:
    """How many Ns these are here, words such as `1..cores` among them.

    Raises:
        UsageError: one is neither a number nor a known word.
    """
    meant = worker_counts(read_topology())
    given = COUNTS.of_flag(workers, WORKERS)
    return len({n for each in given for n in meant.get(each, (each,))})


def published_on(folder: Path) -> Iterator[Facts]:
    """The machine of each study in a machine's folder. Raises `UsageError`: one cannot be read."""
    for file in folder.glob(f"*/{ENVIRONMENT}"):
        machine = decoded(file, Where, "Publish that study again").machine
        yield {key: machine.get(key) for key in MACHINE_KEYS}


def free_name(wanted: str, is_free: Callable[[str], bool]) -> str:
    """That name, or the first of NAME-2, NAME-3, … that no other machine has."""
    names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
    return next(name for name in names if is_free(name))


def is_whole(folder: Path, since: float) -> bool:
    """Whether a study has all of its runs, the last of them later than `since`, and its figures."""
    try:
        if (folder / JOURNAL).stat().st_mtime < since - 1:  # clocks of file systems are coarse
            return False
        journal = read_journal(folder)
        lacks = incomplete(journal.frame, journal.study, journal.notes)
        return not (lacks or without_figure(StudyResults.of(journal)))
    except (OSError, UsageError):
        return False


def newest(folder: Path) -> Path:
    """Where a study of that folder is: there, or in FOLDER-2 if that holds an older one."""

    def beside() -> Iterator[Path]:
        for path in folder.parent.glob(f"{folder.name}*/{JOURNAL}"):
            if re.fullmatch(rf"{re.escape(folder.name)}(-\d+)?", path.parent.name):
                yield path

    return max(beside(), key=lambda path: path.stat().st_mtime, default=folder / JOURNAL).parent
