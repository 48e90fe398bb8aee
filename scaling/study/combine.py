"""A study from its file and the command line: what the command line says wins.

The rest has the defaults of `Study`, and those of a preset for blocks and window. `settle` then
checks the study against what the child environments can run.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arms
from scaling.study.definition import ENTRY_LISTS, OPTIONS, Options, Study, WorkloadEntry
from scaling.study.file import PresetTable, StudyFile, load_study_file
from scaling.study.kinds import check_folder_name
from scaling.study.parameters import parse_override
from scaling.study.presets import DEFAULT_PRESET, PRESETS

# What is run when no study is named.
DEFAULT_STUDY = "scale"

# A preset is a word for these.
OF_A_PRESET = ("blocks", "window_s")

# What decides about the number of blocks, as `--time` does.
CHOSEN = ("blocks", "precision")

type Loader = Callable[[str], StudyFile]


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
    file, flags = load_file(asked), options.values()
    preset = flags.get("preset") or file.values.get("preset", DEFAULT_PRESET)
    file, flags = _at_preset(file, flags, file.presets.get(preset, PresetTable()))
    values = _values(file.values, flags)
    if "max_blocks" in flags and "precision" not in values:
        raise UsageError(
            "--max-blocks: only --precision adds blocks. Add --precision 2%, or say --blocks N"
        )
    if given := next((key for key in CHOSEN if key in options.flags), None):
        if "time_s" in flags:
            flag = OPTIONS[given].flag
            raise UsageError(f"{flag}: --time chooses the number of blocks. Give one of the two")
        values.pop("time_s", None)
    values["arms"] = _named(values.get("arms", (running_build,)))
    values["workloads"] = _workloads(file, flags, options.workload_names, source)
    for entry in values["workloads"]:  # an arm that only one workload names is one of the study
        values["arms"] = tuple(dict.fromkeys([*values["arms"], *(entry.arms or ())]))
    values.setdefault("name", _name(file, source, values["arms"]))
    overrides = tuple(map(parse_override, options.set))
    return Study(**values, source=source, overrides=overrides)


def _named(arms: Iterable[str]) -> tuple[str, ...]:
    """The arms by their own names, each once."""
    return tuple(arm.name for arm in parse_arms(arms))


def _at_preset(
    file: StudyFile, flags: Mapping[str, Any], preset: PresetTable
) -> tuple[StudyFile, dict[str, Any]]:
    """The study's own table of the preset wins over the rest of the file; flags win over both."""
    entries = tuple(
        msgspec.structs.replace(
            entry, parameters={**entry.parameters, **preset.parameters.get(entry.name, {})}
        )
        for entry in file.workloads
    )
    return replace(file, workloads=entries), {**preset.values, **flags}


def _values(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags' values, else the file's; blocks and window are a preset's if neither has them."""
    if "preset" in flags:  # on the command line, it stands for blocks and window of the file
        file = {key: value for key, value in file.items() if key not in OF_A_PRESET}
    values = {"preset": DEFAULT_PRESET, **file, **flags}
    preset = PRESETS[values["preset"]]
    return {key: getattr(preset, key) for key in OF_A_PRESET} | values


def _workloads(
    file: StudyFile, flags: Mapping[str, Any], names: Sequence[str], source: str
) -> tuple[WorkloadEntry, ...]:
    """The file's entries; `names` choose among them and add to them, flags win over their lists."""
    entries: Sequence[WorkloadEntry] = file.workloads
    if names:
        entries = [
            entry
            for name in names
            for entry in [each for each in entries if each.name == name]
            or [WorkloadEntry(name=name)]
        ]
    if not entries:
        raise UsageError(f"{source}: no workload: add a [[workloads]] table or --workload NAME")
    overridden = {key: None for key in ENTRY_LISTS if key in flags}
    entries = [msgspec.structs.replace(entry, **overridden) for entry in entries]
    return tuple(
        msgspec.structs.replace(entry, arms=_named(entry.arms)) if entry.arms else entry
        for entry in entries
    )


def _name(file: StudyFile, source: str, arms: Sequence[str]) -> str:
    """The name of a study whose file gives none: the file's, and the arms unless it names them."""
    parts = [Path(source).stem, *(arms if "arms" not in file.values else ())]
    return check_folder_name(re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join(parts)), source)
