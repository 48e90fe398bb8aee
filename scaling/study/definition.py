"""A study: everything that can be asked, each option declared once, as a field of `Study`.

From a field follow the key of study files, its flag on the command line, its check, its place in
the journal's first line and in the JSON Schema of study files. To add an option, add its field.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self, get_type_hints

import msgspec

from scaling.base.models import MODELS
from scaling.base.typed import values_in
from scaling.base.vocabulary import PRIMARY_QUESTIONS, QUESTIONS, SIZINGS, CountWord
from scaling.study import kinds
from scaling.study.kinds import Kind
from scaling.study.presets import GRID_RATES, MARGIN, PRESETS, RATES_MOST

# --------------------------------------------------------------------------------- application note
# What decides about the runs of a user's application besides the parameters of the workload.


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """The requests that a study sends, as its first line has them: how many, and their digest."""

    count: int
    sha256: str


class ApplicationNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user gives `scaling app` beside the study, as the study's first line has it.

    `requests` None stands for `GET /`. `environment` are the names of the variables that the user
    set. Their values are not published: `environment_digest` only shows that one has changed. It is
    made with a key that stays on the machine, so that nobody can try values; `environment_key` says
    with which. Studies of version 1.0 have none: their digests are plain ones.
    """

    requests: Sent | None = None
    environment: tuple[str, ...] = ()
    environment_digest: str = ""
    environment_key: str = ""

    @classmethod
    def of(cls, requests: Sent | None, variables: Mapping[str, str]) -> Self:
        """That of these requests and variables.

        Raises:
            ScalingError: the machine's key cannot be kept.
        """
        from scaling.machine.identity import keyed_digest, state_folder

        if not variables:
            return cls(requests=requests)
        text = "\0".join(f"{name}={value}" for name, value in sorted(variables.items()))
        digest, key = keyed_digest(text, state_folder(os.environ))
        return cls(
            requests=requests,
            environment=tuple(sorted(variables)),
            environment_digest=digest,
            environment_key=key,
        )


# --------------------------------------------------------------------------------------- definition

# Two cells that differ by more than a tenth are not the same for anybody.
LEAST_MARGIN, MOST_MARGIN = 0.001, 0.1

WHAT, EFFORT = "What is measured", "How long"  # headings of `--help`

_PRESETS = ", ".join(f"{name} ({preset.blocks} blocks)" for name, preset in PRESETS.items())


@dataclass(frozen=True)
class Option:
    """The declaration of an option. `key` and `default` are those of the field that has it.

    `flag` is the one on the command line; an option without one is for study files alone. An option
    `per_workload` can also stand in a `[[workloads]]` table, for that workload.
    """

    kind: Kind
    help: str
    flag: str = ""
    group: str = WHAT
    per_workload: bool = False
    key: str = ""
    default: Any = None

    @property
    def parameter(self) -> str:
        """The flag as a Python name: `--aa-pairs` is `aa_pairs`."""
        return self.flag.removeprefix("--").replace("-", "_")


class WorkloadEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[workloads]]` of a study: which workload, what of the study's lists it overrides.

    `name` is a built-in name or `package.module:Name`. A list among the `parameters` is a sweep;
    they are checked once it is known what the workload takes (`scaling.study.settle`).
    """

    name: str
    parameters: dict[str, Any] = {}
    arms: tuple[str, ...] | None = None
    loops: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    workers: tuple[int | CountWord, ...] | None = None
    sizing: tuple[str, ...] | None = None

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of workers of a settled entry, which has no words left."""
        return tuple(each for each in self.workers or () if isinstance(each, int))


class Override(NamedTuple):
    """One `--set workload.parameter=value[,value…]`, its values still text."""

    workload: str
    parameter: str
    values: tuple[str, ...]

    @property
    def where(self) -> str:
        """How a message names it."""
        return f"--set {self.workload}.{self.parameter}"


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked.

    `workers` is None where the machine's topology decides. Without a preset's name, `blocks` and
    `window_s` come from the default preset.

    `source` names the study file, for messages, and `overrides` are from `--set`; both are gone
    once the study is settled, and so is `time_s` once Ns and blocks are chosen
    (`scaling.study.plan.table`). `application` is set in a study of `scaling app`
    (`scaling.study.application`): what decides about its runs besides the parameters.
    """

    name: Annotated[
        str,
        Option(kinds.NAME, "Name of the study and of its folder in results/."),
    ]
    loops: Annotated[
        tuple[str, ...],
        Option(
            kinds.NAMES,
            "Event loops: asyncio,uvloop. Libraries, too: trio, anyio/trio.",
            flag="--loop",
            per_workload=True,
        ),
    ] = ("asyncio",)
    workers: Annotated[
        tuple[int | CountWord, ...] | None,
        Option(
            kinds.COUNTS,
            "Numbers of workers: 1,2,4. Words stand for what the machine has: 1..cores (1, 2, 4, … "
            "and all cores; those of one kind, of one NUMA node), cores, cpus, 2x-cpus. By default "
            "all of these.",
            flag="--workers",
            per_workload=True,
        ),
    ] = None
    arms: Annotated[
        tuple[str, ...],
        Option(
            kinds.NAMES,
            "Builds of Python, with settings: 3.14,3.14t+gil. By default the build in use.",
            flag="--arm",
            per_workload=True,
        ),
    ]
    models: Annotated[
        tuple[str, ...],
        Option(
            kinds.MODELS,
            f"What a worker is: {', '.join(MODELS)}. mixed:4 has 4 threads in each process; mixed "
            "alone, or mixed:cache, as many as share a cache, mixed:node those of a NUMA node.",
            flag="--model",
            per_workload=True,
        ),
    ] = ("threads",)
    sizing: Annotated[
        tuple[str, ...],
        Option(
            kinds.some_of(SIZINGS, "sizing"),
            "Work in flight: weak (fixed per worker) or strong (fixed in total).",
            flag="--sizing",
            per_workload=True,
        ),
    ] = ("weak",)
    rates: Annotated[
        int,
        Option(
            kinds.count_up_to(RATES_MOST),
            f'How many rates rate_per_s = "grid" stands for ({GRID_RATES}).',
            flag="--rates",
        ),
    ] = GRID_RATES
    slo: Annotated[
        tuple[str, ...],
        Option(
            kinds.OBJECTIVES,
            "Objectives of latency under load, for the capacity at each: p99<20ms.",
            flag="--slo",
        ),
    ] = ()
    scale: Annotated[
        float,
        Option(
            kinds.FACTOR,
            "Multiply the amounts of finite workloads by this: 0.01 for a quick look.",
            flag="--scale",
        ),
    ] = 1.0
    controls: Annotated[
        bool,
        Option(
            kinds.SWITCH,
            "Also run the control workloads (compute, shared) if the study has none, "
            "in windows of at most 2 s.",
            flag="--controls",
        ),
    ] = True
    aa_pairs: Annotated[
        bool,
        Option(
            kinds.SWITCH,
            "Run some cells of each workload twice in every block, to measure the noise.",
            flag="--aa-pairs",
        ),
    ] = True
    alternate: Annotated[
        bool,
        Option(
            kinds.SWITCH,
            "Measure cells whose ratio is asked for in turn, in short slices of their windows.",
            flag="--alternate",
            group=EFFORT,
        ),
    ] = True
    pin: Annotated[
        bool,
        Option(
            kinds.SWITCH,
            "Pin each worker to a CPU of its own: one per core first, then SMT siblings.",
            flag="--pin",
        ),
    ] = False
    primary: Annotated[
        tuple[str, ...] | None,
        Option(
            kinds.some_of(QUESTIONS, "question"),
            f"Questions whose headline ratios are primary: {', '.join(QUESTIONS)} (by default "
            f"{' and '.join(PRIMARY_QUESTIONS)}).",
        ),
    ] = None
    preset: Annotated[
        str,
        Option(
            kinds.one_of(PRESETS, "preset"),
            f"Number of blocks and length of the window, unless the study says what the preset "
            f"means: {_PRESETS}.",
            flag="--preset",
            group=EFFORT,
        ),
    ]
    blocks: Annotated[
        int,
        Option(
            kinds.COUNT,
            "How many times every cell is run (6 or more for intervals).",
            flag="--blocks",
            group=EFFORT,
        ),
    ]
    headline_blocks: Annotated[
        int | None,
        Option(
            kinds.COUNT,
            "How many blocks follow these, of the groups that have headline ratios alone.",
            group=EFFORT,
        ),
    ] = None
    window_s: Annotated[
        float,
        Option(
            kinds.SECONDS,
            "Length of the window in which operations count.",
            flag="--seconds",
            group=EFFORT,
        ),
    ]
    warmup_s: Annotated[
        float, Option(kinds.SECONDS_OR_NONE, "Length of the warm-up before the window.")
    ] = 0.3
    limit_s: Annotated[
        float,
        Option(
            kinds.SECONDS,
            "Time limit for one run of a finite workload (3600).",
            flag="--limit",
            group=EFFORT,
        ),
    ] = 3600.0
    margin: Annotated[
        float,
        Option(
            kinds.share_between(LEAST_MARGIN, MOST_MARGIN),
            f"The smallest difference worth a word ({100 * MARGIN:g}%).",
            flag="--margin",
            group=EFFORT,
        ),
    ] = MARGIN
    time_s: Annotated[
        float | None,
        Option(
            kinds.TIME,
            "Choose Ns and blocks so that the study fits a time: 30min. Primary questions first.",
            flag="--time",
            group=EFFORT,
        ),
    ] = None
    seed: Annotated[
        int,
        Option(
            kinds.WHOLE_NUMBER,
            "Seed of the random order of the runs.",
            flag="--seed",
            group=EFFORT,
        ),
    ] = 1
    workloads: tuple[WorkloadEntry, ...]
    application: ApplicationNote | None = None
    source: str = ""
    overrides: tuple[Override, ...] = ()

    @property
    def every_block(self) -> int:
        """How many blocks there are, those of headline groups alone among them."""
        return self.blocks + (self.headline_blocks or 0)

    @property
    def document(self) -> dict[str, Any]:
        """The study as the journal keeps it: plain values, without what is gone once settled."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        del document["source"], document["overrides"], document["time_s"]
        # Left out where they are not used: the study is the same without them.
        for later in ("primary", "application", "headline_blocks"):
            if document[later] is None:
                del document[later]
        if document["margin"] == MARGIN:
            del document["margin"]
        if not document["alternate"]:
            del document["alternate"]
        return document


def _declared() -> dict[str, Option]:
    hints = get_type_hints(Study, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(Study):
        for option in getattr(hints[field.name], "__metadata__", ()):
            default = None if field.required else field.default
            found[field.name] = replace(option, key=field.name, default=default)
    return found


# Every option by its key, in the order in which they are declared and listed.
OPTIONS = _declared()

# The lists that a workload's entry may override, and the command line above it.
ENTRY_LISTS = tuple(key for key, option in OPTIONS.items() if option.per_workload)


# ------------------------------------------------------------------------------------- command line
# What the command line says about a study: the flags that `Study` declares, as typed.

# The key of each flag, by its Python name.
KEYS = {option.parameter: key for key, option in OPTIONS.items() if option.flag}


@dataclass(init=False)
class Options:
    """The flags as typed. Those of several values may be `1,2,4`, repeated, or both.

    `set` are the `--set workload.parameter=value[,value…]`. `flags` has what was given of all the
    other flags, by their key in a study file.
    """

    study: str | None
    workload: tuple[str, ...]
    set: tuple[str, ...]
    flags: dict[str, Any]

    def __init__(
        self,
        *,
        study: str | None = None,
        workload: Iterable[str] = (),
        set: Iterable[str] = (),  # noqa: A002  # the name of the flag
        **flags: Any,
    ) -> None:
        self.study = study
        self.workload, self.set = tuple(workload), tuple(set)
        self.flags = {
            KEYS[name]: tuple(value) if isinstance(value, list) else value
            for name, value in flags.items()
            if value is not None and value not in ([], ())
        }

    @property
    def is_empty(self) -> bool:
        """Whether no option of a study was given."""
        return self == Options()

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The workloads asked for, each once; those with a colon are a user's own.

        Raises:
            UsageError: the flag has nothing in it.
        """
        return values_in(self.workload, "--workload")

    def values(self) -> dict[str, Any]:
        """What the flags say, checked, as a study keeps it, by key.

        Raises:
            UsageError: a value that an option cannot have.
        """
        return {
            key: OPTIONS[key].kind.of_flag(given, OPTIONS[key].flag)
            for key, given in self.flags.items()
        }
