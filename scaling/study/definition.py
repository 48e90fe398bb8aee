"""The options of a study, each declared once, as a field of `Study`.

From a field follow its key in study files, its flag on the command line, its check, its place in
the journal's first line, in the JSON Schema of study files and in `options.md`. To add an option,
add its field.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import msgspec

from scaling.base.errors import UsageError
from scaling.base.models import MODELS
from scaling.base.vocabulary import MAY_BE_PRIMARY, PRIMARY_QUESTIONS, SIZINGS, CountWord
from scaling.study import kinds
from scaling.study.application_note import ApplicationNote
from scaling.study.kinds import Kind
from scaling.study.presets import GRID_RATES, MARGIN, PRESETS, RATES_MOST

# --------------------------------------------------------------------------------------- definition

# Two cells that differ by more than a tenth are not the same for anybody.
LEAST_MARGIN, MOST_MARGIN = 0.001, 0.1

WHAT, EFFORT = "What is measured", "How long"  # headings of `--help`

_PRESETS = ", ".join(f"{name} ({preset.blocks} blocks)" for name, preset in PRESETS.items())


@dataclass(frozen=True)
class Option:
    """The declaration of an option; `key` and `default` are those of the field.

    `flag` is the flag on the command line, of a switch with the flag that turns it off; an option
    without a flag is for study files alone. An option with `usual` can also stand in a
    `[[workloads]]` table; `usual` is its default if neither the study nor the workload has it.
    """

    kind: Kind
    help: str
    flag: str = ""
    group: str = WHAT
    usual: tuple[str, ...] = ()
    key: str = ""
    default: Any = None


REQUIRED: Any = MISSING


def option[T](
    default: T,
    kind: Kind,
    about: str,
    flag: str = "",
    group: str = WHAT,
    usual: tuple[str, ...] = (),
) -> T:
    """Declare an option as a field, with its default or `REQUIRED`."""
    metadata = {"option": Option(kind, about, flag, group, usual)}
    made: T = field(default=default, metadata=metadata)
    return made


def declared(asked: type) -> dict[str, Option]:
    """The options that a dataclass declares, by key, in order."""
    found = {}
    for each in fields(asked):
        if "option" in each.metadata:
            own: Option = each.metadata["option"]
            default = None if each.default is MISSING else own.usual or each.default
            found[each.name] = replace(own, key=each.name, default=default)
    return found


@dataclass(frozen=True, kw_only=True)
class Lists:
    """The options that each workload can override. An empty list is not set."""

    loops: tuple[str, ...] = option(
        (),
        kinds.NAMES,
        "Event loops: asyncio,uvloop. Libraries, too: trio, anyio/trio.",
        "--loop",
        usual=("asyncio",),
    )
    workers: tuple[int | CountWord, ...] = option(
        (),
        kinds.COUNTS,
        "Numbers of workers: 1,2,4. Or words: 1..cores (1, 2, 4, … up to all cores, and cores "
        "of one kind and of one NUMA node), cores, cpus, 2x-cpus. By default all of these words.",
        "--workers",
    )
    arms: tuple[str, ...] = option(
        (),
        kinds.NAMES,
        "Builds of Python, with settings: 3.14,3.14t+gil. By default the build in use.",
        "--arm",
    )
    models: tuple[str, ...] = option(
        (),
        kinds.MODELS,
        f"What a worker is: {', '.join(MODELS)}. mixed:4 has 4 threads in each process; mixed or "
        "mixed:cache as many as cores share a cache, mixed:node as many as a NUMA node has cores.",
        "--model",
        usual=("threads",),
    )
    sizing: tuple[str, ...] = option(
        (),
        kinds.some_of(SIZINGS, "sizing"),
        "Work in flight: weak (fixed per worker) or strong (fixed in total).",
        "--sizing",
        usual=("weak",),
    )

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of workers; of a settled entry, which has no words, all of them."""
        return tuple(each for each in self.workers if isinstance(each, int))


# The lists that a workload's entry may override, and the command line above it.
ENTRY_LISTS = tuple(declared(Lists))


