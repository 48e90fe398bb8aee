"""The file that asks for a study again, made from its journal."""

from typing import Any

import msgspec
import tomli_w

from scaling.journal.record import StudyLine
from scaling.study.file import ENTRY, FILE

FILE_NAME = "study.toml"


def command(study: StudyLine) -> str:
    """What to type for the study in a file; only builds with PGO, if its own had that."""
    known = [arm.description.python.pgo for arm in study.arms.values() if arm.description]
    pgo = " --pgo" if known and all(known) else ""
    return f"scaling run --study {FILE_NAME}{pgo}"


def study_file(study: StudyLine) -> str:
    """The settled study as a study file, which gives the same cells; empty where it is not known.

    Its amounts are those that were run, so it has no scale.
    """
    entries = study.study.get("workloads")
    if not entries:
        return ""
    document = _said(study.study, FILE)
    document.pop("scale", None)
    document["workloads"] = [_said(entry, ENTRY) for entry in entries]
    return tomli_w.dumps(document)


def _said(values: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The values in a journal that a study file can have; TOML has no null."""
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    return {name: values[name] for name in names if values.get(name) is not None}
