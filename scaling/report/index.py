"""All published studies on one page, with their words counted.

The page is made of two files that stand beside every journal: `comparison.csv` has each ratio with
its word, `environment.json` what it was measured on. No journal is analysed anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from scaling.analysis.table.empty_loop import PRIMITIVES
from scaling.analysis.tables.cells import names
from scaling.analysis.tables.words import as_counted
from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.formats import number, plural, span
from scaling.base.models import THREADS
from scaling.journal.protected_write import write_text
from scaling.journal.reading import published_in
from scaling.journal.record import Parameters
from scaling.report.environment import FILE_NAME as ENVIRONMENT
from scaling.report.files import COMPARISON
from scaling.report.publish import PAGE
from scaling.report.render.document import Document, html
from scaling.report.render.grid import Grid, Heading, Text
from scaling.report.view.declare import TIMES, tone
from scaling.study.controls import is_control
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, OVER_SERVER, P99

TITLE = "Published studies"
QUESTION = (
    "What do N threads without the GIL bring to N event loops: in which program, on which machine, "
    "compared with what? Of several processes the best count, for each measure by itself."
)
# The heading of each ratio, by its question and measure; of memory with the model of the divisor.
HEADINGS = {
    ("gain", "throughput", ""): "Throughput over one worker",
    (OVER_PROCESSES, "throughput", ""): "Throughput over processes",
    (OVER_PROCESSES, CPU, ""): "CPU time over processes",
    (OVER_PROCESSES, MEMORY, "processes"): "Memory over fresh processes",
    (OVER_PROCESSES, MEMORY, "forked"): "Memory over forked processes",
    (OVER_PROCESSES, P99, ""): "P99 over processes, at a rate",
    (OVER_PROCESSES, "capacity", ""): "Capacity over processes",
    (OVER_SERVER, "throughput", ""): "Throughput over processes with a server",
    (OVER_SERVER, P99, ""): "P99 over processes with a server",
    ("version", "throughput", ""): "Throughput over the oldest version",
    ("setting", "throughput", ""): "Throughput over the same without the setting",
}
TEXTS = (
    *("workload", "parameters", "sizing", "loop", "question", "measure", "arm", "model"),
    *("over_arm", "over_model", "word", "said"),
)
NUMBERS = ("workers", "ratio", "ratio_low", "ratio_high", "ratio_n", "p")


def environment_of(folder: Path) -> dict[str, Any]:
    """The environment of a published study.

    Raises:
        UsageError: that cannot be read.
    """
    file = folder / ENVIRONMENT
    try:
        known: dict[str, Any] = json.loads(text_in(file))
    except ValueError as error:
        raise UsageError(f"{file}: {error}. Publish that study again") from None
    return known


def ratios(published: Path) -> pd.DataFrame:
    """The headline ratios of the studies in `published`/MACHINE/STUDY, a row each.

    They are those of threads without the GIL. Controls are left out, and studies that are void or
    simulated. Columns are those of `comparison.csv`; `machine`, `study`, `date`, `page`; `name` of
    the workload on its study's page; `heading`.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    every = pd.concat(map(_ratios_of, sorted(published_in(published))), ignore_index=True)
    measure = every["measure"].str.replace(" at .*", "", regex=True)
    over = every["over_model"].where(measure == MEMORY, "")
    keys = pd.Series([*zip(every["question"], measure, over, strict=True)], dtype=object)
    return every.assign(heading=keys.map(HEADINGS)).dropna(subset="heading")


def _ratios_of(folder: Path) -> pd.DataFrame:
    """The ratios of threads without the GIL in one study that can be trusted, but for controls."""
    known, file = environment_of(folder), folder / COMPARISON
    page = quote(f"{folder.parent.name}/{folder.name}/{PAGE}")
    about = {"machine": folder.parent.name, "study": folder.name, "page": page}
    about["date"] = known.get("date") or ""
    if not file.exists():
        return pd.DataFrame(columns=[*TEXTS, *NUMBERS, *about, "name"])
    found = _read(file)
    pythons = {name: arm.get("python") or {} for name, arm in known["arms"].items()}
    free = [name for name, python in pythons.items() if python.get("free_threaded")]
    is_ours = (found["model"] == THREADS) & found["arm"].isin(free) & found["headline"]
    parameters = found["parameters"].map(Parameters.read)
    pairs = zip(found["workload"], parameters, strict=True)
    is_program = pd.Series([not is_control(*each) for each in pairs], found.index, dtype=bool)
    is_sound = known["controls"] != "void" and not known.get("simulated")
    return found.assign(name=names(found), **about)[is_ours & is_program & is_sound]


