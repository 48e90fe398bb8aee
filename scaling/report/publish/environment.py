"""What a study was measured on and with, in a file that can be read without unpacking anything.

All of it is in the journal's first line; here it has names that explain themselves. Values that
the machine does not report are null.
"""

import json
from typing import Any

import msgspec

from scaling.analysis.lookup.extent import extent
from scaling.analysis.table.load import Journal
from scaling.journal.record import ArmRecord, Machine, StudyLine
from scaling.report.export.about import about
from scaling.report.page.again import command, study_file

FILE_NAME = "environment.json"
SCHEMA = 1


def environment(journal: Journal) -> dict[str, Any]:
    """The document: the study and how to have it again, the machine, each arm, every setting."""
    study, found = journal.study, extent(journal)
    return {
        "schema": SCHEMA,
        "study": study.name,
        "date": found.date,
        "begun": found.begun,
        "ended": found.ended,
        "minutes": round(found.minutes, 1),
        "blocks": found.blocks,
        "runs": found.runs,
        "invalid_runs": found.invalid,
        "seed": study.seed,
        "controls": about(journal).get("controls"),
        **({"simulated": True} if study.simulated else {}),
        "command": command(study) if study_file(study) else None,
        "machine": _machine(study.machine),
        "arms": {name: _arm(arm) for name, arm in study.arms.items()},
        "services": [msgspec.to_builtins(each) for each in journal.ceilings],
        "settings": study.study,
        "made_by": _made_by(study),
    }


def environment_text(journal: Journal) -> str:
    """The same as the text of the file."""
    return json.dumps(environment(journal), ensure_ascii=False, indent=2) + "\n"


def _machine(machine: Machine) -> dict[str, Any]:
    """What is known of it; bytes are counted in whole ones."""
    memory_bytes = machine.memory_bytes
    whole = None if memory_bytes is None else round(memory_bytes)
    return {**msgspec.to_builtins(machine), "memory_bytes": whole}


def _arm(arm: ArmRecord) -> dict[str, Any]:
    """An arm: facts about its interpreter and its packages, all on one level."""
    described = arm.description
    return {
        "build": arm.build,
        "settings": arm.settings,
        "origin": arm.origin,
        **({"runtime": arm.runtime} if arm.runtime else {}),
        **({"python": msgspec.to_builtins(described.python)} if described else {}),
        **({"packages": dict(sorted(described.packages.items()))} if described else {}),
    }


def _made_by(study: StudyLine) -> dict[str, str | None]:
    """Which code measured it; digests are SHA-256."""
    return {
        "scaling": study.scaling,
        "pins": study.pins,
        "workers_source": study.workers_source,
        "fingerprint": study.fingerprint,
    }
