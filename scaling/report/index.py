"""All published studies on one page: the headline ratios of each machine, linked to their studies.

The page is made of two files that are published beside every journal, `comparison.csv` and
`environment.json`: they have each ratio with its verdict, and what it was measured on. A test
compares them with the journals; to analyse all journals anew takes minutes, for the same figures.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import msgspec

from scaling.analysis.statistics.estimate import RATIO
from scaling.analysis.statistics.hypotheses import Family
from scaling.analysis.statistics.verdict import RatioVerdict, Verdict, Word
from scaling.analysis.table.groups import Variant, short_labels, slug
from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.formats import BLANK, listed
from scaling.base.vocabulary import THREADS
from scaling.journal.protected_write import write_text
from scaling.journal.reading import published_in
from scaling.journal.record import Cell as CellOfStudy
from scaling.journal.record import Machine, Parameters, PythonFacts
from scaling.report.files import COMPARISON
from scaling.report.page.parts import Block, PageSection
from scaling.report.page.render import template
from scaling.report.publish import FILE_NAME as ENVIRONMENT
from scaling.report.publish import PAGE
from scaling.report.tables.findings import builds_of, named, ratios_note
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.headline import counted
from scaling.report.tables.notes import build_text, machine_text
from scaling.report.tables.primitives import is_counted
from scaling.study.controls import is_control
from scaling.study.questions import CPU, OVER_PROCESSES, OVER_SERVER, P99

TITLE = "<title>Published studies: "  # by which a page is known to be this one

type Key = tuple[str, str, str]  # question, measure, and of memory the model of what it is over

# The tables of a workload: the ratios that have a column, and its heading. A cell has a row in a
# table if one of these ratios was a primary one of its study.
TABLES: Mapping[str, Mapping[Key, str]] = {
    "as fast as it can": {
        ("gain", "throughput", ""): "throughput over one worker",
        (OVER_PROCESSES, "throughput", ""): "throughput over processes",
        (OVER_PROCESSES, CPU, ""): "CPU time over processes",
        (OVER_PROCESSES, "memory", "processes"): "memory over fresh processes",
        (OVER_PROCESSES, "memory", "forked"): "memory over forked processes",
        (OVER_SERVER, "throughput", ""): "throughput over processes with a server",
    },
    "at a given rate": {
        (OVER_PROCESSES, P99, ""): "P99 over processes",
        (OVER_PROCESSES, "capacity", ""): "capacity over processes",
        (OVER_PROCESSES, CPU, ""): "CPU time over processes",
        (OVER_PROCESSES, "memory", "processes"): "memory over fresh processes",
        (OVER_PROCESSES, "memory", "forked"): "memory over forked processes",
        (OVER_SERVER, P99, ""): "P99 over processes with a server",
    },
    "versions and settings": {
        ("version", "throughput", ""): "throughput over the oldest version",
        ("setting", "throughput", ""): "throughput over the same without the setting",
    },
}


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio as `comparison.csv` has it."""

    question: str
    measure: str
    workload: str
    parameters: str
    sizing: str
    loop: str
    arm: str
    model: str
    workers: int
    over_arm: str
    over_model: str
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan
    ratio_n: int
    ratio_method: str
    ratio_coverage: float | None = None
    verdict: Word
    family: Family
    margin: float

    @property
    def key(self) -> Key:
        """The column that shows it, if any."""
        name = self.measure.partition(" at ")[0]
        return self.question, name, self.over_model if name == "memory" else ""

    @property
    def objective(self) -> str:
        """That of a capacity: `p99<20ms`; of other measures it is empty."""
        return self.measure.partition(" at ")[2]

    @property
    def of(self) -> CellOfStudy:
        """The cell that it is of."""
        return CellOfStudy(
            workload=self.workload,
            parameters=Parameters.read(self.parameters),
            loop=self.loop,
            arm=self.arm,
            model=self.model,
            workers=self.workers,
            sizing=self.sizing,
        )

    @property
    def estimate(self) -> RatioVerdict:
        """The ratio with its interval and verdict."""
        values = self.ratio, self.ratio_low, self.ratio_high, RATIO
        verdict = Verdict(self.verdict, self.margin, family=self.family)
        sample = self.ratio_n, self.ratio_method, self.ratio_coverage
        return RatioVerdict(*values, *sample, verdict=verdict)


