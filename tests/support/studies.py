"""Fake studies: complete and seeded, without measuring anything.

    FakeStudy(workers=(1, 2), blocks=8).study.ratios
    FakeStudy(arms=("3.14", "3.14t"), change=disturbed).frame
    FakeStudy(variants={"sleep": [{}]}, change=finite(lambda _: 2.0)).write(tmp_path)

Nothing is written but by `write`. `tests.support.served_studies` has those with a load.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scaling.analysis.rows import Rows
from scaling.analysis.table.load import Gathered, Journal, read_journal, rows_of
from scaling.analysis.tables.study import Study
from scaling.builds.arms import parse_arm
from scaling.journal.file import FILE_NAME
from scaling.journal.record import (
    ArmRecord,
    CeilingLine,
    Cell,
    Environment,
    Line,
    Machine,
    ParameterValue,
    Placement,
    PythonFacts,
    Record,
    Region,
    RunLine,
    StudyLine,
    WorkloadNote,
    encode_line,
)
from scaling.study.plan.order import Slot, repeated
from tests.support.runs import STARTED_AT, Change, RunModel, promised, with_
from tests.support.terms import TermsOf, frame_with_terms

OPERATIONS = {"echo": "round trips", "scrape": "stories", "compute": "batches", "stream": "MiB"}
SERVICES = {"scrape": ["site"], "fetch": ["responder"]}

type Variants = Mapping[str, Sequence[Mapping[str, ParameterValue]]]


@dataclass(frozen=True, kw_only=True, eq=False)
class FakeStudy(RunModel):
    """A study of every workload, parameters, sizing, arm, loop, model and N, or of given `cells`.

    With `configurations`, pairs of arm and model, these stand in place of `arms` and `models`. With
    `aa_pairs` every workload has its A/A pairs, as in a real study. Every run is made by
    `RunModel` and then changed by `change`. `options` are what the study was asked besides, `head`
    replaces fields of the first line (`with_`). With `terms`, runs have readings of where their
    time went, by arm, model and N, and the throughput that follows, but for `terms_noise`.
    """

    name: str = "made"
    cells: Sequence[Cell] = ()
    variants: Variants = field(default_factory=lambda: {"echo": [{"payload_bytes": 1024}]})
    arms: Sequence[str] = ("3.14t",)
    loops: Sequence[str] = ("asyncio",)
    models: Sequence[str] = ("threads",)
    configurations: Sequence[tuple[str, str]] = ()
    workers: Sequence[int] = (1, 2, 4)
    sizings: Sequence[str] = ("weak",)
    blocks: int = 3
    seed: int = 1
    aa_pairs: bool = False
    margin: float = 0.02
    change: Change | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    head: Mapping[str, Any] = field(default_factory=dict)
    ceilings: Sequence[CeilingLine] = ()
    terms: TermsOf | None = None
    terms_noise: float = 0.01

    @cached_property
    def every_cell(self) -> list[Cell]:
        """The cells of a block in no order."""
        return list(self.cells or self._product())

    @property
    def slots(self) -> list[Slot]:
        """What a block consists of: the cells, and those of A/A pairs once more."""
        twice = repeated(self.every_cell, self.region) if self.aa_pairs else ()
        return [*map(Slot, self.every_cell), *(Slot(cell, 1) for cell in twice)]

    @cached_property
    def first_line(self) -> StudyLine:
        """The study, machine and builds."""
        arms = dict.fromkeys([*self._arms, *(cell.arm for cell in self.cells)])
        line = StudyLine(
            schema=1,
            name=self.name,
            study={
                "name": self.name,
                "window_s": self.window_s,
                "warmup_s": 0.3,
                "margin": self.margin,
                **self.options,
            },
            seed=self.seed,
            blocks=self.blocks,
            machine=Machine(
                id="5ca1ab1e",
                cpu_model="Example CPU @ 3.00GHz",
                physical_cores=self.cores,
                logical_cpus=self.logical,
                usable_cpus=self.logical,
                memory_bytes=16 * 2**30,
                kernel="Linux 6.1",
                system="Linux",
                libc="glibc 2.36",
                virtualised="kvm",
            ),
            arms={name: arm(name) for name in arms},
            workloads=self._notes(),
            scaling="1.0.0",
            started_at=f"{STARTED_AT:%Y-%m-%dT%H:%M:%SZ}",
        )
        return with_(line, **self.head)

    @cached_property
    def runs(self) -> list[RunLine]:
        """One run per cell and block, in a seeded random order."""
        rng, draws = random.Random(self.seed), np.random.default_rng(self.seed)
        runs = []
        for block in range(self.blocks):
            order = self.slots
            rng.shuffle(order)
            for position, (cell, repeat) in enumerate(order):
                run = self.run(cell, rng, block=block, position=position)
                placement = Placement(region=self.region(cell.workers))
                run = with_(run, placement=placement, repeat=repeat)
                run = self._loaded(run, draws)
                runs.append(self.change(run) if self.change else run)
        return runs

    @property
    def lines(self) -> list[Line]:
        """The lines of the journal."""
        return [self.first_line, *self.runs, *self.ceilings]

    @cached_property
    def journal(self) -> Journal:
        """The study in memory, as if it had been read from a file: its path is of none."""
        found = in_memory(self.lines)
        if self.terms is None:
            return found
        frame = frame_with_terms(found.frame, self.terms, noise=self.terms_noise)
        return Journal(found.path, found.study, frame, found.ceilings, found.notes)

    @property
    def frame(self) -> pd.DataFrame:
        """A row per run, as `scaling.load` gives them."""
        return self.journal.frame

    @property
    def row(self) -> dict[str, Any]:
        """The row of a study of one run."""
        (found,) = self.rows
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the frame."""
        return [{str(k): v for k, v in row.items()} for row in self.frame.to_dict("records")]

    @cached_property
    def study(self) -> Study:
        """The five tables."""
        return Study.of(self.journal)

    def write(self, folder: Path, name: str = FILE_NAME) -> Path:
        """Write the journal into a folder, which is made; return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        return write(self.lines, folder / name)

    def read(self, folder: Path) -> Journal:
        """The study, written to `folder` and read back."""
        return read_journal(self.write(folder))

    @property
    def _arms(self) -> list[str]:
        configured = [arm for arm, _ in self.configurations]
        return list(dict.fromkeys(configured or self.arms))

    def _product(self) -> Iterator[Cell]:
        curves = list(product(self.arms, self.loops, self.models))
        if self.configurations:
            pairs = product(self.configurations, self.loops)
            curves = [(arm, loop, model) for (arm, model), loop in pairs]
        for workload, variants in self.variants.items():
            every = product(variants, self.sizings, curves, self.workers)
            for parameters, sizing, (arm, loop, model), n in every:
                yield Cell(
                    workload=workload,
                    parameters=dict(parameters),
                    loop=loop,
                    arm=arm,
                    model=model,
                    workers=n,
                    sizing=sizing,
                )

    def region(self, n: int) -> Region:
        """Where on the machine N workers are."""
        if n <= self.cores:
            return "cores"
        return "smt" if n <= self.logical else "oversubscribed"

    def _notes(self) -> dict[str, WorkloadNote]:
        names = dict.fromkeys(cell.workload for cell in self.cells) or self.variants
        return {
            name: WorkloadNote(
                operation=OPERATIONS.get(name, "operations"), services=SERVICES.get(name, [])
            )
            for name in names
        }

    def _loaded(self, run: RunLine, draws: np.random.Generator) -> RunLine:
        """The run, with a load where the study has one."""
        return run


def in_memory(lines: Iterable[Line]) -> Journal:
    """A journal of these lines, the study's first, that no file has."""
    first, *others = lines
    assert isinstance(first, StudyLine)
    runs = [line for line in others if isinstance(line, RunLine)]
    ceilings = [line for line in others if isinstance(line, CeilingLine)]
    path = Path("results", first.name, FILE_NAME)
    gathered = Gathered(first, [])
    gathered.add(runs)
    gathered.end_part()
    return Journal(path, first, gathered.frame(), ceilings, [])


