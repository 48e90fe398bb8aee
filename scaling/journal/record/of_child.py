"""The output of a child: the description of its environment (`--describe`), and a run's record.

A run is one cell as its workers saw it. The ticks of a worker are plain lists of integers;
`scaling.analysis.stacks` makes arrays. What a run has by the dozen is no part of a cycle, and
the garbage collector leaves it out (`gc`).
"""

from typing import Literal

import msgspec

type ParameterValue = bool | int | float | str | None


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
    """The child environment of an arm: the interpreter and the packages in it."""

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


class Uneven(msgspec.Struct, frozen=True, kw_only=True):
    """The reason work in flight cannot be dealt out evenly with these values of parameters."""

    reason: str
    parameters: dict[str, ParameterValue] = {}


class ParameterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a workload: its type's name, default and bounds; a default of 0 may be
    outside them.
    """

    type: str
    default: ParameterValue = None
    choices: list[str] | None = None
    at_least: float | None = None
    at_most: float | None = None
    summary: str = ""


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """The objects that a workload keeps in memory: as many as the parameter `count` says.

    An object takes at most the bytes that `bytes_each` has for the value of the parameter `by`.
    Workers in threads share one copy, unless a parameter has the value that `own_copies` names.
    With the one that `in_service` names all workers share one, which a service has.
    """

    what: str
    count: str
    by: str
    bytes_each: dict[str, int]
    own_copies: dict[str, str] = {}
    in_service: dict[str, str] = {}


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """The rounds of finite work: whole parts of it, one after the other.

    The parameter `amount` has the amount of all work, and `part` that of one part. Parts have no
    timers unless the parameter `delay` is above 0.
    """

    amount: str
    part: str
    delay: str


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One workload as its class describes it; `refused` says why it could not be imported.

    `operation` is what it counts, `sent` what a load generator sends it.
    `scaled` are the parameters that say how much is done, which `--scale` multiplies; it is done
    in multiples of the parameter `whole`, if there is one.
    `descriptors` are the open files that each unit in flight holds. `uneven` lists with which
    parameters work in flight cannot be dealt out evenly. `alone` is why its runs are not measured
    in turn with others; None if they can be: those of finite work by `rounds`. `holds` is what
    takes much memory. `divided` is the parameter that all workers divide, and the one that says in
    its place what each has.
    """

    path: str
    summary: str = ""
    operation: str = "operations"
    sent: str = "requests"
    finite: bool = False
    served: bool = False
    alone: str | None = "it does not say that it can be stopped"
    scaled: list[str] = []
    whole: str | None = None
    in_flight: str | None = None
    descriptors: int = 0
    services: list[str] = []
    holds: Holds | None = None
    rounds: Rounds | None = None
    divided: tuple[str, str] | None = None
    refused: str | None = None
    refusals: list[Refusal] = []
    uneven: list[Uneven] = []
    parameters: dict[str, ParameterFacts] = {}


class Description(Environment, frozen=True, kw_only=True):
    """The output of `python -m workers --describe`."""

    schema: int
    loops: dict[str, Offer] = {}
    models: dict[str, Offer] = {}
    workloads: dict[str, WorkloadFacts] = {}


# ----------------------------------------------------------------------------------- what a run was


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


