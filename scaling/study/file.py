"""A study as it is asked for: by its file, on disk or built in, and the command line, which wins.

A study file is TOML as a person writes it, checked key by key. The rest has the defaults of
`Study`, and those of a preset for blocks and window. `settle` then checks the study against what
the child environments can run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from scaling.base.errors import UsageError, nearest, unknown
from scaling.base.files import text_in
from scaling.base.gone import gone
from scaling.base.typed import converted, document, title
from scaling.builds.arms import parse_arms
from scaling.journal.reading import find_journal, study_line_in
from scaling.study.definition import (
    ENTRY_LISTS,
    OPTIONS,
    Option,
    Options,
    Override,
    Study,
    WorkloadEntry,
)
from scaling.study.kinds import check_folder_name
from scaling.study.presets import DEFAULT_PRESET, PRESETS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = "A study of how asyncio scales, for: scaling run --study FILE.toml"


@dataclass(frozen=True)
class StudyFile:
    """What a study file says: the values of its options by key, checked, and its workloads.

    `presets` are the tables of those presets that mean something of their own for the study:
    options by key, and under `parameters` those of workloads by workload and name.
    """

    values: Mapping[str, Any]
    workloads: tuple[WorkloadEntry, ...]
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _table(name: str, options: Iterable[Option], *fields: tuple[Any, ...]) -> type[msgspec.Struct]:
    """The shape of a table in a study file: these fields, and a key for each of the options."""
    keys = []
    for option in options:
        about: dict[str, Any] = {}
        if option.default is not None:
            default = option.default
            about["default"] = list(default) if isinstance(default, tuple) else default
        meta = Meta(description=option.help, extra_json_schema=about)
        keys.append((option.key, Annotated[option.kind.type, meta] | UnsetType, UNSET))
    return msgspec.defstruct(
        name, [*fields, *keys], frozen=True, kw_only=True, forbid_unknown_fields=True
    )


_NAME = "A built-in workload (echo), or your own as package.module:Name."
_PARAMETERS = "Parameters of the workload; a list of values is a sweep."
_PRESET_PARAMETERS = "Parameters that the preset changes, in a table for each workload."
_PRESETS = "What a preset means for this study, where that differs: other options, fewer values."
_WORKLOADS = "The workloads, each with what differs from the lists of the study."

ENTRY = _table(
    "Workload",
    (option for option in OPTIONS.values() if option.per_workload),
    ("name", Annotated[str, Meta(description=_NAME)]),
    ("parameters", Annotated[dict[str, Any], Meta(description=_PARAMETERS)], {}),
)
PRESET = _table(
    "Preset",
    (option for option in OPTIONS.values() if option.key not in ("name", "preset")),
    (
        "parameters",
        Annotated[dict[str, dict[str, Any]], Meta(description=_PRESET_PARAMETERS)],
        {},
    ),
)
PRESET_TABLES = msgspec.defstruct(
    "Presets",
    [(name, PRESET | UnsetType, UNSET) for name in PRESETS],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
)
FILE = _table(
    "Study",
    OPTIONS.values(),
    ("presets", Annotated[PRESET_TABLES, Meta(description=_PRESETS)] | UnsetType, UNSET),
    ("workloads", Annotated[list[ENTRY], Meta(description=_WORKLOADS)], []),  # type: ignore[valid-type]
)

TABLES = {"workloads", "presets"}  # keys of a study file that are tables, checked one by one


def built_in_studies() -> tuple[str, ...]:
    """Names of the studies that come with the project."""
    folder = resources.files("scaling.study") / "builtin"
    names = (Path(entry.name) for entry in folder.iterdir())
    return tuple(sorted(path.stem for path in names if path.suffix == ".toml"))


def built_in_text(name: str) -> str:
    """The study file of a built-in study."""
    return (resources.files("scaling.study") / "builtin" / f"{name}.toml").read_text("utf-8")


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


def built_in_summary(name: str) -> str:
    """The first line of a built-in study, which says in a sentence what it is about."""
    return built_in_text(name).partition("\n")[0].removeprefix("# ")


def study_file_of(document: Mapping[str, Any], source: str) -> StudyFile:
    """What a study file would say that asks for a settled study.

    `document` is the study as a journal keeps it, with its amounts scaled already.

    Raises:
        UsageError: it is not known, or has a value that this version does not take.
    """
    entries = document.get("workloads")
    if not entries:
        raise UsageError(f"{source} does not say what was asked; name its study with --study")
    values = _values(_known(document, FILE) | {"scale": 1.0}, FILE, source)
    tables = [_entry(_known(entry, ENTRY), f"{source}: workload") for entry in entries]
    return StudyFile(values, tuple(tables))


def _known(values: Mapping[str, Any], shape: type[msgspec.Struct]) -> dict[str, Any]:
    """Of a table in a journal, what a study file can say."""
    names = {field.encode_name for field in msgspec.structs.fields(shape)} - TABLES
    return {name: value for name, value in values.items() if name in names and value is not None}


def read_study(text: str, source: str) -> StudyFile:
    """Check the TOML of a study; `source` names the file in messages.

    Raises:
        UsageError: not TOML, or a key or value that does not fit; says file, key and expectation.
    """
    tables = document(text, source)
    # One workload at a time: msgspec does not say which element of a list is wrong.
    entries, presets = tables.pop("workloads", []), tables.pop("presets", {})
    if not isinstance(entries, list):
        raise UsageError(f"{source}: workloads: expected [[workloads]] tables, got {entries!r}")
    if not isinstance(presets, dict):
        raise UsageError(f"{source}: presets: expected [presets.NAME] tables, got {presets!r}")
    values = _values(tables, FILE, source)
    workloads = tuple(
        _entry(entry, f"{source}: {title('workload', number, entry)}")
        for number, entry in enumerate(entries, start=1)
    )
    names = [entry.name for entry in workloads]
    return StudyFile(
        values,
        workloads,
        {name: _preset(name, table, names, source) for name, table in presets.items()},
    )


def _preset(name: str, table: object, workloads: Sequence[str], source: str) -> dict[str, Any]:
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS, where=f"{source}: presets")
    where = f"{source}: presets.{name}"
    values = _values(table, PRESET, where)
    for workload in values["parameters"]:
        if workload not in workloads:
            raise unknown(
                "workload of this study", workload, workloads, where=f"{where}: parameters"
            )
    return values


def _entry(table: object, where: str) -> WorkloadEntry:
    values = _values(table, ENTRY, where)
    return WorkloadEntry(**values)


def _values(table: object, shape: type[msgspec.Struct], where: str) -> dict[str, Any]:
    """What a table says, by key: checked."""
    for key in table if isinstance(table, dict) else ():
        if message := gone(f"--{key}".replace("_", "-"), shown=key):
            raise UsageError(f"{where}: {message}")
    given = {
        key: value
        for key, value in msgspec.structs.asdict(converted(table, shape, where)).items()
        if value is not UNSET and key not in TABLES
    }
    for key in given.keys() & OPTIONS.keys():
        if key == "name" and shape is ENTRY:  # a workload's, which may be `package.module:Name`
            continue
        given[key] = OPTIONS[key].kind.check(given[key], f"{where}: {key}")
    return given


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files, with which an editor completes and checks them."""
    return {"$schema": DIALECT, "description": ABOUT, **msgspec.json.schema(FILE)}


