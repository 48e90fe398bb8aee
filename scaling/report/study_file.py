"""The file that asks for a study again, made from its journal."""

import tomli_w

from scaling.journal.record import StudyLine
from scaling.study.file import said_in

FILE_NAME = "study.toml"


def command(study: StudyLine) -> str:
    """The command for the study in a file; with `--pgo` if all its builds had that."""
    known = [arm.description.python.pgo for arm in study.arms.values() if arm.description]
    pgo = " --pgo" if known and all(known) else ""
    return f"scaling run --study {FILE_NAME}{pgo}"


def study_file(study: StudyLine) -> str:
    """The settled study as a study file, which gives the same cells; empty where it is not known.

    Its amounts are those that were run, so it has no scale.
    """
    if not study.study.get("workloads"):
        return ""
    return tomli_w.dumps(
        {key: value for key, value in said_in(study.study).items() if key != "scale"}
    )
