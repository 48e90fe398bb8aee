"""The lines of a journal, those of runs above all, and how they and a child's output are read.

Reading is tolerant: an unknown field is ignored, a value that a machine could not
supply is None. Writing is whole: every field is written, so a journal explains itself.
"""

from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import msgspec

from scaling.journal.record.of_child import Description, Latency, ParameterValue, Record
from scaling.journal.record.of_study import (
    Cell,
    Parameters,
    Placement,
    RatesLine,
    Region,
    StudyLine,
)

# ----------------------------------------------------------------- what the load generator measured
# Measures of the load generator of a served workload in one run, from outside.


class Overload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of the window with `factor` times the rate, `after_s` from its start."""

    factor: float
    after_s: float
    lasts_s: float


class SubWindow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Answers to the requests due in one part of the window.

    `received` are the good answers that came in it, whenever they were due (None: not known).
    """

    answered: int = 0
    received: int | None = None


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of one run and what its clients saw.

    `rate_per_s` is what was asked for, of all workers together; None is a closed loop. Latency
    counts from the due time, `service` from the send, `slip` is how late the generator itself was.
    `first_byte` counts from the due time to the first byte of the body; unfinished ones are in it.
    `unfinished` are requests without an answer at the end, with their latency so far; `latency` has
    only answered ones. Of background requests, answered or not, the latency is in `background` and
    nowhere else; they count in all else. `busy_fraction` is the share of a core of the busiest
    generator process, `cpu_s` what all its processes used in the window. `cpus` are those that it
    had to itself and `worker_cpus` those of the workers' processes, both as read back (None: they
    shared all CPUs). `slice_ns` is the scheduling slice that it was granted, as read back.
    `windows` are equal parts of the window, in order; `overload` is a part with a higher rate.
    `declined` are requests that the server said it could not answer in time, by status: they are no
    errors, and in no latency. `elsewhere`, in journals of 1.x: the generator was on another host.

    Where messages are sent to `rooms` of connections, a request is a message, answered once the
    last member of its room has it. Members received `delivered_per_s` of them in the window.
    """

    rate_per_s: float | None = None
    overload: Overload | None = None
    arrivals: str = "poisson"
    keep_alive: bool = True
    connections: int = 0
    seed: int = 0
    processes: int = 1
    cpus: list[int] | None = None
    worker_cpus: list[int] | None = None
    python: str | None = None
    gil: bool | None = None
    loop: str | None = None
    timer: str | None = None
    slice_ns: int | None = None
    offered: int = 0
    completed: int = 0
    achieved_per_s: float = 0.0
    errors: dict[str, int] = {}
    declined: dict[str, int] = {}
    busy_fraction: float | None = None
    cpu_s: float | None = None
    latency: Latency = Latency()
    unfinished: Latency = Latency()
    service: Latency = Latency()
    first_byte: Latency = Latency()
    background: Latency = Latency()
    slip: Latency = Latency()
    windows: list[SubWindow] = []
    elsewhere: bool = False
    rooms: int | None = None
    delivered_per_s: float | None = None


# ---------------------------------------------------------------------------------------------- run

type Key = tuple[int, Cell, int]  # block, cell and repeat of a run
type Outcome = Literal["measured", "failed", "crashed", "timed-out", "garbled"]


class Memory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The child's tree from outside: before traffic, at the window's end, its peak.

    RSS, PSS and USS are read together at the end, while all workers still work. `pss_bytes`
    counts what processes of the tree share once, whatever processes outside the tree share it.
    `idle_pss_bytes` is that of servers that answer, before any load is sent to them.
    `window_rss_bytes` is the median of `samples` in the window; in journals of 1.0 `rss_bytes` is
    that median.
    """

    baseline_rss_bytes: int | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    idle_pss_bytes: int | None = None
    uss_bytes: int | None = None
    peak_bytes: int | None = None
    window_rss_bytes: int | None = None
    samples: int | None = None


