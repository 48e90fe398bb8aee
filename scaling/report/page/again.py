"""How to repeat a study: its file, the command, and what it was measured with."""

from typing import Any

import msgspec
import tomli_w

from scaling.base import formats
from scaling.journal.record import StudyLine
from scaling.report.page.parts import Block
from scaling.report.tables.grid import Cell, Grid
from scaling.study.file import ENTRY, FILE
from scaling.study.scaled import scaled_to

FILE_NAME = "study.toml"


def again_block(study: StudyLine) -> Block:
    """The study file to save and the command to type, seed, versions and digests."""
    facts: dict[str, object] = {
        "seed": study.seed,
        "blocks": study.blocks,
        "begun": study.started_at,
        "scaling": study.scaling,
        "pins of the measured environment (SHA-256)": study.pins,
        "source of the workers (SHA-256)": study.workers_source,
        "fingerprint of the study": study.fingerprint,
        "machine": study.machine.id,
    }
    rows: list[list[Cell]] = [
        [name, formats.BLANK if value is None else str(value)] for name, value in facts.items()
    ]
    grids = [Grid("What the study was measured with", ["fact", "value"], rows, words=2)]
    document = study_file(study)
    if not document:
        return Block(words=["The journal does not contain the study file."], grids=grids)
    words = [f"Save this as {FILE_NAME}; its first line is the command that runs it."]
    if own := [name for name in study.workloads if ":" in name]:
        words.append(f"It also needs the code of {', '.join(own)}: see --path and --with.")
    if scaled := scaled_to(study.study):
        words.append(f"The amounts in it are {scaled} already.")
    return Block(words=words, grids=grids, code=f"# {command(study)}\n\n{document}")


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
