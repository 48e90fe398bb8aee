"""The profile of a cell: runs at N = 1 and at N in pairs, alternated, each sampled from outside."""

import contextlib
import math
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from scaling.analysis.function_gains import FEWEST_PAIRS, SampledRun, Tally, differentials
from scaling.analysis.table.groups import parameter, plain, short_labels
from scaling.analysis.table.load import Rows, judge_of
from scaling.analysis.table.stacks import NS_PER_S
from scaling.base.errors import ScalingError, UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.prepared_arm import PreparedArm
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.beside import Profile, ProfiledRun, SampleKind
from scaling.journal.record import CeilingLine, Cell, RunLine, StudyLine
from scaling.run.calibrate import generator_processes
from scaling.run.execute import Executor
from scaling.run.measure import Prepared, generators_of, services_of
from scaling.run.profile.perf import RATE_PER_S, UNSEEN, Perf, UnavailableError
from scaling.run.profile.stacks import Stacks
from scaling.run.progress import Display, figure_of, run_in_words
from scaling.run.redaction import without_own_paths
from scaling.run.session import RETRIES, InterruptedStudyError
from scaling.run.time_left import TimeLeft
from scaling.study.controls import is_control
from scaling.study.plan.order import PlannedRun
from scaling.study.questions import curve_of

# ------------------------------------------------------------------------------------------- choice
# Which cell of a study is profiled, and the cell with one worker that it is compared with.

MOST_LISTED = 8


@dataclass(frozen=True)
class Chosen:
    """A cell with N workers and the same with one.

    `efficiency` is the throughput of N over N times that of one in the study, `per_s` that of N.
    """

    alone: Cell
    several: Cell
    efficiency: float
    per_s: float

    @property
    def text(self) -> str:
        """`echo · uvloop · 3.14t · 2 threads · connections=16`."""
        return cell_text(self.several)


def cell_text(cell: Cell) -> str:
    """A cell with all its parameters, in words that can be asked for one by one."""
    parameters = (parameter(name, value) for name, value in cell.parameters.items())
    return " · ".join([run_in_words(cell), *parameters])


def choose(head: StudyLine, runs: Sequence[RunLine], asked: str | None) -> Chosen:
    """The cell that has all words of `asked`; of several, and without any, the one that loses most.

    Without `asked` it is one of threads on a free-threaded build, at the largest N that has a core
    for each worker, and neither a control nor in an open loop, whose throughput is the schedule's.

    Raises:
        UsageError: there is none; says which there are.
    """
    known = _cells(head, runs)
    words = set((asked or "").replace("·", " ").replace(",", " ").split())
    if asked is None:
        fitting = [each for each in known if _is_default(each.several)]
        # The last of a curve has the largest N.
        fitting = list({curve_of(each.several): each for each in fitting}.values())
    else:
        fitting = [each for each in known if words <= _words(each.several)]
    if fitting:
        return min(fitting, key=lambda each: each.efficiency)
    if not known:
        raise UsageError(
            "no cell of this study can be profiled: it needs valid runs of CPython at N = 1 and at "
            "a larger N"
        )
    nearest = sorted(known, key=lambda each: (-len(words & _words(each.several)), _order(each)))
    names = _names([each.several for each in nearest])
    there = "; ".join([*names[:MOST_LISTED], *["…"] * (len(names) > MOST_LISTED)])
    what = f"no cell has all of {asked!r}" if asked else "no cell of threads without the GIL"
    raise UsageError(f"{what}; name one by some of its words: {there}")


def _names(cells: Sequence[Cell]) -> list[str]:
    """The cells in words, with the parameters in which some of one workload differ."""
    variants = [(cell.workload, cell.parameters) for cell in cells]
    short = short_labels(variants, simulated=False)
    return [
        run_in_words(cell) + short[variant].removeprefix(cell.workload)
        for cell, variant in zip(cells, variants, strict=True)
    ]


def _order(each: Chosen) -> tuple[bool, float]:
    """What loses most comes first, controls last."""
    cell = each.several
    return is_control(cell.workload, cell.parameters), each.efficiency