@dataclass(frozen=True, kw_only=True)
class WorkloadEntry(Lists):
    """One `[[workloads]]` table of a study: a workload, and the lists that it overrides.

    `name` is a built-in name or `package.module:Name`. A list among the `parameters` is a sweep.
    Parameters are checked against the workload's description later (`scaling.study.settle`).
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Override(NamedTuple):
    """One `--set workload.parameter=value[,value…]`, its values still text."""

    workload: str
    parameter: str
    values: tuple[str, ...]

    @property
    def where(self) -> str:
        """The flag and its target, for messages."""
        return f"--set {self.workload}.{self.parameter}"

    def __str__(self) -> str:
        return f"{self.workload}.{self.parameter}={','.join(self.values)}"


def parse_override(text: str, where: str = "--set") -> Override:
    """Read `workload.parameter=value[,value…]`; the name of the workload may contain dots.

    Raises:
        UsageError: not of that form.
    """
    target, equals, values = text.partition("=")
    workload, dot, parameter = target.strip().rpartition(".")
    if not (equals and dot and workload and parameter):
        raise UsageError(
            f"{where} {text}: expected workload.parameter=value, such as "
            f"echo.payload_bytes=256,1024"
        )
    return Override(workload, parameter, tuple(value.strip() for value in values.split(",")))


@dataclass(frozen=True, kw_only=True)
class Study(Lists):
    """A study as it is asked for.

    `workers` is empty if the machine's topology decides. `source` names the study file in messages,
    and `overrides` come from `--set`: both are empty once the study is settled. `time_s` is None
    once Ns and blocks are chosen (`scaling.study.plan.budget`). `application` is set in a study of
    `scaling app`.
    """

    rates: int = option(
        GRID_RATES,
        kinds.count_up_to(RATES_MOST),
        f'Number of rates that rate_per_s = "grid" stands for ({GRID_RATES}).',
        "--rates",
    )
    slo: tuple[str, ...] = option(
        (),
        kinds.OBJECTIVES,
        "Latency objectives, to measure the capacity at each: p99<20ms.",
        "--slo",
    )
    scale: float = option(
        1.0,
        kinds.FACTOR,
        "Multiply the amounts of finite workloads by this: 0.01 for a quick look.",
        "--scale",
    )
    controls: bool = option(
        True,
        kinds.SWITCH,
        "Also run the control workloads (compute, shared) if the study has none, "
        "in windows of at most 2 s.",
        "--controls/--no-controls",
    )
    aa_pairs: bool = option(
        True,
        kinds.SWITCH,
        "Run some cells of each workload twice in every block, to measure the noise.",
        "--aa-pairs/--no-aa-pairs",
    )
    alternate: bool = option(
        True,
        kinds.SWITCH,
        "Measure cells whose ratio is asked for in turn, in short slices of their windows.",
        "--alternate/--no-alternate",
        EFFORT,
    )
    pin: bool = option(
        False,
        kinds.SWITCH,
        "Pin each worker to a CPU of its own: one per core first, then SMT siblings.",
        "--pin/--no-pin",
    )
    primary: tuple[str, ...] | None = option(
        None,
        kinds.some_of(MAY_BE_PRIMARY, "question"),
        f"Questions whose headline ratios are primary: {', '.join(MAY_BE_PRIMARY)} (by default "
        f"{' and '.join(PRIMARY_QUESTIONS)}).",
    )
    preset: str = option(
        REQUIRED,
        kinds.one_of(PRESETS, "preset"),
        f"Number of blocks and length of the window: {_PRESETS}. A study may define its own.",
        "--preset",
        EFFORT,
    )
    blocks: int = option(
        REQUIRED,
        kinds.count_up_to(kinds.MOST),
        "Number of times that every cell is run (6 or more for intervals).",
        "--blocks",
        EFFORT,
    )
    window_s: float = option(
        REQUIRED,
        kinds.SECONDS,
        "Length of the window in which operations count.",
        "--seconds",
        EFFORT,
    )
    warmup_s: float = option(0.3, kinds.SECONDS_OR_NONE, "Length of the warm-up before the window.")
    limit_s: float = option(
        3600.0,
        kinds.SECONDS,
        "Time limit for one run of a finite workload (3600).",
        "--limit",
        EFFORT,
    )
    margin: float = option(
        MARGIN,
        kinds.share_between(LEAST_MARGIN, MOST_MARGIN),
        f"The smallest difference worth a word ({100 * MARGIN:g}%).",
        "--margin",
        EFFORT,
    )
    time_s: float | None = option(
        None,
        kinds.TIME,
        "Choose Ns and blocks so that the study fits a time: 30min. Primary questions first.",
        "--time",
        EFFORT,
    )
    seed: int = option(
        1, kinds.WHOLE_NUMBER, "Seed of the random order of the runs.", "--seed", EFFORT
    )
    name: str = option(REQUIRED, kinds.NAME, "Name of the study and of its folder in results/.")
    headline_blocks: int | None = option(
        None,
        kinds.count_up_to(kinds.MOST),
        "Number of additional blocks that only run the groups with headline ratios.",
    )
    workloads: tuple[WorkloadEntry, ...]
    application: ApplicationNote | None = None
    source: str = ""
    overrides: tuple[Override, ...] = ()

    @property
    def every_block(self) -> int:
        """The number of all blocks, additional ones of headline groups among them."""
        return self.blocks + (self.headline_blocks or 0)

    @property
    def document(self) -> dict[str, Any]:
        """The settled study as the journal keeps it, in plain values."""
        return {
            key: value
            for key, value in msgspec.to_builtins(self).items()
            if key not in SETTLED and not (key in LEFT_OUT and value == LEFT_OUT[key])
        }


# Fields that a settled study does not have; and those that its document leaves out at these values:
# journals of versions without them have the same fingerprint.
SETTLED = ("source", "overrides", "time_s")
LEFT_OUT = {
    **dict.fromkeys(("primary", "application", "headline_blocks")),
    "margin": MARGIN,
    "alternate": False,
}
OPTIONS = declared(Study)


# ------------------------------------------------------------------------------------- command line

STUDY = replace(kinds.TEXT, metavar="STUDY")
SET = Kind(several=True, commas=False, kept=parse_override, metavar="W.P=V,…")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command line; `said` has those of a study, by key.

    `workload` are the names of workloads; those with a colon are a user's own.
    """

    study: str | None = option(
        None,
        STUDY,
        "A study file, a folder with a measured study, or the name of a built-in study "
        "(`scaling study` lists them).",
        "--study",
    )
    workload: tuple[str, ...] = option(
        (), kinds.NAMES, "Workloads: echo,scrape, or your own as package.module:Name.", "--workload"
    )
    said: Mapping[str, Any] = field(default_factory=dict)
    set: tuple[Override, ...] = option(
        (), SET, "A parameter of a workload: echo.payload_bytes=256,1024.", "--set"
    )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options that were `given`, by key."""
        own = {key: value for key, value in given.items() if key in OF_COMMAND_LINE}
        said = {key: value for key, value in given.items() if key not in OF_COMMAND_LINE}
        return cls(**own, said=said)


OF_COMMAND_LINE = declared(Options)  # which study, which workloads