class Disturbance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Other load of the machine during a run. Fractions are of all CPUs' time.

    `clock_step_s` is how far wall clock and monotonic clock moved apart meanwhile.
    """

    load_1m: float | None = None
    steal_fraction: float | None = None
    throttled_s: float | None = None
    other_cpu_fraction: float | None = None
    clock_step_s: float | None = None


class ServiceUse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The use of resources by a service of the workload during a run.

    `busy_fraction` is the share of one core that its busiest process used. `window_cpu_s` is the
    part of `cpu_s` in the window of a served workload. At its end, `memory_bytes` counts what its
    processes share once, and `connections` are those of its clients. Where it ended before the run
    did, `ended` says how. `facts` are version and settings; of an `installed` server, which belongs
    to the user, there are no figures.
    """

    rss_bytes: int | None = None
    cpu_s: float | None = None
    busy_fraction: float | None = None
    window_cpu_s: float | None = None
    memory_bytes: int | None = None
    connections: int | None = None
    ended: str = ""
    facts: dict[str, str] = {}


class Waits(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Samples of the thread of each worker's loop, taken from outside in its window.

    `calls` has the samples of each worker, in their order: how many by the name of the call that it
    waited in, `running` where it waited in none. They were read from `source`, a file in
    /proc/PID/task/TID, at `rate_per_s` for each worker. The sampler worked for `took_s`, a little
    longer than the window, and used `cost_s` of CPU time.
    """

    source: Literal["syscall", "wchan"]
    rate_per_s: float
    took_s: float = 0.0
    cost_s: float = 0.0
    calls: list[dict[str, int]] = []


class RunLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="run"):
    """One run: which cell, when, how it ended, what child, probe and load generator saw.

    `repeat` is 1 for the second run of an A/A pair. A journal has it and the `placement` among the
    fields of the cell: as `twin`, `region` and `pinning`.

    `waits` is None where the system does not permit it, for commands that are measured from
    outside, and for other runtimes than CPython. Runs of a block with the same `group` were alive
    together and took turns; None: it was `alone`, for this reason, if that is known.
    `out_of_turn_cpu_s` are CPU seconds that such a run, its load generator and its services used
    while others had their turn, once it was ready: about 0 where it is stopped. In the group's
    `disturbance` they are other load.
    """

    cell: Cell
    outcome: Outcome
    block: int
    position: int
    attempt: int = 1
    group: int | None = None
    alone: str | None = None
    at: str | None = None
    elapsed_s: float | None = None
    record: Record | None = None
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    memory: Memory = Memory()
    disturbance: Disturbance = Disturbance()
    services: dict[str, ServiceUse] = {}
    load: Load | None = None
    waits: Waits | None = None
    out_of_turn_cpu_s: float | None = None
    placement: Placement = Placement()
    repeat: int = 0

    @property
    def key(self) -> Key:
        """The key of the run in the study; later attempts at the same run have it, too."""
        return self.block, self.cell, self.repeat


class DamagedRun(RunLine, frozen=True, kw_only=True):
    """A run whose ticks in the journal are damaged; it has none."""


# -------------------------------------------------------------------------------------------- lines

SCHEMA = 1  # of all of the shapes


class CeilingLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ceiling"):
    """The most that a service can deliver, loaded by a client that only counts.

    `parameters` are those that the service was started with, `processes` how many it had.
    """

    service: str
    parameters: dict[str, ParameterValue] = {}
    processes: int = 1
    requests_per_s: float | None = None
    mbytes_per_s: float | None = None


class SetAsideLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="set-aside"):
    """A line that a killed writer left half-done, kept word for word. No figure needs it."""

    text: str


type Line = StudyLine | RunLine | CeilingLine | RatesLine | SetAsideLine


class LineHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of any line, ours or a later version's."""

    kind: str
    schema: int | None = None


KINDS = tuple(each.__struct_config__.tag for each in get_args(Line.__value__))


def _plain(value: object) -> object:
    """The plain value of an object that msgspec cannot encode."""
    if isinstance(value, Parameters):
        return value.plain
    raise NotImplementedError(f"cannot be encoded: {type(value)}")


class _OfRun(msgspec.Struct, frozen=True, gc=False):
    """Fields of a run that a journal has among those of its cell."""

    region: Region | None = None
    pinning: tuple[tuple[int, ...], ...] | None = None
    twin: bool = False


class _OfLine(msgspec.Struct, frozen=True):
    cell: msgspec.Raw


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_lines: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line.__value__)
_of_line = msgspec.json.Decoder(_OfLine)
_cell, _of_run = msgspec.json.Decoder(Cell), msgspec.json.Decoder(_OfRun)

