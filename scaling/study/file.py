"""Study files: TOML as a person writes it, checked key by key; on disk or built in."""

from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from scaling.base.errors import UsageError
from scaling.base.suggest import nearest, unknown
from scaling.base.text_file import text_in
from scaling.base.toml_file import converted, document, title


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
    folder = resources.files("scaling.study") / "builtin"
    names = (Path(entry.name) for entry in folder.iterdir())
    return tuple(sorted(path.stem for path in names if path.suffix == ".toml"))


def load_study_file(name: str) -> StudyFile:
    """The study in the file `name`, or the built-in one of that name.

    Raises:
        UsageError: no such study, not readable, not TOML, or a key or value that does not fit.
    """
    if name in built_in_studies():
        text = (resources.files("scaling.study") / "builtin" / f"{name}.toml").read_text("utf-8")
        return read_study(text, f"{name}.toml")
    path = Path(name)
    if path.suffix != ".toml" and not path.is_file():
        raise unknown("study", name, built_in_studies())
    suggestion = nearest(path.stem, built_in_studies())
    meant = f" Did you mean the built-in study {suggestion!r}?" if suggestion else ""
    return read_study(text_in(path, f"there is no such study file.{meant}"), path.name)


def read_study(text: str, source: str) -> StudyFile:
    """Check the TOML of a study; `source` names the file in messages.

    Raises:
        UsageError: not TOML, or a key or value that does not fit; says file, key and expectation.
    """
    said = document(text, source)
    # One workload at a time: msgspec does not tell which element of a list was wrong.
    entries = said.pop("workloads", None)
    study = converted(said, StudyFile, source)
    if entries is None:
        return study
    if not isinstance(entries, list):
        raise UsageError(f"{source}: workloads: expected [[workloads]] tables, got {entries!r}")
    workloads = tuple(
        converted(entry, WorkloadEntry, f"{source}: {title('workload', number, entry)}")
        for number, entry in enumerate(entries, start=1)
    )
    return msgspec.structs.replace(study, workloads=workloads)
