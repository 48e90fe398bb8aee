"""The shapes of everything that is written down: journal lines, a child's record, `--describe`.

They stand in one file because they are one agreement, between the child, the driver and the
analysis. Reading is tolerant: a field we do not know is passed over, a value that a machine could
not supply is None. Writing is whole: every field is written, so a journal explains itself.
Lists of one worker's ticks stay plain lists of integers; `scaling.frame.ticks` makes arrays.
"""

from typing import Any, Literal

import msgspec

SCHEMA = 1

type ParameterValue = bool | int | float | str | None
type Outcome = Literal["measured", "failed", "crashed", "timed-out", "garbled"]
type Region = Literal["cores", "smt", "oversubscribed"]


# --- what a child prints after a run ------------------------------------------------------------


class Ticks(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One worker's readings. Entry 0 opens the window, the last one closes it.

    All lists are equally long. Counters are cumulative since the worker began; times are
    CLOCK_MONOTONIC ns. `instant_ns` is when a tick was due, `time_ns` when it ran. A system that
    cannot say what CPU time or which faults a thread had gives None.
    """

    instant_ns: list[int] = []
    time_ns: list[int] = []
    operations: list[int] = []
    errors: list[int] = []
    bytes: list[int] = []
    cpu_ns: list[int | None] | None = None
    minor_faults: list[int | None] | None = None


class GilStates(msgspec.Struct, frozen=True, kw_only=True):
    """`sys._is_gil_enabled()` at four moments, and the import that switched it on, if one did."""

    started: bool | None = None
    imported: bool | None = None
    opened: bool | None = None
    closed: bool | None = None
    enabled_by: str | None = None

    @property
    def seen(self) -> tuple[bool, ...]:
        """The readings there are, in order of time."""
        moments = (self.started, self.imported, self.opened, self.closed)
        return tuple(state for state in moments if state is not None)


class ProcessFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a process that held workers says about itself. Counts and pauses are of the window."""

    version: str | None = None
    free_threaded: bool | None = None
    gil: GilStates = GilStates()
    allocator: str | None = None
    gc_enabled: bool | None = None
    gc_collections: int | None = None
    gc_pause_ns: int | None = None
    cpu_ns: int | None = None
    context_items: int | None = None
    thread_inherit_context: int | None = None
    context_aware_warnings: int | None = None
    os_threads: int | None = None
    open_files_limit: int | None = None
    debug: bool = False


class LoopFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The event loop really in use."""

    name: str
    class_: str | None = msgspec.field(default=None, name="class")
    version: str | None = None


class Instants(msgspec.Struct, frozen=True, kw_only=True):
    """Milestones of a child, CLOCK_MONOTONIC ns. `opened` and `closed` are as scheduled.

    Of a finite run they are the release and the last finish. The others are when the last worker
    had said so: imports done, warmed up, last tick taken, everything closed.
    """

    started: int | None = None
    imported: int | None = None
    ready: int | None = None
    opened: int | None = None
    closed: int | None = None
    measured: int | None = None
    report: int | None = None


class Latency(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How long operations took: a log-linear histogram, its non-empty buckets in rising order.

    `value_ns` are the lower edges of the buckets, `count` how many operations fell into each.
    """

    value_ns: list[int] = []
    count: list[int] = []


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One worker's part of a record. `process` is None where the top one holds (threads).

    `cpus` are those that the worker found itself on, where it was pinned. `hung` tells that it
    had not closed down when the host stopped waiting for it. A worker that `serves` only answers
    others' operations. `figures` are the workload's own, with their units in their names.

    In a finite run a worker is released, starts its first operation and finishes its last one at
    the instants told, and has two ticks: at its release and at its finish.
    """

    index: int
    ticks: Ticks = Ticks()
    process: ProcessFacts | None = None
    in_flight: int | None = None
    serves: bool = False
    busy_from_ns: int | None = None
    busy_until_ns: int | None = None
    released_ns: int | None = None
    started_ns: int | None = None
    finished_ns: int | None = None
    figures: dict[str, float] = {}
    latency: Latency | None = None
    cpus: list[int] | None = None
    errors: int = 0
    error_samples: list[str] = []
    pending_tasks: int = 0
    hung: bool = False


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a child gave up, in its own words."""

    phase: str
    error: str
    worker: int | None = None
    traceback: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What `python -m workers` prints: one run as its workers saw it."""

    schema: int
    outcome: Literal["measured", "failed"]
    finite: bool = False
    failure: Failure | None = None
    process: ProcessFacts = ProcessFacts()
    loop: LoopFacts | None = None
    facts: dict[str, str] = {}
    instants_ns: Instants = Instants()
    workers: list[WorkerRecord] = []


# --- what a child prints when asked what it can run ---------------------------------------------


class PythonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter and how it was built. `config_args` are without their paths."""

    version: str
    free_threaded: bool
    config_args: list[str] = []
    compiler: str | None = None
    pgo: bool | None = None
    lto: bool | None = None
    libc: str | None = None
    openssl: str | None = None
    allocator: str | None = None
    gil_enabled: bool | None = None
    thread_inherit_context: int | None = None
    context_aware_warnings: int | None = None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What an arm's child environment is made of: the interpreter and the packages in it."""

    python: PythonFacts
    packages: dict[str, str] = {}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A loop or a model: available, or `refused` with the reason."""

    version: str | None = None
    refused: str | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A model and loop that a workload cannot run under, and why.

    With `parameters`, it is refused with just those values of them.
    """

    model: str
    loop: str
    reason: str
    parameters: dict[str, ParameterValue] = {}


class ParameterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a workload: its type's name, default and limits."""

    type: str
    default: ParameterValue = None
    choices: list[str] | None = None
    at_least: float | None = None
    summary: str = ""


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One workload as its class describes it; `refused` says why it could not be imported.

    `scaled` are the parameters that say how much is done, which `--scale` multiplies.
    `descriptors` are the open files that each unit in flight holds.
    """

    path: str
    summary: str = ""
    operation: str = "operations"
    finite: bool = False
    scaled: list[str] = []
    in_flight: str | None = None
    descriptors: int = 0
    services: list[str] = []
    refused: str | None = None
    refusals: list[Refusal] = []
    parameters: dict[str, ParameterFacts] = {}


class Description(Environment, frozen=True, kw_only=True):
    """What `python -m workers --describe` prints."""

    schema: int
    loops: dict[str, Offer] = {}
    models: dict[str, Offer] = {}
    workloads: dict[str, WorkloadFacts] = {}


# --- what the journal keeps ---------------------------------------------------------------------


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One point of the study, as the journal names it. `parameters` are all of the workload's.

    `pinning` has the CPUs of each worker; None leaves that to the kernel. A `twin` repeats another
    cell in every block and differs from it in nothing: how far apart they come out is noise.
    """

    workload: str
    parameters: dict[str, ParameterValue] = {}
    loop: str
    arm: str
    model: str
    workers: int
    sizing: str = "weak"
    region: Region | None = None
    pinning: list[list[int]] | None = None
    twin: bool = False


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine, known by its description and a random id; it has no name here."""

    id: str
    cpu_model: str | None = None
    physical_cores: int | None = None
    logical_cpus: int | None = None
    usable_cpus: int | None = None
    efficiency_cpus: int | None = None
    numa_nodes: int | None = None
    cpu_quota: float | None = None
    memory_bytes: float | None = None
    kernel: str | None = None
    system: str | None = None
    libc: str | None = None
    virtualised: str | None = None


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """A build and its run-time settings (`gil`, `mimalloc`, `nogc`), as they were found.

    `runtime` is the version of another runtime than Python, which then has no description.
    """

    build: str
    settings: list[str] = []
    origin: str | None = None
    runtime: str | None = None
    description: Environment | None = None


class WorkloadNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure needs to know about a workload: the noun on its axes, chiefly."""

    operation: str = "operations"
    summary: str = ""
    in_flight: str | None = None
    finite: bool = False


class StudyLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="study"):
    """The first line of a journal: what was asked, where, and of which builds."""

    schema: int
    name: str
    machine: Machine
    study: dict[str, Any] = {}
    seed: int | None = None
    blocks: int | None = None
    arms: dict[str, Arm] = {}
    workloads: dict[str, WorkloadNote] = {}
    pins: str | None = None
    workers_source: str | None = None
    fingerprint: str | None = None
    scaling: str | None = None
    started_at: str | None = None


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The child's tree from outside: before traffic, in the window (RSS), at its end, its peak."""

    baseline_rss_bytes: int | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    uss_bytes: int | None = None
    peak_bytes: int | None = None
    samples: int | None = None


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine did besides during a run. Fractions are of all CPUs' time.

    `clock_step_s` is how far wall clock and monotonic clock moved apart meanwhile.
    """

    load_1m: float | None = None
    steal_fraction: float | None = None
    throttled_s: float | None = None
    other_cpu_fraction: float | None = None
    clock_step_s: float | None = None


class ServiceUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a helper process of the workload used during a run; `busy_fraction` of one core."""

    rss_bytes: int | None = None
    cpu_s: float | None = None
    busy_fraction: float | None = None


class RunLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="run"):
    """One run: which cell, when, how it ended, what the child and the probe saw."""

    cell: Cell
    outcome: Outcome
    block: int
    position: int
    attempt: int = 1
    at: str | None = None
    elapsed_s: float | None = None
    record: Record | None = None
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    memory: Memory = Memory()
    disturbance: Disturbance = Disturbance()
    services: dict[str, ServiceUse] = {}


class CeilingLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ceiling"):
    """What a service can deliver at most, with nothing but a load generator before it."""

    service: str
    requests_per_s: float | None = None
    mbytes_per_s: float | None = None


class SetAsideLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="set-aside"):
    """A line that a killed writer left half-done, kept word for word. No figure needs it."""

    text: str


type Line = StudyLine | RunLine | CeilingLine | SetAsideLine


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """The head of any line, ours or a later version's."""

    kind: str
    schema: int | None = None


KINDS = ("study", "run", "ceiling", "set-aside")

_encoder = msgspec.json.Encoder()
_lines: msgspec.json.Decoder[Line] = msgspec.json.Decoder(
    StudyLine | RunLine | CeilingLine | SetAsideLine,
)
_heads = msgspec.json.Decoder(Kind)
_records = msgspec.json.Decoder(Record)
_descriptions = msgspec.json.Decoder(Description)


