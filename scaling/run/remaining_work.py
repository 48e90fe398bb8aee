"""The part of a study that a journal has, and the part that remains. Nothing is written."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from scaling.analysis.table.load import judge_of
from scaling.base.errors import UsageError
from scaling.base.formats import plural
from scaling.journal.identity import identity_of
from scaling.journal.reading import find_journal, read_lines
from scaling.journal.record import Key, RatesLine, RunLine, StudyLine
from scaling.run.prepare import Prepared
from scaling.run.session import Replay
from scaling.run.time_left import Left, TimeLeft
from scaling.study.file import StudyFile, study_file_of

COLUMNS = {"valid": "measured", "to_do": "to do", "again": "to rerun", "lost": "invalid"}


@dataclass(frozen=True)
class Measured:
    """The first line and the runs of a journal."""

    path: Path
    head: StudyLine
    runs: list[RunLine]

    @property
    def file(self) -> StudyFile:
        """The study of the journal, as a study file asks for it.

        Raises:
            UsageError: the journal does not hold it.
        """
        return study_file_of(self.head.study, str(self.path))


@dataclass(frozen=True)
class Work:
    """Runs that are done and that remain. `obstacles` are why `scaling run` would not resume it.

    `rows` are the runs of each workload, arm, loop and model: how many are `valid`, `to_do`, to be
    run `again` and `lost`. Those are lost that were invalid, were run again, and are invalid still;
    and those that were not made, since every other run of the workload failed.
    """

    path: Path
    rows: Mapping[tuple[str, ...], Counter[str]]
    blocks: int
    complete_blocks: int
    left: Left
    reasons: Counter[str]
    obstacles: tuple[str, ...]

    def total(self, column: str) -> int:
        """The sum of a column of the rows."""
        return sum(row[column] for row in self.rows.values())


def read_runs(output: Path, note: Callable[[str], None]) -> Measured:
    """Read the journal in a folder.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    path = find_journal(output)
    first, *lines = read_lines(path, note)
    assert isinstance(first, StudyLine)  # or `read_lines` had raised
    for line in lines:
        first = line.of(first) if isinstance(line, RatesLine) else first
    runs = [line for line in lines if isinstance(line, RunLine)]
    return Measured(path, first, runs)


def work_in(measured: Measured, ready: Prepared, *, same: bool) -> Work:
    """Compare a journal with the plan; `same`: the plan was made from the journal's own study.

    Raises:
        UsageError: the journal is of another study.
    """
    obstacles = _obstacles(measured, ready, same=same)
    plan = ready.plan.at_rates(measured.head.calibrations)
    replay, time = Replay(), TimeLeft(plan.expected_s)
    latest: dict[Key, str | None] = {}  # why the latest attempt is invalid
    # A disturbed run that was made again still counts if the second attempt is the invalid one.
    used = set()
    judge = judge_of(measured.head)
    for line in measured.runs:
        key, reason = line.key, judge(line)
        replay.add(line, reason)
        time.learn(line)
        latest[key] = reason
        if reason is None:
            used.add(key)
    remaining = [run for batch in replay.remaining(plan.together(plan.runs)) for run in batch]
    still = {run.key: "again" if run.attempt > 1 else "to_do" for run in remaining}
    rows: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for run in plan.runs:
        row = rows[run.cell.workload, run.cell.arm, run.cell.loop, run.cell.model]
        row[still.get(run.key) or ("valid" if run.key in used else "lost")] += 1
    return Work(
        path=measured.path,
        rows=rows,
        blocks=plan.study.every_block,
        complete_blocks=plan.study.every_block - len({block for block, *_ in still}),
        left=time.left(run.cell for run in remaining),
        reasons=Counter(latest[key] or "" for key, state in still.items() if state == "again"),
        obstacles=obstacles,
    )


def _obstacles(measured: Measured, ready: Prepared, *, same: bool) -> tuple[str, ...]:
    asked = identity_of(ready.first_line())
    differences = asked.differences(identity_of(measured.head), ready.own_in_words)
    of_study = [each for each in differences if each.startswith("the study")]
    if of_study and not same:
        raise UsageError(
            f"{measured.path} is of another study; not the same: {'; '.join(of_study)}. "
            f"Leave out the options to see its own"
        )
    return tuple(each for each in differences if each not in of_study)


def shown(work: Work) -> Group:
    """The runs of each workload, arm, loop and model, and the sums, for a terminal."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("workload", "arm", "loop", "model"):
        table.add_column(heading, overflow="fold")
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right")
    for name, row in work.rows.items():
        table.add_row(*name, *(str(row[column]) for column in COLUMNS))
    return Group(table, Text(), *(Text(line) for line in lines(work)))


def lines(work: Work) -> Iterator[str]:
    """The sums, and what can be done next, a line each."""
    valid, to_do, again, lost = map(work.total, COLUMNS)
    every = valid + to_do + again + lost
    yield (
        f"{work.path}: {valid} of {plural(every, 'run')} measured, "
        f"{work.complete_blocks} of {plural(work.blocks, 'block')} complete"
    )
    if again:
        causes = "; ".join(f"{reason} ({count}×)" for reason, count in work.reasons.most_common())
        yield f"{plural(again, 'invalid run')} to run again: {causes}"
    if lost:
        yield (
            f"{plural(lost, 'run')} excluded: still invalid after a second attempt, or of a "
            "workload whose every run failed"
        )
    if to_do or again:
        yield f"to do: {plural(to_do + again, 'run')}, {work.left}"
    else:
        yield "nothing remains to be measured"
    if work.obstacles:
        yield (
            f"scaling run would start in another folder: not the same as when this was measured: "
            f"{'; '.join(work.obstacles)}"
        )
    elif to_do or again:
        folder = shlex.quote(str(work.path.parent))
        yield f"resume with: scaling run --output {folder}, and the same options"
