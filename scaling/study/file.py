"""Study files: read, checked, described by a JSON Schema, and merged with the command line.

A study file is TOML, checked key by key. Options of the command line win over the file, the file
over a preset (for blocks and window) and the defaults of `Study`. `settle` then checks the study
against what the child environments can run.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scaling.base.errors import UsageError, nearest, unknown
from scaling.base.files import text_in
from scaling.base.gone import gone
from scaling.builds.arms import parse_arms
from scaling.journal.reading import find_journal, study_line_in
from scaling.study.definition import (
    ENTRY_LISTS,
    OPTIONS,
    Option,
    Options,
    Study,
    WorkloadEntry,
)
from scaling.study.kinds import NAME, TEXT
from scaling.study.presets import DEFAULT_PRESET, PRESETS

BUILT_IN = Path(__file__).with_name("builtin")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = "A study of how asyncio scales, for: scaling run --study FILE.toml"


@dataclass(frozen=True)
class StudyFile:
    """A checked study file: the values of its options by key, and its workloads.

    `presets` has the presets that the study defines itself: options by key, and under `parameters`
    those of workloads, by workload and name.
    """

    values: Mapping[str, Any]
    workloads: tuple[WorkloadEntry, ...]
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


# The options of a [[workloads]] table, and of a [presets.NAME] table.
ENTRY = {
    "name": Option(TEXT, "A built-in workload (echo), or your own as package.module:Name."),
    **{key: OPTIONS[key] for key in ENTRY_LISTS},
}
PRESET = {key: option for key, option in OPTIONS.items() if key not in ("name", "preset")}


def built_in_studies() -> tuple[str, ...]:
    """Names of the studies that come with the project."""
    return tuple(sorted(path.stem for path in BUILT_IN.glob("*.toml")))


def built_in_text(name: str) -> str:
    """The study file of a built-in study."""
    return (BUILT_IN / f"{name}.toml").read_text("utf-8")


def built_in_summary(name: str) -> str:
    """The first line of a built-in study, which says what the study is about."""
    return built_in_text(name).partition("\n")[0].removeprefix("# ")


def load_study_file(name: str) -> StudyFile:
    """The study in the file `name`, the built-in one of that name, or the one measured in a folder.

    Raises:
        UsageError: no such study, not readable, not TOML, or a key or value that does not fit.
    """
    if name in built_in_studies():
        return read_study(built_in_text(name), f"{name}.toml")
    path = Path(name)
    if path.is_dir():
        return study_file_of(study_line_in(find_journal(path)).study, name)
    if path.suffix != ".toml" and not path.is_file():
        raise unknown("study", name, built_in_studies())
    suggestion = nearest(path.stem, built_in_studies())
    meant = f" Did you mean the built-in study {suggestion!r}?" if suggestion else ""
    return read_study(text_in(path, f"there is no such study file.{meant}"), path.name)


def study_file_of(document: Mapping[str, Any], source: str) -> StudyFile:
    """The study file of a settled study.

    `document` is the study as a journal keeps it, with its amounts scaled already.

    Raises:
        UsageError: it has no workloads, or a value that this version does not take.
    """
    if not document.get("workloads"):
        raise UsageError(f"{source} does not say which study it is of; name the study with --study")
    tables = said_in(document)
    entries = tuple(_entry(each, f"{source}: workload") for each in tables.pop("workloads"))
    return StudyFile(_values(tables | {"scale": 1.0}, OPTIONS, source), entries)


def said_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a journal's study that a study file can have, and that are not null.

    Alternation that a journal does not name was off: journals of 1.0 did not know it.
    """

    def known(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
        given = {key: values[key] for key in keys if values.get(key) is not None}
        return {key: value for key, value in given.items() if value or key not in ENTRY_LISTS}

    entries = [known(entry, [*ENTRY, "parameters"]) for entry in document["workloads"]]
    return known({"alternate": False, **document}, ["name", *OPTIONS]) | {"workloads": entries}


def read_study(text: str, source: str) -> StudyFile:
    """Check the TOML of a study; `source` names the file in messages.

    Raises:
        UsageError: not TOML, or a key or value that does not fit.
    """
    try:
        tables = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    entries, presets = tables.pop("workloads", []), tables.pop("presets", {})
    if not isinstance(entries, list):
        raise UsageError(f"{source}: workloads: expected [[workloads]] tables, got {entries!r}")
    if not isinstance(presets, dict):
        raise UsageError(f"{source}: presets: expected [presets.NAME] tables, got {presets!r}")
    values = _values(tables, OPTIONS, source, also=("workloads", "presets"))
    workloads = tuple(
        _entry(entry, f"{source}: {_title(number, entry)}")
        for number, entry in enumerate(entries, start=1)
    )
    names = [entry.name for entry in workloads]
    return StudyFile(
        values,
        workloads,
        {name: _preset(name, table, names, source) for name, table in presets.items()},
    )


def _title(number: int, entry: object) -> str:
    """`workload 2 (echo)`, by its name if it has one."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"workload {number} ({name})" if isinstance(name, str) else f"workload {number}"


def _preset(name: str, table: object, workloads: Sequence[str], source: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS, where=f"{source}: presets")
    where = f"{source}: presets.{name}"
    parameters = _parameters(table, where)
    for workload, given in parameters.items():
        if workload not in workloads:
            raise unknown(
                "workload of this study", workload, workloads, where=f"{where}: parameters"
            )
        _require_table(given, f"{where}: parameters")
    return _values(table, PRESET, where, also=("parameters",)) | {"parameters": parameters}


def _entry(table: object, where: str) -> WorkloadEntry:
    parameters = _parameters(table, where)
    values = _values(table, ENTRY, where, also=("parameters",))
    if "name" not in values:
        raise UsageError(f"{where}: the key name is missing")
    return WorkloadEntry(**values, parameters=parameters)


def _parameters(table: object, where: str) -> dict[str, Any]:
    """The table `parameters` of a table; empty where it has none."""
    given = _require_table(table, where).get("parameters", {})
    return _require_table(given, f"{where}: parameters")


def _require_table(table: object, where: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: expected a table, got {table!r}")
    return table


def _values(
    table: object, options: Mapping[str, Option], where: str, also: Sequence[str] = ()
) -> dict[str, Any]:
    """The checked options of a table, by key; the keys in `also` are checked elsewhere."""
    given = _require_table(table, where)
    for key in given:
        if message := gone(f"--{key}".replace("_", "-"), shown=key):
            raise UsageError(f"{where}: {message}")
        if key not in (*options, *also):
            raise unknown("key", key, [*options, *also], where=where)
    return {
        key: options[key].kind.check(value, f"{where}: {key}")
        for key, value in given.items()
        if key in options
    }


# ------------------------------------------------------------------------------------------- schema


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files, with which an editor completes and checks them."""
    workloads = {
        "description": "The workloads, each with the lists that it overrides.",
        "type": "array",
        "items": {"$ref": "#/$defs/Workload"},
    }
    presets = {
        "description": "Presets that the study defines itself: other options, fewer values.",
        **_object({name: {"$ref": "#/$defs/Preset"} for name in PRESETS}),
    }
    of_workload = {
        "description": "Parameters of the workload; a list of values is a sweep.",
        "type": "object",
    }
    of_preset = {
        "description": "Parameters that the preset changes, in a table for each workload.",
        "type": "object",
        "additionalProperties": {"type": "object"},
    }
    definitions = {
        "Study": _object(_keys(OPTIONS) | {"workloads": workloads, "presets": presets}),
        "Workload": _object(_keys(ENTRY) | {"parameters": of_workload}, required=["name"]),
        "Preset": _object(_keys(PRESET) | {"parameters": of_preset}),
    }
    about = {"$schema": DIALECT, "description": ABOUT, "$ref": "#/$defs/Study"}
    return {**about, "$defs": definitions}


def _object(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _keys(options: Mapping[str, Option]) -> dict[str, Any]:
    """The schema of the keys of a table."""
    return {key: _key(option) for key, option in options.items()}


def _key(option: Option) -> dict[str, Any]:
    about: dict[str, Any] = {"description": option.help, **option.kind.schema}
    default = option.default
    if isinstance(default, tuple):
        default = list(default)
    return about if default in (None, []) else about | {"default": default}


# ---------------------------------------------------------------------------- with the command line

# The study that is run if none is named.
DEFAULT_STUDY = "scale"

# The options that a preset sets.
OF_A_PRESET = ("blocks", "window_s")


def study_from(options: Options, *, running_build: str, file: StudyFile | None = None) -> Study:
    """The study that the options ask for, from the `file` or the one that they name.

    `running_build` is the arm if neither the file nor the command line names one.

    Raises:
        UsageError: an unknown name, or a value that does not fit.
    """
    asked = options.study or DEFAULT_STUDY
    source = f"{Path(asked).name.removesuffix('.toml')}.toml"
    file, flags = file or load_study_file(asked), options.said
    preset = flags.get("preset") or file.values.get("preset", DEFAULT_PRESET)
    file, flags = _at_preset(file, flags, file.presets.get(preset, {}))
    values = _chosen(file.values, flags)
    if "blocks" in options.said:
        if "time_s" in flags:
            raise UsageError("--blocks: --time chooses the number of blocks. Give one of the two")
        for key in ("time_s", "headline_blocks"):  # all blocks are whole
            values.pop(key, None)
    values["arms"] = _named(values.get("arms", (running_build,)))
    values["workloads"] = _workloads(file, flags, options.workload, source)
    for entry in values["workloads"]:  # an arm that only one workload names is one of the study
        values["arms"] = tuple(dict.fromkeys([*values["arms"], *entry.arms]))
    values.setdefault("name", _name(file, source, values["arms"]))
    return Study(**values, source=source, overrides=options.set)


def _named(arms: Iterable[str]) -> tuple[str, ...]:
    """The arms by their own names, each once."""
    return tuple(arm.name for arm in parse_arms(arms))


def _at_preset(
    file: StudyFile, flags: Mapping[str, Any], preset: Mapping[str, Any]
) -> tuple[StudyFile, dict[str, Any]]:
    """The file and the flags, with the study's own preset between them: flags win over it."""
    values: dict[str, Any] = {"parameters": {}, **preset}
    parameters = values.pop("parameters")
    entries = tuple(
        replace(entry, parameters={**entry.parameters, **parameters.get(entry.name, {})})
        for entry in file.workloads
    )
    return replace(file, workloads=entries), {**values, **flags}


def _chosen(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags' values, else the file's, else a preset's for blocks and window."""
    if "preset" in flags:  # on the command line it wins over blocks and window of the file
        own = (*OF_A_PRESET, "headline_blocks")
        file = {key: value for key, value in file.items() if key not in own}
    usual = {key: option.usual for key, option in OPTIONS.items() if option.usual}
    values = {"preset": DEFAULT_PRESET, **usual, **file, **flags}
    preset = PRESETS[values["preset"]]
    return {key: getattr(preset, key) for key in OF_A_PRESET} | values


def _workloads(
    file: StudyFile, flags: Mapping[str, Any], names: Sequence[str], source: str
) -> tuple[WorkloadEntry, ...]:
    """The entries of the workloads `names`, or all of the file's; flags win over their lists."""
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
    overridden: dict[str, Any] = {key: () for key in ENTRY_LISTS if key in flags}
    entries = [replace(entry, **overridden) for entry in entries]
    return tuple(replace(entry, arms=_named(entry.arms)) for entry in entries)


def _name(file: StudyFile, source: str, arms: Sequence[str]) -> str:
    """The name of a study whose file has none: that of the file, and the command line's arms."""
    parts = [Path(source).stem, *(arms if "arms" not in file.values else ())]
    return str(NAME.check(re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join(parts)), source))