class Slices(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The instants at which a worker's slices really opened and closed, CLOCK_MONOTONIC ns.

    Of finite work that was done in rounds they are the release and the finish of each. Its ticks
    leave out the time between them, in every column, so that one slice follows the other at once:
    the tick that closes a slice also opens the next one.
    """

    opened_ns: list[int] = []
    closed_ns: list[int] = []

    @property
    def left_out_ns(self) -> int:
        """The time between slices."""
        return sum(self.opened_ns[1:]) - sum(self.closed_ns[:-1])


class ThreadUse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The use of CPU by the thread of a worker's loop from its first to its last tick, ns.

    `user_ns` and `system_ns` are CPU time as the kernel divides it, which it samples at its own
    ticks. `collector_ns` is CPU time inside collections that ran in this thread. `process_cpu_ns`
    is the CPU time of all threads of its process. None where the system does not count it.
    """

    user_ns: int | None = None
    system_ns: int | None = None
    run_queue_ns: int | None = None
    collector_ns: int | None = None
    process_cpu_ns: int | None = None


class GilStates(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A switch of the arm as a process found it: an environment variable or a module's attribute.

    `value` is None where it is not there. `was_there` is whether the module had the attribute
    before the child set it; None for a variable.
    """

    name: str
    value: bool | int | float | str | None = None
    was_there: bool | None = None


class ProcessFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The report of a process that held workers. Counts and pauses are of the window.

    `hash_seed` is that of string hashes, `random` where none took effect.
    """

    version: str | None = None
    free_threaded: bool | None = None
    gil: GilStates = GilStates()
    allocator: str | None = None
    gc_enabled: bool | None = None
    gc_frozen: bool | None = None
    gc_threshold: int | None = None
    gc_collections: int | None = None
    gc_pause_ns: int | None = None
    switches: tuple[Switch, ...] = ()
    hash_seed: str | None = None
    cpu_ns: int | None = None
    context_items: int | None = None
    thread_inherit_context: int | None = None
    context_aware_warnings: int | None = None
    os_threads: int | None = None
    open_files_limit: int | None = None
    debug: bool = False


class LoopFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The event loop really in use."""

    name: str
    class_: str | None = msgspec.field(default=None, name="class")
    version: str | None = None


class Instants(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Milestones of a child, CLOCK_MONOTONIC ns. `opened` and `closed` are as scheduled.

    Of a finite run they are the release, of the first round if there are several, and the last
    finish. The others are when the last worker reported it: imports done, warmed up, last tick
    taken, everything closed.
    """

    started: int | None = None
    imported: int | None = None
    ready: int | None = None
    opened: int | None = None
    closed: int | None = None
    measured: int | None = None
    report: int | None = None


class Latency(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Durations of operations: a log-linear histogram, its non-empty buckets in rising order.

    `value_ns` are the lower edges of the buckets, `count` how many operations fell into each.
    """

    value_ns: list[int] = []
    count: list[int] = []


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One worker's part of a record. `process` is None where the top one holds (threads).

    `loop_class` is the class of its own loop. `eager_tasks` is whether its tasks start at once,
    `own_code` whether it shares no class or function of the workload with another worker.
    `cpus` are those that the worker found itself on, where it was pinned. `hung`: it
    had not closed down when the host stopped waiting for it. A worker that `serves` only answers
    others' operations. `figures` are the workload's own, with their units in their names.

    `use` is None for other runtimes than CPython, and for commands.

    In a finite run a worker is released, starts its first operation and finishes its last one at
    the recorded instants, and has two ticks: at its release and at its finish. In rounds it has a
    tick at the finish of each, and its clock goes on from there at the next release.

    `slices` is None where the window is one, as it is in all journals of 1.0. `thread` is where its
    loop ran: number of the process, and of the thread among the loops of that; None in journals of
    1.x.
    """

    index: int
    thread: tuple[int, int] | None = None
    ticks: Ticks = Ticks()
    slices: Slices | None = None
    use: ThreadUse | None = None
    process: ProcessFacts | None = None
    in_flight: int | None = None
    serves: bool = False
    loop_class: str | None = None
    eager_tasks: bool | None = None
    own_code: bool | None = None
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
    """The reason a child gave up, in its own words."""

    phase: str
    error: str
    worker: int | None = None
    traceback: str = ""


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """Observations of a command that was measured from outside.

    `workers` are the event loops that it made (None: it has none, or they are not known),
    `processes` all its processes. `at_rest`: none of them had anything to do before the load began
    (None: not known). The record has one worker in place of them all: operations are the answers
    that the load generator counted, CPU time is that of all processes. `cpu_ns` is that of each in
    the window, the busiest first; none in a journal before 2.0.
    """

    workers: int | None = None
    processes: int | None = None
    at_rest: bool | None = None
    cpu_ns: tuple[int, ...] = ()


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The output of `python -m workers`: one run as its workers saw it.

    `outside` is None unless the workers belong to a command.
    """

    schema: int
    outcome: Literal["measured", "failed"]
    finite: bool = False
    outside: Outside | None = None
    failure: Failure | None = None
    process: ProcessFacts = ProcessFacts()
    loop: LoopFacts | None = None
    facts: dict[str, str] = {}
    instants_ns: Instants = Instants()
    workers: list[WorkerRecord] = []

    @property
    def in_slices(self) -> bool:
        """True if the window was taken in slices."""
        return bool(self.workers) and self.workers[0].slices is not None

    @property
    def window_ns(self) -> int | None:
        """The time between the first and the last instant of the window that counts."""
        opened, closed = self.instants_ns.opened, self.instants_ns.closed
        if opened is None or closed is None:
            return None
        slices = self.workers[0].slices if self.workers else None
        return closed - opened - (slices.left_out_ns if slices else 0)