def encode_line(line: Line, record: bytes | None = None) -> bytes:
    """One journal line, its newline included.

    `record` is what the child printed; given, it is kept with all its fields, also those that
    this version does not know, in place of the line's own `record`.
    """
    if record is None:
        return _encoder.encode(line) + b"\n"
    fields = msgspec.json.decode(_encoder.encode(line))
    fields["record"] = msgspec.json.decode(record)
    return _encoder.encode(fields) + b"\n"


def decode_line(data: bytes | str) -> Line | None:
    """A journal line, or None for a kind that this version does not know.

    Raises `msgspec.DecodeError` (of which `msgspec.ValidationError` is one) for anything else.
    """
    try:
        return _lines.decode(data)
    except msgspec.ValidationError:
        if _heads.decode(data).kind in KINDS:
            raise
        return None


def decode_head(data: bytes | str) -> Kind:
    """Kind and schema of a line of any version. Raises `msgspec.DecodeError`."""
    return _heads.decode(data)


def decode_record(data: bytes | str) -> Record:
    """A child's record. Raises `msgspec.DecodeError` if it is not one."""
    return _records.decode(data)


def decode_description(data: bytes | str) -> Description:
    """The `--describe` document. Raises `msgspec.DecodeError` if it is not one."""
    return _descriptions.decode(data)
