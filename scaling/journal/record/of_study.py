"""The study as its journal begins: the cells it is made of, the machine and the builds.

A cell is frozen and hashable, so that it is the key of whatever is known of it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from scaling.journal.record.of_child import Environment, ParameterValue

# --------------------------------------------------------------------------------------------- cell

type Region = Literal["cores", "smt", "oversubscribed"]

_encoder = msgspec.json.Encoder(order="sorted")


class Parameters(Mapping[str, ParameterValue]):
    """The parameters of a workload in the order of their names: a mapping that is never changed.

    They are sorted when they are first looked at: most cells of a journal are read and not used.
    """

    __slots__ = ("_given", "_sorted", "_text")

    def __init__(self, values: Mapping[str, ParameterValue]) -> None:
        self._given = dict(values)
        self._sorted: dict[str, ParameterValue] | None = None
        self._text = ""

    @property
    def _values(self) -> dict[str, ParameterValue]:
        if self._sorted is None:
            self._sorted = dict(sorted(self._given.items()))
        return self._sorted

    @classmethod
    def of(cls, values: Mapping[str, ParameterValue]) -> "Parameters":
        """The parameters with these values."""
        return values if type(values) is Parameters else cls(values)

    @classmethod
    def read(cls, text: str) -> "Parameters":
        """The parameters that this JSON has."""
        return cls(json.loads(text))

    @property
    def text(self) -> str:
        """The same as JSON."""
        self._text = self._text or _encoder.encode(self._values).decode()
        return self._text

    @property
    def plain(self) -> dict[str, ParameterValue]:
        """The same as a dict of its own."""
        return dict(self._values)

    def without(self, *names: str) -> "Parameters":
        """The same without some of them."""
        return Parameters({name: self[name] for name in self if name not in names})

    def __getitem__(self, name: str) -> ParameterValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, Parameters) else other)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"Parameters({self._values})"


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the study: what is measured, wherever it runs and however often.

    `parameters` are all of the workload's.
    """

    workload: str
    parameters: Mapping[str, ParameterValue] = Parameters({})
    loop: str
    arm: str
    model: str
    workers: int
    sizing: str = "weak"

    def __post_init__(self) -> None:
        """Make the parameters hashable, however they were given."""
        msgspec.structs.force_setattr(self, "parameters", Parameters.of(self.parameters))


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a cell's workers on the machine, which follows from their number.

    `pinning` has the CPUs of each worker; None leaves that to the kernel.
    """

    region: Region | None = None
    pinning: tuple[tuple[int, ...], ...] | None = None


# --------------------------------------------------------------------------------------- first line


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine, known by its description and a random id; it has no name here."""

    id: str
    cpu_model: str | None = None
    physical_cores: int | None = None
    logical_cpus: int | None = None
    usable_cpus: int | None = None
    efficiency_cpus: int | None = None
    numa_nodes: int | None = None
    caches: int | None = None
    cpu_quota: float | None = None
    memory_bytes: float | None = None
    kernel: str | None = None
    system: str | None = None
    libc: str | None = None
    virtualised: str | None = None


class ReadBack(msgspec.Struct, frozen=True, kw_only=True):
    """The required report of every process of an arm; a run with any other is invalid.

    A runtime that has no GIL, allocator or collector to choose reports None. `gc_threshold`,
    `eager_tasks` and `own_code` are set where the arm changes them. `switches` are values by name,
    `facts` what the workload must say of itself. `loop_class` is set where the arm has
    one loop of its own; on Python the loop of the cell decides
    (`scaling.analysis.validity.promises`).
    """

    gil_enabled: bool | None = None
    allocator: str | None = None
    gc_enabled: bool | None = None
    gc_threshold: int | None = None
    switches: dict[str, bool | int | float | str] = {}
    eager_tasks: bool | None = None
    own_code: bool | None = None
    facts: dict[str, str] = {}
    loop_class: str | None = None


class ArmRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A build and its run-time settings (`scaling.builds.settings`), as they were found.

    `runtime` is the version of a runtime other than Python, which then has no description.
    `expected` is what the settings meant when the study was made.
    """

    build: str
    settings: list[str] = []
    origin: str | None = None
    runtime: str | None = None
    description: Environment | None = None
    expected: ReadBack


class WorkloadNote(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a workload that tables and figures need: above all the noun on the axes.

    `operation` is what it counts, and `sent` what a load generator sends it: rates of an open loop
    are of that.
    """

    operation: str = "operations"
    sent: str = "requests"
    summary: str = ""
    in_flight: str | None = None
    finite: bool = False
    served: bool = False
    services: list[str] = []


class RefusedCells(msgspec.Struct, frozen=True, kw_only=True):
    """Cells that a study asks for and that cannot be run on these arms, for one reason."""

    workload: str
    arms: tuple[str, ...]
    model: str
    loop: str
    sizing: str
    reason: str


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The source of rates: the peak of the baseline in a closed loop, in requests per second.

    The rates are those of the `workload` with these `parameters`, whatever its others: by the name
    that stands for each in the study ("grid 3 of 8", "50%"). `peak_per_s` is the median of
    `runs_per_s`, which are those of `baseline`, the best of the cells that were tried.
    """

    workload: str
    parameters: dict[str, ParameterValue] = {}
    baseline: Cell
    peak_per_s: float
    runs_per_s: list[float] = []
    rates: dict[str, float] = {}


class StudyLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="study"):
    """The first line of a journal: the study, the machine and the builds.

    `order` is the version of the order of the runs (`scaling.study.plan.order`): only a study in
    the same order is resumed. `calibrations` say what the names of rates in `study` stand for: they
    are no part of what was asked, and come with a `RatesLine` (older journals have them here). The
    runs of a `simulated` study were not measured: they follow from a law with noise. `refused` is
    what the plan left out. `runs_per_block` counts cells and the second ones of A/A pairs; of the
    blocks of headline groups alone, `headline_runs` counts those of each workload.
    """

    schema: int
    name: str
    machine: Machine
    simulated: bool = False
    study: dict[str, Any] = {}
    seed: int | None = None
    blocks: int | None = None
    runs_per_block: int | None = None
    headline_runs: dict[str, int] = {}
    order: int | None = None
    calibrations: list[Calibration] = []
    arms: dict[str, ArmRecord] = {}
    workloads: dict[str, WorkloadNote] = {}
    refused: list[RefusedCells] = []
    pins: str | None = None
    workers_source: str | None = None
    own_source: str | None = None
    fingerprint: str | None = None
    scaling: str | None = None
    started_at: str | None = None


class RatesLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="rates"):
    """The rates of a study. Appended when the calibration is done, in the first block.

    A resumed study keeps them. Two rates that come out equal are one, so the counts of the study
    line may change.
    """

    calibrations: list[Calibration]
    runs_per_block: int
    headline_runs: dict[str, int] = {}

    def of(self, study: StudyLine) -> StudyLine:
        """The study with these rates."""
        return msgspec.structs.replace(study, **msgspec.structs.asdict(self))
