"""The index page of all published studies, with their words counted.

The page is made from two files beside every journal: `comparison.csv` has the ratios with their
words, `environment.json` describes the machine. No journal is analysed again.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from scaling.analysis.table.empty_loop import PRIMITIVES
from scaling.analysis.tables.cells import names
from scaling.analysis.tables.words import as_counted
from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.formats import plural
from scaling.base.models import THREADS
from scaling.journal.protected_write import write_text
from scaling.journal.reading import published_in
from scaling.journal.record import Parameters
from scaling.report.descriptions import ENVIRONMENT
from scaling.report.files import COMPARISON
from scaling.report.publish import PAGE
from scaling.report.render.document import Document, html
from scaling.report.render.grid import Grid, Heading
from scaling.report.view.declare import RATIO, Row, Table, fact
from scaling.study.controls import is_control
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, OVER_SERVER, P99

TITLE = "Published studies"
QUESTION = (
    "What do N threads without the GIL bring to N event loops: in which program, on which machine, "
    "compared with what? Of several processes the best count, for each measure by itself."
)
# Headings of ratios, by question and measure; for memory also by the model of the divisor.
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
NUMBERS = ("ratio", "ratio_low", "ratio_high", "ratio_n", "p")
FIGURES = {"ratio_low": "low", "ratio_high": "high", "ratio_n": "n"}  # as tables name them
OF_STUDY = ("machine", "study", "place", "page", "date", "begun")
COLUMNS = [
    *(FIGURES.get(each, each) for each in (*TEXTS, *NUMBERS)),
    *("workers", "headline", "name", *OF_STUDY),
]

COUNTS = Table(
    "The words, counted",
    rows={"N threads": ("heading",)},
    columns=(fact(Heading("cases"), "cases"), fact(Heading("words", left=True), "words")),
)
OF_HEADING = Table(
    "",
    rows={
        "study": ("place",),
        "program": ("name", "loop"),
        "": ("arm",),
        "N": ("workers",),
        "over": ("over_arm", "over_model"),
        "at": ("objective",),
    },
    columns=RATIO,
    link="page",
)
STUDIES = Table(
    "Every study",
    rows={"study": ("place",)},
    columns=(
        fact(Heading("date", left=True), "date"),
        fact(Heading("controls", left=True), "controls"),
        fact(Heading("blocks"), "blocks"),
        fact(Heading("runs"), "runs"),
    ),
    link="page",
)


def environment_of(folder: Path) -> dict[str, Any]:
    """The environment of a published study.

    Raises:
        UsageError: it cannot be read.
    """
    file = folder / ENVIRONMENT
    try:
        known: dict[str, Any] = json.loads(text_in(file))
    except ValueError as error:
        raise UsageError(f"{file}: {error}. Publish that study again") from None
    return known


def studies(published: Path) -> pd.DataFrame:
    """The studies in `published`/MACHINE/STUDY, a row each.

    Columns: its `folder`, `machine`, `study`, `place` (both), the address of its `page`, `date`,
    `begun`, `controls`, `blocks`, `runs`; the arms without the GIL (`free`); whether it `counts`.

    Raises:
        UsageError: the environment of a study cannot be read.
    """
    rows = []
    for folder in sorted(published_in(published)):
        known, place = environment_of(folder), f"{folder.parent.name}/{folder.name}"
        pythons = {name: arm.get("python") or {} for name, arm in known["arms"].items()}
        about = {"folder": folder, "machine": folder.parent.name, "study": folder.name}
        about |= {"place": place, "page": quote(f"{place}/{PAGE}")}
        about |= {
            name: known[name] or "" for name in ("date", "begun", "controls", "blocks", "runs")
        }
        about["free"] = [name for name, each in pythons.items() if each.get("free_threaded")]
        about["counts"] = known["controls"] != "void" and not known.get("simulated")
        rows.append(about)
    return pd.DataFrame(rows)


def ratios(known: pd.DataFrame) -> pd.DataFrame:
    """The headline ratios of these `studies`, a row each.

    They are of threads without the GIL. Controls are left out, and so are studies that are void or
    simulated. Columns are those of `comparison.csv`, the interval as `low`, `high`, `n`; those of
    `studies`; `name` of the workload on its study's page; `heading`.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    there = [row for row in known.to_dict("records") if (row["folder"] / COMPARISON).exists()]
    parts = [_ratios_of(row) for row in there] or [pd.DataFrame(columns=COLUMNS, dtype=object)]
    every = pd.concat(parts, ignore_index=True)
    measure = every["measure"].str.replace(" at .*", "", regex=True)
    over = every["over_model"].where(measure == MEMORY, "")
    keys = pd.Series([*zip(every["question"], measure, over, strict=True)], dtype=object)
    return every.assign(heading=keys.map(HEADINGS)).dropna(subset="heading")