# Each raises `msgspec.DecodeError` for anything else.
decode_head = msgspec.json.Decoder(LineHead).decode  # kind and schema of a line of any version
decode_record = msgspec.json.Decoder(Record).decode  # what a child wrote
decode_description = msgspec.json.Decoder(Description).decode  # the `--describe` document


def encode_line(line: Line, record: bytes | None = None) -> bytes:
    """One journal line, its newline included.

    `record` is what the child printed; given, it is kept with all its fields, also those that
    this version does not know, in place of the line's own `record`.
    """
    if not isinstance(line, RunLine):
        return _encoder.encode(line) + b"\n"
    fields = msgspec.json.decode(_encoder.encode(line))
    fields["cell"] |= fields.pop("placement") | {"twin": bool(fields.pop("repeat"))}
    if record is not None:
        fields["record"] = msgspec.json.decode(record)
    return _encoder.encode(fields) + b"\n"


def decode_line(data: bytes | str) -> Line | None:
    """A journal line, or None for a kind that this version does not know.

    If the ticks of a run are damaged, it is a `DamagedRun`: invalid, and can be made again.

    Raises `msgspec.DecodeError` (of which `msgspec.ValidationError` is one) for anything else.
    """
    text = data.encode() if isinstance(data, str) else data
    try:
        return _decoded(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        split = decode_split(text)
        if isinstance(split, SplitRun):
            return DamagedRun(**msgspec.structs.asdict(split.run))
        return split


def _decoded(text: bytes) -> Line | None:
    try:
        line = _lines.decode(text)
    except msgspec.ValidationError:
        if decode_head(text).kind in KINDS:
            raise
        return None
    if isinstance(line, RunLine):
        try:  # the cell comes first, as `encode_line` writes it
            places = _places(text[: text.find(b',"outcome"')])
        except msgspec.DecodeError:
            places = _places(text.rstrip().removesuffix(b"}"))
        cell, placement, repeat = places
        msgspec.structs.force_setattr(line, "cell", cell)
        msgspec.structs.force_setattr(line, "placement", placement)
        msgspec.structs.force_setattr(line, "repeat", repeat)
    return line


@lru_cache(maxsize=4096)
def _places(begins: bytes) -> tuple[Cell, Placement, int]:
    """The cell of a line that begins so, where the cell ran, and the repeat.

    Many lines begin the same, so that most of them are not read twice.
    """
    text = bytes(_of_line.decode(begins + b"}").cell)
    cell, own = _cell.decode(text), _of_run.decode(text)
    return cell, Placement(region=own.region, pinning=own.pinning), int(own.twin)


TICKS = b'"ticks":{'
UNKNOWN = b'"":0'  # a field in its place, which is ignored


class SplitRun(NamedTuple):
    """A run without the ticks of its workers, and these as text, in their order."""

    run: RunLine
    ticks: list[bytes]


def decode_split(data: bytes) -> Line | SplitRun | None:
    """A journal line as `decode_line` has it, but with the ticks of a run as text.

    They are nearly all of a line. No string has `TICKS` in it: its quotes would be escaped.
    """
    begin, *workers = data.split(TICKS)
    halves = [text.partition(b"}") for text in workers]
    line = _decoded(UNKNOWN.join([begin, *[rest for _, _, rest in halves]]))
    if not isinstance(line, RunLine):
        return line
    return SplitRun(line, [ticks for ticks, _, _ in halves])
