"""The command to type after a study: more blocks, or the next question."""

import math
import shlex
from pathlib import Path

from scaling.analysis.extent import block_s
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import OPEN
from scaling.base.formats import duration
from scaling.base.models import THREADS
from scaling.journal.check_file import read_check
from scaling.study.presets import DEFAULT_PRESET, FEWEST_FOR_INTERVAL

DOUBTFUL = ("void", "undecided")


def next_command(study: Study, folder: Path) -> str:
    """The command, and its purpose."""
    if study.soundness.status in DOUBTFUL:
        return "scaling doctor (finds what disturbs this machine)"
    check = read_check(folder)
    if check and not check.ok and any(THREADS in each.models for each in check.findings):
        return "correct the findings of the check (the page has remedies), then measure again"
    if int(study.runs["block"].nunique()) < FEWEST_FOR_INTERVAL:
        needed = f"a word needs {FEWEST_FOR_INTERVAL} blocks"
        return f"the same with --preset {DEFAULT_PRESET} ({needed})"
    if more := more_blocks(study):
        return more
    if "application" in study.line.study:
        return f"scaling gate {shlex.quote(str(folder))} --min-efficiency 0.8 (in CI)"
    if len(study.line.arms) > 1:
        return f"scaling explain {shlex.quote(str(folder))} (where the time goes)"
    return "scaling run --study compare (what freed the speed; processes with the GIL)"


def more_blocks(study: Study) -> str:
    """The command with enough blocks to decide open headline ratios; empty without any."""
    ratios = study.ratios
    is_open = ratios["headline"] & ~ratios["control"] & (ratios["word"] == OPEN)
    needed = ratios.loc[is_open, "blocks_to_decide"].dropna()
    if needed.empty:
        return ""
    blocks = more_than_measured(study, int(needed.max()))
    why = f"may decide what is open; about {time_of(study, blocks)}"
    return f"{with_blocks(study, blocks)} ({why})"


# ------------------------------------------------------------------------------------- more blocks


def more_than_measured(study: Study, blocks: int) -> int:
    """The number of blocks, but more than the study has."""
    return max(blocks, study.runs["block"].nunique() + 1)


def time_of(study: Study, blocks: int) -> str:
    """The time of a number of blocks of the study, in whole minutes."""
    seconds = blocks * block_s(study.runs, study.line)
    return duration(math.ceil(seconds / 60) * 60).removesuffix(" 00 s")


def with_blocks(study: Study, blocks: int) -> str:
    """The command that measures a study again with a number of blocks.

    With a user's own code it is the same command as before.
    """
    has_own_code = study.line.own_source or "application" in study.line.study
    if has_own_code or study.path is None or not study.line.study.get("workloads"):
        return f"the same with --blocks {blocks}"
    return f"scaling run --study {shlex.quote(str(study.path.parent))} --blocks {blocks}"