class Arm(msgspec.Struct, frozen=True):
    """What `environment.json` says of an arm, as far as it is shown here."""

    build: str
    python: PythonFacts | None = None

    @property
    def text(self) -> str:
        """`3.14.7t with PGO`; of another runtime its name."""
        return build_text(self.python) if self.python else self.build


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What `environment.json` says of a study, as far as it is shown here."""

    machine: Machine
    arms: dict[str, Arm]
    blocks: int
    runs: int
    date: str | None = None
    controls: str | None = None
    simulated: bool = False


@dataclass(frozen=True)
class PublishedStudy:
    """A study in its folder, MACHINE/STUDY, with all of its ratios."""

    folder: Path
    environment: Environment
    rows: Sequence[Row]

    @property
    def page(self) -> str:
        """The address of its page, as this one has it."""
        return quote(f"{self.folder.parent.name}/{self.folder.name}/{PAGE}")

    @property
    def about(self) -> list[Cell]:
        """Its line in the list of all studies."""
        known = self.environment
        builds = listed(dict.fromkeys(arm.text for arm in known.arms.values()))
        facts = (known.date, builds, known.controls, f"{known.blocks:,}", f"{known.runs:,}")
        return [self.folder.name, self.folder.parent.name, *(fact or BLANK for fact in facts)]

    def lines(self, workload: str, table: Mapping[Key, str]) -> Iterator[list[Cell]]:
        """The lines of a workload in a table: where it was measured, the program, its ratios."""
        cells: dict[tuple[CellOfStudy, str], dict[Key, Row]] = defaultdict(dict)
        for row in self._shown:
            if row.workload == workload and row.key in table:
                cells[row.of, row.objective][row.key] = row
        for (of, objective), found in cells.items():
            if any(row.family == "primary" for row in found.values()):
                ratios = [found[key].estimate if key in found else BLANK for key in table]
                yield [self._where(of), self._program(of, objective, found.values()), *ratios]

    @cached_property
    def _shown(self) -> list[Row]:
        """The ratios of threads without the GIL but those of controls; of a void study none."""
        known = self.environment
        if known.controls == "void" or known.simulated:
            return []
        free = {name for name, arm in known.arms.items() if arm.python and arm.python.free_threaded}
        return [
            row
            for row in self.rows
            if row.model == THREADS
            and row.arm in free
            and not is_control(row.workload, row.of.parameters)
        ]

    @cached_property
    def _labels(self) -> dict[Variant, str]:
        """What the workloads are called, as on the page of the study."""
        variants = [(row.workload, row.of.parameters) for row in self.rows]
        return short_labels(dict.fromkeys(variants), simulated=False)

    def _where(self, of: CellOfStudy) -> str:
        """Machine, study with its date, build: a line each."""
        study = ", ".join(filter(None, (self.folder.name, self.environment.date)))
        return f"{self.folder.parent.name}\n{study}\n{self.environment.arms[of.arm].text}"

    def _program(self, of: CellOfStudy, objective: str, rows: Iterable[Row]) -> str:
        """`echo · tls=off · uvloop`, and below it `2 threads on 3.14t, processes on 3.14`."""
        label, sizing = self._labels[of.workload, of.parameters], of.sizing
        parts = (label, objective, of.loop, "" if sizing == "weak" else sizing)
        over = [of.but(arm=row.over_arm) for row in rows if row.question == OVER_PROCESSES]
        beside = f", processes on {builds_of(over)}" if over else ""
        return f"{' · '.join(filter(None, parts))}\n{named(of)}{beside}"


def read_study(folder: Path) -> PublishedStudy:
    """The study that is published in a folder. Raises `UsageError` where a file cannot be read."""
    file = folder / ENVIRONMENT
    try:
        environment = msgspec.json.decode(text_in(file), type=Environment)
        file = folder / COMPARISON
        written = csv.DictReader(io.StringIO(text_in(file) if file.exists() else ""))
        given = [{name: value for name, value in row.items() if value} for row in written]
        return PublishedStudy(folder, environment, msgspec.convert(given, list[Row], strict=False))
    except msgspec.DecodeError as error:
        raise UsageError(f"{file}: {error}. Publish that study again") from None


def index_page(studies: Sequence[PublishedStudy]) -> str:
    """The HTML of some studies; the same files give the same page."""
    names = sorted({row.workload for each in studies for row in each.rows})
    grids = {name: found for name in names if (found := list(_grids(name, studies)))}
    of_programs = [found for name, found in grids.items() if is_counted(name)]
    return template("index.html").render(
        tables=[],
        parts=[
            PageSection("answer", "The verdicts, counted", [_counts(of_programs)]),
            *(
                PageSection(f"of-{slug(name)}", name, [Block(grids=of_one)])
                for name, of_one in grids.items()
            ),
            PageSection("studies", "Every study", [_list(studies)]),
        ],
    )


def _grids(workload: str, studies: Sequence[PublishedStudy]) -> Iterator[Grid]:
    """The tables of a workload that have a line, without the columns in which nothing stands."""
    for title, table in TABLES.items():
        found = [(each.page, line) for each in studies for line in each.lines(workload, table)]
        if not found:
            continue
        lines = [line for _, line in found]
        headings = ["where", "program", *table.values()]
        pages = [page for page, _ in found]
        grid = Grid(f"{workload}, {title}", headings, lines, words=2, pages=pages)
        used = [n for n in range(len(headings)) if any(line[n] != BLANK for line in lines)]
        yield grid.columns(used).noted(ratios_note(grid.estimates))


def _counts(grids: Iterable[Iterable[Grid]]) -> Block:
    """A sentence for each heading: `Throughput over processes: slower in 17 of 40 cases, …`."""
    ratios = {heading: list[RatioVerdict]() for of in TABLES.values() for heading in of.values()}
    for grid in chain.from_iterable(grids):
        for heading, *column in zip(grid.headings, *grid.rows, strict=True):
            if heading in ratios:
                ratios[heading] += [each for each in column if isinstance(each, RatioVerdict)]
    words = [f"{heading}: {counted(every)}." for heading, every in ratios.items() if every]
    return Block(words=[f"{each[0].upper()}{each[1:]}" for each in words])


def _list(studies: Sequence[PublishedStudy]) -> Block:
    """What each machine is, and a line for each study."""
    machines = {each.folder.parent.name: machine_text(each.environment.machine) for each in studies}
    headings = ["study", "machine", "date", "builds", "controls", "blocks", "runs"]
    lines = [each.about for each in studies]
    grid = Grid("Studies", headings, lines, words=5, pages=[each.page for each in studies])
    return Block(words=[f"{name}: {words}." for name, words in machines.items()], grids=[grid])


# -------------------------------------------------------------------------------------------- write


def is_index(file: Path) -> bool:
    """Whether a file is a page of published studies. Raises `UsageError` if it cannot be read."""
    return file.is_file() and TITLE in text_in(file)


def write_index(folder: Path, studies: Iterable[Path] | None = None) -> None:
    """Write the page of all studies in `folder`/MACHINE/STUDY, or of these alone.

    Raises:
        UsageError: a file of a study cannot be read, or the page cannot be written there.
        ScalingError: the disk is full or fails.
    """
    if studies is None:
        studies = (each for each in published_in(folder) if (each / ENVIRONMENT).is_file())
    page = index_page([read_study(each) for each in sorted(studies)])
    write_text(folder / PAGE, page, again="scaling publish")
