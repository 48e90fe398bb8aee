"""A study: what is asked, from a study file and the command line, with the defaults filled in.

The defaults are the field defaults of `Study`, and `PRESETS` for blocks and window. What the
command line says wins over the file. `settle` then holds the study against what the child
environments can run.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arms
from scaling.study.checks import check_name, checked
from scaling.study.file import StudyFile, WorkloadEntry, load_study_file
from scaling.study.options import FLAGS, Options
from scaling.study.parameters import Override, parse_override
from scaling.study.presets import DEFAULT_PRESET, PRESETS

# What is run when no study is named.
DEFAULT_STUDY = "scale"

# With `precision`, no more blocks than this: about two hours of the default study on two cores. The
# interval narrows with the root of their number, so halving that of 10 blocks takes all 40.
MAX_BLOCKS = 40

# The lists that a workload's entry may override, and the command line above it.
ENTRY_LISTS = ("arms", "loops", "models", "workers", "sizing")

type Loader = Callable[[str], StudyFile]


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked.

    `workers` is None where the machine's topology decides. `controls`: the control workloads are
    run, too, where the study itself does not ask for them (`scaling.study.controls`); `twins`: a
    cell of each workload is run twice in every block (`scaling.study.plan.aa_pairs`); `pin`: every
    worker gets a CPU of its own.

    With a `precision`, blocks are added to `blocks` until the interval of every headline ratio is
    that narrow (its half width over the ratio) or there are `max_blocks`. `scale` multiplies the
    amounts of the workloads (`scaling.study.scaled`), and `limit_s` is what a finite run may take.

    `source` names the study file, for messages, and `overrides` are what `--set` said; both are
    gone once the study is settled.
    """

    name: str
    arms: tuple[str, ...]
    workloads: tuple[WorkloadEntry, ...]
    models: tuple[str, ...] = ("threads",)
    loops: tuple[str, ...] = ("asyncio",)
    workers: tuple[int, ...] | None = None
    sizing: tuple[str, ...] = ("weak",)
    controls: bool = True
    twins: bool = True
    pin: bool = False
    preset: str
    blocks: int
    precision: float | None = None
    max_blocks: int = MAX_BLOCKS
    window_s: float
    warmup_s: float = 0.3
    limit_s: float = 3600.0
    scale: float = 1.0
    seed: int = 1
    source: str = ""
    overrides: tuple[Override, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The study as the journal keeps it: plain values, without what is gone once settled."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        del document["source"], document["overrides"]
        return document


def study_from(
    options: Options, *, running_build: str, load_file: Loader = load_study_file
) -> Study:
    """Build the study that the options ask for.

    `running_build` is the arm where neither the file nor the command line names one.

    Raises:
        UsageError: an unknown name or a value that makes no sense; says where and what is expected.
    """
    asked = options.study or DEFAULT_STUDY
    source = f"{Path(asked).name.removesuffix('.toml')}.toml"
    file = checked(load_file(asked), _keys_of(source))
    flags = checked(options.as_file(), FLAGS.__getitem__)
    said = _said(file, flags)
    said["arms"] = _named(said.get("arms", (running_build,)))
    said["workloads"] = _workloads(file, flags, options.workload_names, source)
    for entry in said["workloads"]:  # an arm that only one workload names is an arm of the study
        said["arms"] = tuple(dict.fromkeys([*said["arms"], *(entry.arms or ())]))
    said["name"] = _name(file, source, said["arms"])
    overrides = tuple(map(parse_override, options.set))
    return Study(**said, source=source, overrides=overrides)


def _named(arms: Iterable[str]) -> tuple[str, ...]:
    """The arms by their own names, each once."""
    return tuple(arm.name for arm in parse_arms(arms))


def _keys_of(place: str) -> Callable[[str], str]:
    return lambda key: f"{place}: {key}"


def _said(file: StudyFile, flags: StudyFile) -> dict[str, Any]:
    """What is said by the flags, else by the file; blocks and window by a preset if by neither."""
    if flags.preset is not None:
        # A preset is a word for blocks and window, so this one stands for those of the file.
        file = msgspec.structs.replace(file, blocks=None, window_s=None)
    said = {
        key: value
        for each in (file, flags)
        for key, value in msgspec.structs.asdict(each).items()
        if value is not None
    }
    said.setdefault("preset", DEFAULT_PRESET)
    preset = PRESETS[said["preset"]]
    return {"blocks": preset.blocks, "window_s": preset.window_s} | said


def _workloads(
    file: StudyFile, flags: StudyFile, names: Sequence[str], source: str
) -> tuple[WorkloadEntry, ...]:
    """The file's entries; `names` choose among them and add to them, flags win over their lists."""
    entries = [
        checked(entry, _keys_of(f"{source}: workload {entry.name}"))
        for entry in file.workloads or ()
    ]
    if names:
        entries = [
            entry
            for name in names
            for entry in [each for each in entries if each.name == name]
            or [WorkloadEntry(name=name)]
        ]
    if not entries:
        raise UsageError(f"{source}: no workload: add a [[workloads]] entry or say --workload NAME")
    won = {key: None for key in ENTRY_LISTS if getattr(flags, key) is not None}
    entries = [msgspec.structs.replace(entry, **won) for entry in entries]
    return tuple(
        msgspec.structs.replace(entry, arms=_named(entry.arms)) if entry.arms else entry
        for entry in entries
    )


def _name(file: StudyFile, source: str, arms: Sequence[str]) -> str:
    """The study's name; a file without one gives its own, and the arms unless it names them too."""
    if file.name is not None:
        return check_name(file.name, f"{source}: name")
    parts = [Path(source).stem, *(arms if file.arms is None else ())]
    return check_name(re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join(parts)), source)