# ---------------------------------------------------------------------------- with the command line

# What is run when no study is named.
DEFAULT_STUDY = "scale"

# A preset is a word for these.
OF_A_PRESET = ("blocks", "window_s")


def study_from(options: Options, *, running_build: str, file: StudyFile | None = None) -> Study:
    """Build the study that the options ask for, of the file that they name unless it is given.

    `running_build` is the arm where neither the file nor the command line names one.

    Raises:
        UsageError: an unknown name or a value that makes no sense; says where and what is expected.
    """
    asked = options.study or DEFAULT_STUDY
    source = f"{Path(asked).name.removesuffix('.toml')}.toml"
    file, flags = file or load_study_file(asked), options.values()
    preset = flags.get("preset") or file.values.get("preset", DEFAULT_PRESET)
    file, flags = _at_preset(file, flags, file.presets.get(preset, {}))
    values = _chosen(file.values, flags)
    if "blocks" in options.flags:
        if "time_s" in flags:
            raise UsageError("--blocks: --time chooses the number of blocks. Give one of the two")
        for key in ("time_s", "headline_blocks"):  # all blocks are whole
            values.pop(key, None)
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
    file: StudyFile, flags: Mapping[str, Any], preset: Mapping[str, Any]
) -> tuple[StudyFile, dict[str, Any]]:
    """The study's own table of the preset wins over the rest of the file; flags win over both."""
    values: dict[str, Any] = {"parameters": {}, **preset}
    parameters = values.pop("parameters")
    entries = tuple(
        msgspec.structs.replace(
            entry, parameters={**entry.parameters, **parameters.get(entry.name, {})}
        )
        for entry in file.workloads
    )
    return replace(file, workloads=entries), {**values, **flags}


def _chosen(file: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags' values, else the file's; blocks and window are a preset's if neither has them."""
    if "preset" in flags:  # on the command line, it stands for blocks and window of the file
        file = {
            key: value
            for key, value in file.items()
            if key not in (*OF_A_PRESET, "headline_blocks")
        }
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


def parse_override(text: str) -> Override:
    """Read `workload.parameter=value[,value…]`; the workload's own name may have dots in it.

    Raises:
        UsageError: not of that form.
    """
    target, equals, values = text.partition("=")
    workload, dot, parameter = target.strip().rpartition(".")
    if not (equals and dot and workload and parameter):
        raise UsageError(
            f"--set {text}: expected workload.parameter=value, such as echo.payload_bytes=256,1024"
        )
    return Override(workload, parameter, tuple(value.strip() for value in values.split(",")))


def _name(file: StudyFile, source: str, arms: Sequence[str]) -> str:
    """The name of a study whose file gives none: the file's, and the arms unless it names them."""
    parts = [Path(source).stem, *(arms if "arms" not in file.values else ())]
    return check_folder_name(re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join(parts)), source)
