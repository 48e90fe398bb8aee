"""The plot of all published programs, beside the index page."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from scaling.builds.arms import parse_arm
from scaling.journal.protected_write import write_text
from scaling.report.index import ratios, studies
from scaling.report.view.declare import tone
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES

if TYPE_CHECKING:
    from scaling.report.render.sheet import Picture

FILE_NAME = "programs.svg"
PROGRAMS = "N threads over the best N processes: applications, and workloads without variants"
PANELS = {
    "throughput": "throughput: more is better",
    MEMORY: "memory: less is better",
    CPU: "CPU time: less is better",
}
PREFIXES = ("app-", "outside-")


def programs(found: pd.DataFrame) -> "Picture":
    """The plot of those of these ratios that are about programs, one program below the other.

    A study of an application is a program, or one for each of its loops. Elsewhere a workload is a
    program, unless the study has several variants of it. If a program was measured several times,
    the latest ratio over processes with the GIL is shown, and one over processes without it only if
    there is no other. Memory is compared with the processes that take least.
    """
    from scaling.report.render import draw  # with Matplotlib

    asked = found[(found["question"] == OVER_PROCESSES) & found["measure"].isin(PANELS)]
    is_program = asked["study"].str.startswith(PREFIXES)
    asked = asked[is_program | (asked["name"] == asked["workload"])]
    named = asked["study"].str.replace("|".join(f"^{each}" for each in PREFIXES), "", regex=True)
    label = named.where(is_program, asked["name"].astype(str))
    one_loop = is_program & (asked.groupby(["machine", "study"])["loop"].transform("nunique") == 1)
    rows = asked.assign(
        name=label.where(one_loop, label + " · " + asked["loop"].astype(str)),
        panel=asked["measure"].map(PANELS),
        tone=asked["word"].map(tone),
        is_other=~is_program,
        place=asked["measure"].map(list(PANELS).index),
        over_gil=[not parse_arm(arm).without_gil for arm in asked["over_arm"]],
    )
    rows = rows.sort_values(["over_gil", "begun", "ratio"])
    rows = rows.drop_duplicates(["name", "panel"], keep="last")
    rows = rows.sort_values(["place", "is_other", "name"])
    days = sorted(set(rows["date"]) - {""})
    machines = ", ".join(sorted(set(rows["machine"])))
    caption = f"{machines} · {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    return draw.ratios(PROGRAMS, caption, rows, {})


def write_programs(published: Path) -> None:
    """Draw the plot of the studies in `published`/MACHINE/STUDY.

    Raises:
        UsageError: a file of a study cannot be read, or the plot cannot be written there.
        ScalingError: the disk is full or fails.
    """
    from scaling.report.render.svg import svg  # with Matplotlib

    drawn = svg(programs(ratios(studies(published))).figure, FILE_NAME, PROGRAMS)
    write_text(published / FILE_NAME, drawn, again="nox -s quotes")