def write(lines: Iterable[Line], path: Path) -> Path:
    """Write a journal of these lines; return its path."""
    path.write_bytes(b"".join(encode_line(line) for line in lines))
    return path


@cache
def arm(name: str) -> ArmRecord:
    """The build and the settings of an arm of Python, as a study finds them."""
    build, *settings = name.split("+")
    free = build.endswith("t")
    python = PythonFacts(
        version="3.14.7",
        free_threaded=free,
        config_args=["--disable-gil"] if free else [],
        compiler="GCC 12.2.0",
        pgo=False,
        lto=False,
        libc="glibc 2.36",
        openssl="OpenSSL 3.0.19",
        allocator="mimalloc" if free else "pymalloc",
        gil_enabled=not free,
    )
    packages = {"aiohttp": "3.14.5", "uvloop": "0.23.0"}
    return ArmRecord(
        build=build,
        settings=settings,
        origin="built",
        description=Environment(python=python, packages=packages),
        expected=promised(name),
    )


def runtime(name: str, version: str) -> ArmRecord:
    """An arm that is not Python."""
    return ArmRecord(build=name, runtime=version, expected=parse_arm(name).expected)


def where(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    """The rows of a table that have these values."""
    for name, value in values.items():
        table = table[table[name] == value]
    return table


def one(table: pd.DataFrame, **values: object) -> dict[Any, Any]:
    """The one row of a table that has these values."""
    (found,) = where(table, **values).to_dict("records")
    return found


def place(cell: Cell) -> tuple[str, str, int]:
    """Arm, model and N of a cell."""
    return cell.arm, cell.model, cell.workers


def threads(factor: float = 1.0, **asked: Any) -> FakeStudy:
    """A study whose threads on 3.14t do `factor` times 1, 1.8 and 2.4 with N = 1, 2 and 4, on two
    cores.
    """
    speeds = {("3.14t", "threads", n): factor * each for n, each in ((1, 1.0), (2, 1.8), (4, 2.4))}
    usual = {"blocks": 8, "workers": (1, 2), "noise": 0.005, "ticks": 4, "speeds": speeds}
    return FakeStudy(**{**usual, **asked})


def with_settings(factors: Mapping[str, float], **asked: Any) -> FakeStudy:
    """A study of two threads on 3.14t alone and with each of these settings, which is the question:
    it multiplies what they do by its factor.
    """
    arms = {"3.14t": 1.0, **{f"3.14t+{name}": factor for name, factor in factors.items()}}
    usual = {
        "arms": tuple(arms),
        "workers": (1, 2),
        "blocks": 8,
        "noise": 0.002,
        "ticks": 4,
        "speeds": {(arm, "threads", n): n * arms[arm] for arm in arms for n in (1, 2)},
        "options": {"primary": ["setting"]},
    }
    return FakeStudy(**{**usual, **asked})


def columns_of(*records: Record | None) -> Rows:
    """The columns of runs that have these records, in that order."""
    made = FakeStudy(workers=(1,))
    cell = made.every_cell[0]
    runs = [
        RunLine(cell=cell, outcome="measured", block=0, position=0, record=each) for each in records
    ]
    return rows_of(runs, made.first_line)


def figures_of(record: Record, names: Sequence[str]) -> dict[str, float]:
    """Some columns of one run."""
    rows = columns_of(record)
    return {name: float(rows[name][0]) for name in names}
