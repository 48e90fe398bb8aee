"""Two files that describe a published study: `environment.json` and `study.toml`.

Both are made from the journal's first line. `environment.json` says what the study was measured on,
in names that explain themselves; what the machine does not report is null. `study.toml` is a study
file that measures the study again.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from scaling.analysis.extent import extent
from scaling.analysis.tables.study import Study
from scaling.journal.record import ArmRecord, Machine, StudyLine
from scaling.study.file import said_in

ENVIRONMENT, STUDY_FILE = "environment.json", "study.toml"
SCHEMA = 1


def write_descriptions(study: Study, folder: Path) -> None:
    """Write both files into `folder`; `study.toml` only if the journal says what was asked.

    Raises `OSError`.
    """
    (folder / ENVIRONMENT).write_text(environment_text(study), encoding="utf-8")
    if document := study_file(study.line):
        (folder / STUDY_FILE).write_text(document, encoding="utf-8")


def command(study: StudyLine) -> str:
    """The command that measures `study.toml`; with `--pgo` if all its builds had PGO."""
    known = [arm.description.python.pgo for arm in study.arms.values() if arm.description]
    pgo = " --pgo" if known and all(known) else ""
    return f"scaling run --study {STUDY_FILE}{pgo}"


def study_file(study: StudyLine) -> str:
    """The settled study as the text of a study file; empty if the journal does not say it.

    The file gives the same cells. Its amounts are scaled already, so it has no `scale`.
    """
    if not study.study.get("workloads"):
        return ""
    return tomli_w.dumps(
        {key: value for key, value in said_in(study.study).items() if key != "scale"}
    )


def about(of: Study) -> dict[str, str]:
    """Facts about a study by name, for the metadata of Parquet; unknown ones are left out."""
    study, machine = of.line, of.line.machine
    known = {
        "study": study.name,
        "scaling": study.scaling,
        "seed": study.seed,
        "scale": study.study.get("scale", 1.0),
        "simulated": "true" if study.simulated else "",
        "controls": of.soundness.status,
        "cpu_model_name": machine.cpu_model,
        "cpu_count": machine.logical_cpus,
        "platform": machine.kernel,
    }
    return {name: str(value) for name, value in known.items() if value not in (None, "")}


def environment_text(of: Study) -> str:
    """The text of `environment.json`: study, command, machine, arms, services and settings."""
    study = of.line
    document = {
        "schema": SCHEMA,
        "study": study.name,
        **extent(of.runs, study),
        "seed": study.seed,
        "controls": of.soundness.status,
        **({"simulated": True} if study.simulated else {}),
        "command": command(study) if study.study.get("workloads") else None,
        "machine": _machine(study.machine),
        "arms": {name: _arm(arm) for name, arm in study.arms.items()},
        "services": [msgspec.to_builtins(each) for each in of.ceilings],
        "settings": study.study,
        "made_by": {
            "scaling": study.scaling,
            "pins": study.pins,
            "workers_source": study.workers_source,
            **({"own_source": study.own_source} if study.own_source else {}),
            "fingerprint": study.fingerprint,
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _machine(machine: Machine) -> dict[str, Any]:
    """The facts of a machine, memory in whole bytes. Older journals do not have `caches`."""
    known: dict[str, Any] = msgspec.to_builtins(machine)
    if machine.memory_bytes is not None:
        known["memory_bytes"] = round(machine.memory_bytes)
    if machine.caches is None:
        del known["caches"]
    return known


def _arm(arm: ArmRecord) -> dict[str, Any]:
    """The facts of an arm, of its interpreter and of its packages."""
    known: dict[str, Any] = {"build": arm.build, "settings": arm.settings, "origin": arm.origin}
    if arm.runtime:
        known["runtime"] = arm.runtime
    if arm.description:
        known["python"] = msgspec.to_builtins(arm.description.python)
        known["packages"] = dict(sorted(arm.description.packages.items()))
    return known