def _read(comparison: Path) -> pd.DataFrame:
    """The columns that are used here. An arm such as 3.10 is a word, and so is an empty text."""
    try:
        return pd.read_csv(
            comparison,
            usecols=[*TEXTS, *NUMBERS, "headline"],
            dtype=dict.fromkeys(TEXTS, str) | dict.fromkeys(NUMBERS, float) | {"headline": bool},
            keep_default_na=False,
            na_values={name: [""] for name in NUMBERS},
        )
    except ValueError as error:
        raise UsageError(f"{comparison}: {error}. Publish that study again") from None


def counts(published: Path) -> pd.DataFrame:
    """The number of these ratios with each word: a row for each heading, in the page's order.

    They are corrected for how many there are (`scaling.analysis.tables.words.as_counted`). Columns
    are `heading`, `cases`, and one for each word. No program consists of primitives, so these are
    not counted.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    return _counts(ratios(published))


def _counts(shown: pd.DataFrame) -> pd.DataFrame:
    of_programs = shown[shown["workload"] != PRIMITIVES]
    parts = {
        heading: as_counted(part).value_counts() for heading, part in of_programs.groupby("heading")
    }
    found = pd.DataFrame(parts).T.fillna(0).astype(int)
    found.insert(0, "cases", found.sum(axis="columns"))
    found = found.rename_axis("heading")
    return found.reindex([each for each in HEADINGS.values() if each in parts]).reset_index()


# -------------------------------------------------------------------------------------------- page


def index_page(published: Path) -> str:
    """The HTML of the studies in `published`/MACHINE/STUDY; the same files give the same page.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    shown = ratios(published)
    return html(
        Document(
            TITLE,
            QUESTION,
            about=[f"{plural(shown['page'].nunique(), 'study')}."],
            answer=[_counts_grid(_counts(shown))],
            details=[*_grids(shown), _studies(published)],
        )
    )


def _counts_grid(counts: pd.DataFrame) -> Grid:
    """A row for each heading: how many cases it has, and the words from the most frequent on."""
    rows = []
    for heading, cases, *_ in counts.itertuples(index=False):
        of_words = counts.loc[counts["heading"] == heading].iloc[0, 2:]
        known = of_words[of_words > 0].sort_values(ascending=False, kind="stable")
        words = ", ".join(f"{word} in {count}" for word, count in known.items())
        rows.append([Text(heading), Text(str(cases)), Text(words)])
    headings = [Heading("N threads", left=True), Heading("cases"), Heading("words", left=True)]
    return Grid("The words, counted", headings, rows)


def _grids(shown: pd.DataFrame) -> Iterator[Grid]:
    """A table for each heading: a row for each ratio, which leads to the page of its study."""
    headings = [
        Heading("study", left=True),
        Heading("program", left=True, wrap=True),
        Heading("over", left=True),
        Heading("ratio"),
        Heading("", left=True, wrap=True),
    ]
    for heading in HEADINGS.values():
        own = shown[shown["heading"] == heading].sort_values("workload", kind="stable")
        if len(own):
            yield Grid(heading, headings, [_row(each) for each in own.to_dict("records")])


def _row(row: dict[Any, Any]) -> list[Text]:
    ends = (number(row["ratio_low"]), number(row["ratio_high"]))
    program = (row["name"], row["loop"], row["arm"], f"N = {row['workers']:.0f}")
    return [
        Text(f"{row['machine']}/{row['study']}", link=row["page"]),
        Text(" · ".join(program)),
        Text(f"{row['over_arm']} {row['over_model']}"),
        Text(f"{number(row['ratio'])}{TIMES}", span(*ends) if row["ratio_n"] > 1 else ""),
        Text(row["said"], tone=tone(row["word"])),
    ]


def _studies(published: Path) -> Grid:
    rows = []
    for folder in sorted(published_in(published)):
        known = environment_of(folder)
        page = quote(f"{folder.parent.name}/{folder.name}/{PAGE}")
        facts = (known["date"] or "", known["controls"] or "", known["blocks"], known["runs"])
        name = Text(f"{folder.parent.name}/{folder.name}", link=page)
        rows.append([name, *(Text(str(each)) for each in facts)])
    headings = [
        Heading("study", left=True),
        Heading("date", left=True),
        Heading("controls", left=True),
        Heading("blocks"),
        Heading("runs"),
    ]
    return Grid("Every study", headings, rows)


# ------------------------------------------------------------------------------------------- write


def is_index(file: Path) -> bool:
    """Whether a file is a page of published studies. Raises `UsageError` if it cannot be read."""
    return file.is_file() and f"<title>{TITLE}" in text_in(file)


def write_index(published: Path) -> None:
    """Write the page of all studies in `published`/MACHINE/STUDY.

    Raises:
        UsageError: a file of a study cannot be read, or the page cannot be written there.
        ScalingError: the disk is full or fails.
    """
    write_text(published / PAGE, index_page(published), again="scaling publish")