def _ratios_of(study: Row) -> pd.DataFrame:
    """The ratios of threads without the GIL in one study, without controls; none if void."""
    found = _read(study["folder"] / COMPARISON)
    is_ours = (found["model"] == THREADS) & found["arm"].isin(study["free"]) & found["headline"]
    parameters = found["parameters"].map(Parameters.read)
    pairs = zip(found["workload"], parameters, strict=True)
    is_program = pd.Series([not is_control(*each) for each in pairs], found.index, dtype=bool)
    about = {name: study[name] for name in OF_STUDY}
    counted = is_ours & is_program & bool(study["counts"])
    return found.assign(name=names(found), **about)[counted]


def _read(comparison: Path) -> pd.DataFrame:
    """The columns that the index needs. An arm such as 3.10 is text, and so is an empty field."""
    kinds: dict[str, type] = dict.fromkeys(TEXTS, str) | dict.fromkeys(NUMBERS, float)
    kinds |= {"workers": int, "headline": bool}
    blank = {name: [""] for name in NUMBERS}
    try:
        found = pd.read_csv(
            comparison, usecols=list(kinds), dtype=kinds, keep_default_na=False, na_values=blank
        )
    except ValueError as error:
        raise UsageError(f"{comparison}: {error}. Publish that study again") from None
    return found.rename(columns=FIGURES)


def counts(shown: pd.DataFrame) -> pd.DataFrame:
    """The number of ratios with each word: a row for each heading, in the order of the page.

    Words are corrected for the number of ratios (`scaling.analysis.tables.words.as_counted`).
    Columns are `heading`, `cases`, and one for each word. Primitives are no programs, and are not
    counted.
    """
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
    known = studies(published)
    shown = ratios(known)
    counted = counts(shown)
    of_words = counted.drop(columns=["heading", "cases"]).to_dict("records")
    return html(
        Document(
            TITLE,
            QUESTION,
            about=[f"{plural(shown['page'].nunique(), 'study')}."],
            answer=list(COUNTS.grids(None, counted.assign(words=[*map(_in_words, of_words)]))),
            details=[*_grids(shown), *STUDIES.grids(None, known)],
        )
    )


def _in_words(counts: Row) -> str:
    """`slower in 12, same in 3`: the words from the most frequent on."""
    known = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{word} in {count}" for word, count in known if count)


def _grids(shown: pd.DataFrame) -> Iterator[Grid]:
    """A table for each heading, with a row for each ratio that links to the page of its study."""
    for heading in HEADINGS.values():
        own = shown[shown["heading"] == heading].sort_values("workload", kind="stable")
        objective = own["measure"].str.extract(" at (.*)", expand=False).fillna("")
        own = own.assign(objective=objective)
        yield from replace(OF_HEADING, title=heading).grids(None, own.drop(columns="parameters"))


# ------------------------------------------------------------------------------------------- write


def is_index(file: Path) -> bool:
    """Return True if a file is an index page. Raises `UsageError` if it cannot be read."""
    return file.is_file() and f"<title>{TITLE}" in text_in(file)


def write_index(published: Path) -> None:
    """Write the index page of the studies in `published`/MACHINE/STUDY.

    Raises:
        UsageError: a file of a study cannot be read, or the page cannot be written there.
        ScalingError: the disk is full or fails.
    """
    write_text(published / PAGE, index_page(published), again="scaling publish")