def _is_default(cell: Cell) -> bool:
    return (
        parse_arm(cell.arm).without_gil
        and cell.model == "threads"
        and cell.region in (None, "cores")
        and not is_control(cell.workload, cell.parameters)
        and not cell.parameters.get("rate_per_s")
    )


def _words(cell: Cell) -> set[str]:
    text = cell_text(cell).replace(" · ", " ")
    given = {f"{name}={plain(value)}" for name, value in cell.parameters.items()}
    return {*text.split(), *given, f"N={cell.workers}", cell.workload.rpartition(":")[2]}


def _cells(head: StudyLine, runs: Sequence[RunLine]) -> list[Chosen]:
    """Every cell with several workers whose curve also has one, by N, with its efficiency."""
    rows = Rows(runs, head)
    found: dict[Cell, list[float]] = defaultdict(list)
    for line, per_s, valid in zip(runs, rows["throughput_per_s"], rows["valid"], strict=True):
        outside = line.record is not None and line.record.outside is not None
        if valid and not line.cell.twin and not outside and line.cell.arm not in RUNTIMES:
            found[line.cell].append(float(per_s))
    per_s_of = {cell: median(values) for cell, values in found.items()}
    of_one = {curve_of(cell): cell for cell in per_s_of if cell.workers == 1}
    several = sorted((cell for cell in per_s_of if cell.workers > 1), key=lambda cell: cell.workers)
    return [
        Chosen(one, cell, _ratio(per_s_of[cell], cell.workers * per_s_of[one]), per_s_of[cell])
        for cell in several
        if (one := of_one.get(curve_of(cell)))
    ]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


# --------------------------------------------------------------------------------------------- runs

OF_CPU_TIME: tuple[SampleKind, ...] = ("native", "python", "python_total")
ADD_UP = OF_CPU_TIME[:2]
MAP = Path("/tmp/perf-{}.map")  # what every process with -X perf leaves
FRAME_POINTERS = (
    "import sysconfig; print('-fno-omit-frame-pointer' in "
    "(sysconfig.get_config_var('PY_CORE_CFLAGS') or ''))"
)
NO_CALLERS = (
    "the callers of native functions are unknown: this interpreter was compiled without frame "
    "pointers (CFLAGS=-fno-omit-frame-pointer); Python functions are those of sampled stacks"
)
SUB_INTERPRETERS = "Python functions: the stacks of sub-interpreters cannot be read from outside"

type Source = Perf | Stacks


def profiled(
    ready: Prepared,
    head: StudyLine,
    ceilings: Sequence[CeilingLine],
    chosen: Chosen,
    pairs: int,
    display: Display,
) -> Profile:
    """Profile a cell in so many pairs of runs.

    Raises:
        ScalingError: neither source can sample here, or too few pairs of runs were valid.
        InterruptedStudyError: the user stopped it; nothing is kept.
    """
    arm = ready.arms[chosen.several.arm]
    folders = arm.environment.get("PYTHONPATH", "").split(os.pathsep)
    calls = has_frame_pointers(arm)
    sampling = Sampling(*_sources(arm, chosen.several.model, folders, frame_pointers=calls))
    if calls:
        arm = replace(arm, environment={**arm.environment, "PYTHONPERFSUPPORT": "1"})
    with contextlib.closing(sampling), services_of(ready) as services:
        processes = generator_processes(ready.plan, ceilings, ready.topology)
        execute = Executor(
            ready.plan,
            {**ready.arms, chosen.several.arm: arm},
            services,
            generators_of(ready, processes),
            sampling.watch,
        )
        work = _Work(ready, head, chosen, execute, sampling, display)
        try:
            found = list(work.pairs(pairs))
        except KeyboardInterrupt:
            raise InterruptedStudyError("interrupted: no profile was written") from None
        finally:
            display.end()
    return _profile(chosen, work.workload.operation, found, pairs, sampling)


