"""All published programs at a glance: N threads over the best processes, a line each."""

from pathlib import Path

import pandas as pd

from scaling.journal.protected_write import write_text
from scaling.report.index import ratios
from scaling.report.render.draw import Picture, columns
from scaling.report.render.svg import svg
from scaling.report.view.declare import tone
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES

FILE_NAME = "programs.svg"
TITLE = "N threads over the best N processes: every program that was published"
PANELS = {"throughput": "throughput", MEMORY: "memory", CPU: "CPU time"}
PREFIXES = ("app-", "outside-")


def programs(found: pd.DataFrame) -> Picture:
    """The plot of some rows of `scaling.report.index.ratios`, one program below the other.

    A study of an application is a program; elsewhere a workload is one, in studies without other
    variants of it, which are about something else. Of a program that was
    measured several times the latest is shown, of memory the processes that take least.
    """
    asked = found[(found["question"] == OVER_PROCESSES) & found["measure"].isin(PANELS)]
    is_program = asked["study"].str.startswith(PREFIXES)
    asked = asked[is_program | (asked["name"] == asked["workload"])]
    named = asked["study"].str.replace("|".join(f"^{each}" for each in PREFIXES), "", regex=True)
    rows = asked.assign(
        name=named.where(is_program, asked["name"].astype(str) + " · " + asked["loop"].astype(str)),
        panel=asked["measure"].map(PANELS),
        tone=asked["word"].map(tone),
        low=asked["ratio_low"],
        high=asked["ratio_high"],
        is_other=~is_program,
        place=asked["measure"].map(list(PANELS).index),
    )
    rows = rows.sort_values(["date", "ratio"]).drop_duplicates(["name", "panel"], keep="last")
    rows = rows.sort_values(["place", "is_other", "name"])
    days = sorted(set(rows["date"]) - {""})
    machines = ", ".join(sorted(set(rows["machine"])))
    caption = f"{machines} · {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    return columns(TITLE, caption, rows)


def write_programs(published: Path) -> Path:
    """Draw the plot into `published`; return its file.

    Raises:
        UsageError: a file of a study cannot be read.
        ScalingError: it cannot be written.
    """
    file, found = published / FILE_NAME, programs(ratios(published))
    write_text(file, svg(found.figure, FILE_NAME, TITLE), again="nox -s quotes")
    return file
