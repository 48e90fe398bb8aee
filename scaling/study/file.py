"""Study files: TOML as a person writes it, checked key by key; on disk or built in."""

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from scaling.errors import UsageError
from scaling.names import nearest, unknown


class WorkloadEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[workloads]]` of a study: which workload, what of the study's lists it overrides.

    `name` is a built-in name or `package.module:Name`. A list among the `parameters` is a sweep;
    they are checked once it is known what the workload takes (`scaling.study.parameters`).
    """

    name: str
    parameters: dict[str, Any] = {}
    arms: tuple[str, ...] | None = None
    loops: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    workers: tuple[int, ...] | None = None
    sizing: tuple[str, ...] | None = None


class StudyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a study file may say. What it leaves out (None) gets the default of `Study`."""

    name: str | None = None
    preset: str | None = None
    blocks: int | None = None
    precision: float | str | None = None
    max_blocks: int | None = None
    scale: float | str | None = None
    limit_s: float | None = None
    window_s: float | None = None
    warmup_s: float | None = None
    seed: int | None = None
    arms: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    loops: tuple[str, ...] | None = None
    workers: tuple[int, ...] | None = None
    sizing: tuple[str, ...] | None = None
    controls: bool | None = None
    twins: bool | None = None
    pin: bool | None = None
    workloads: tuple[WorkloadEntry, ...] | None = None


def built_in_studies() -> tuple[str, ...]:
    """Names of the studies that come with the project."""
    folder = resources.files("scaling") / "studies"
    names = (Path(entry.name) for entry in folder.iterdir())
    return tuple(sorted(path.stem for path in names if path.suffix == ".toml"))


def load_study_file(name: str) -> StudyFile:
    """The study in the file `name`, or the built-in one of that name.

    Raises:
        UsageError: no such study, not readable, not TOML, or a key or value that does not fit.
    """
    if name in built_in_studies():
        text = (resources.files("scaling") / "studies" / f"{name}.toml").read_text("utf-8")
        return read_study(text, f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml" and not path.is_file():
        raise unknown("study", name, built_in_studies())
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        suggestion = nearest(path.stem, built_in_studies())
        meant = f" Did you mean the built-in study {suggestion!r}?" if suggestion else ""
        raise UsageError(f"{name}: there is no such study file.{meant}") from None
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not a study file: it is not UTF-8 text") from None
    return read_study(text, path.name)


def read_study(text: str, source: str) -> StudyFile:
    """Check the TOML of a study; `source` names the file in messages.

    Raises:
        UsageError: not TOML, or a key or value that does not fit; says file, key and expectation.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    # One workload at a time: msgspec does not tell which element of a list was wrong.
    entries = document.pop("workloads", None)
    study = _convert(document, StudyFile, source)
    if entries is None:
        return study
    if not isinstance(entries, list):
        raise UsageError(f"{source}: workloads: expected [[workloads]] tables, got {entries!r}")
    workloads = tuple(
        _convert(entry, WorkloadEntry, f"{source}: {_title(number, entry)}")
        for number, entry in enumerate(entries, start=1)
    )
    return msgspec.structs.replace(study, workloads=workloads)


def _title(number: int, entry: object) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"workload {number} ({name})" if isinstance(name, str) else f"workload {number}"


def _convert[T: msgspec.Struct](document: object, kind: type[T], where: str) -> T:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    if isinstance(document, dict):
        for key in document:
            if key not in known:
                raise unknown("key", key, known, where=where)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {_plainly(str(error), document)}") from None


# What msgspec and TOML call the same thing, in a study writer's words.
WORDS = {
    "array": "list",
    "object": "table",
    "int": "whole number",
    "float": "number",
    "str": "text",
    "bool": "true/false",
}


def _types(told: str) -> str:
    """`float | str | null` as "number or text"."""
    names = [name for name in told.split(" | ") if name != "null"]
    return " or ".join(WORDS.get(name, name) for name in names)


def _plainly(message: str, document: object) -> str:
    """Turn "Expected `array | null`, got `str` - at `$.loops`" into "loops: expected a list, …"."""
    complaint, _, place = message.partition(" - at `$")
    key = place.rstrip("`").lstrip(".").removesuffix("[...]")
    complaint = re.sub(r"`([\w| ]+)`", lambda found: _types(found[1]), complaint)
    complaint = complaint[:1].lower() + complaint[1:].replace("`", "")
    if not key:
        return complaint
    value = document.get(key) if isinstance(document, dict) else None
    return f"{key}: {complaint}" + (f" ({value!r})" if value is not None else "")