class Sampling:
    """The sources, one run after the other."""

    def __init__(self, sources: Sequence[Source], notes: Sequence[str]) -> None:
        self._notes = list(notes)
        self._sources = list(sources)
        self._begun: list[Source] = []
        self._pids: set[int] = set()

    @property
    def notes(self) -> list[str]:
        """What any of them could not do, each once."""
        return list(
            dict.fromkeys([*filter(None, (each.note for each in self._sources)), *self._notes])
        )

    def note(self, text: str) -> None:
        """Add one."""
        self._notes.append(text)

    def watch(self, phase: str, facts: Mapping[str, Any]) -> None:
        """Sample from when all workers are ready to the end of the window; the child waits."""
        self._pids.update(facts["pids"])
        if phase == "ready":
            for source in self._sources:
                try:
                    source.start(facts["threads"])
                    self._begun.append(source)
                except UnavailableError as error:
                    self._notes.append(str(error))
        elif phase == "closed":
            for source in self._begun:
                source.stop()

    def tallies(self, line: RunLine, cpu_s: float) -> Mapping[SampleKind, Tally]:
        """The samples in the window of the run just ended; its workers used `cpu_s` of CPU time."""
        tallies: dict[SampleKind, Tally] = {}
        instants = line.record.instants_ns if line.record else None
        for source in self._begun if instants else ():
            assert instants
            try:
                found = source.tallies(instants.opened or 0, instants.closed or 0)
            except UnavailableError as error:
                self._notes.append(str(error))
                continue
            tallies = {**found, **tallies}  # perf comes first: it also names Python functions
        if any(isinstance(each, Perf) and not each.sees_kernel for each in self._begun):
            return with_unseen(tallies, cpu_s)
        return tallies

    def again(self) -> None:
        """Make ready for the next run; remove what names the trampolines of the last one."""
        for source in self._sources:
            source.close()
        self._begun = []
        for pid in self._pids:
            MAP.with_name(MAP.name.format(pid)).unlink(missing_ok=True)
        self._pids = set()

    close = again


def has_frame_pointers(arm: PreparedArm) -> bool:
    """Whether perf could find the callers of a function in this build."""
    answer = subprocess.run(
        [arm.program, "-c", FRAME_POINTERS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=dict(arm.environment),
        check=False,
    )
    return answer.stdout.strip() == "True"


def _sources(
    arm: PreparedArm, model: str, folders: Sequence[str], *, frame_pointers: bool
) -> tuple[list[Source], list[str]]:
    """What can sample here, and why the others cannot."""
    sources: list[Source] = []
    notes = []
    perf = None
    try:
        perf = Perf(folders, frame_pointers=frame_pointers)
        sources.append(perf)
        notes += [] if frame_pointers else [NO_CALLERS]
    except UnavailableError as error:
        notes.append(str(error))
    if model == "interpreters":
        notes.append(SUB_INTERPRETERS)
    else:
        sources.append(Stacks(arm, folders, perf))
    return sources, notes


class _Work:
    """Does the runs of a profile."""

    def __init__(
        self,
        ready: Prepared,
        head: StudyLine,
        chosen: Chosen,
        execute: Executor,
        sampling: Sampling,
        display: Display,
    ) -> None:
        plan = ready.plan
        self.workload = plan.workloads[chosen.several.workload]
        self._head = head
        self._judge = judge_of(head)
        self._cells = chosen.alone, chosen.several
        self._execute = execute
        self._sampling = sampling
        self._display = display
        self._time = TimeLeft(plan.inside_s, plan.overhead_s(chosen.several))

    def pairs(self, count: int) -> Iterator[tuple[SampledRun, SampledRun]]:
        """So many pairs of valid runs, N = 1 and N first in turn.

        One in which a run is invalid is made again, at most as many as were asked for.
        """
        for cell in self._cells * count:
            self._time.expect(cell)
        self._display.begin(2 * count, 0)
        done, most = 0, (1 + RETRIES) * count
        for pair in range(most):
            order = self._cells if pair % 2 == 0 else self._cells[::-1]
            planned = [PlannedRun(pair, place, cell) for place, cell in enumerate(order)]
            runs = {run.cell: self._run(run, done) for run in planned}
            alone, several = (runs[cell] for cell in self._cells)
            if alone and several:
                done += 1
                text = f"pair {done} of {count} done · {self._time.left}"
                self._display.block_done(done - 1, text)
                yield alone, several
            elif pair + 1 < most:
                for cell in self._cells:
                    self._time.expect(cell)
                self._display.more(2)
            if done == count:
                return

    def _run(self, run: PlannedRun, pair: int) -> SampledRun | None:
        """Do a run of a pair, the `pair`th that is valid; None if it is not."""
        words = run_in_words(run.cell)
        self._display.running(words, self._time.left)
        line, _ = self._execute(run)
        self._time.done(run.cell)
        self._time.learn(line)
        reason = self._judge(line)
        found = None if reason else measured(line, self._head, self._sampling, pair)
        self._sampling.again()
        self._display.finished(words, figure_of(line, self.workload), self._time.left)
        if reason:
            self._sampling.note(f"a run was invalid ({words}): {reason}")
            self._display.note(f"invalid, its pair is made again: {words}: {reason}")
        return found


def measured(line: RunLine, head: StudyLine, sampling: Sampling, pair: int) -> SampledRun:
    """A valid run of a pair, with its samples."""
    rows = Rows([line], head)
    per_s, operations = (float(rows[name][0]) for name in ("throughput_per_s", "operations"))
    # Of the loops' threads, which are sampled: `cpu_s_per_op` may have a pool's threads in it.
    cpu_s = float(rows["cpu_busy"][0]) / per_s
    workers = line.cell.workers
    tallies = sampling.tallies(line, cpu_s * operations)
    run = ProfiledRun(
        pair=pair,
        workers=workers,
        throughput_per_s=per_s,
        cpu_ns_per_op=NS_PER_S * cpu_s,
        worker_ns_per_op=NS_PER_S * workers / per_s,
        cpu_samples=tallies.get("native", Tally()).samples,
        stack_samples=tallies.get("blocked", Tally()).samples,
    )
    return SampledRun(run, tallies)


def with_unseen(tallies: Mapping[SampleKind, Tally], cpu_s: float) -> Mapping[SampleKind, Tally]:
    """Add what the kernel would have had: the samples that the CPU time has beyond those seen.

    Python functions were sampled only while they were not in the kernel, too: their part lacks the
    same share, whichever source has it.
    """
    native = tallies.get("native", Tally())
    if not native.of:
        return tallies
    unseen = max(0.0, cpu_s * RATE_PER_S / native.of - 1)  # of what was seen

    def completed(kind: SampleKind, tally: Tally) -> Tally:
        more = unseen * tally.of
        amounts = {**tally.amounts, UNSEEN: more} if kind in ADD_UP else tally.amounts
        return Tally(amounts, tally.of + more, tally.samples)

    return {
        kind: completed(kind, each) if kind in OF_CPU_TIME else each
        for kind, each in tallies.items()
    }


def _profile(
    chosen: Chosen,
    operation: str,
    found: Sequence[tuple[SampledRun, SampledRun]],
    asked: int,
    sampling: Sampling,
) -> Profile:
    if len(found) < FEWEST_PAIRS:
        raise ScalingError(
            f"no profile: {len(found)} of {asked} pairs of runs were valid, and it takes "
            f"{FEWEST_PAIRS}. Try again when the machine is quiet, with more --pairs"
        )
    parts = differentials(found)
    if not parts:
        raise ScalingError(f"no profile: {'; '.join(sampling.notes)}")
    speed = median(several.run.throughput_per_s for _, several in found) / chosen.per_s
    return Profile(
        cell=chosen.several,
        text=chosen.text,
        operation=operation,
        runs=[each.run for pair in found for each in pair],
        parts=parts,
        speed=speed,
        notes=[without_own_paths(each) for each in sampling.notes],
    )
