"""All published studies on one page, with their verdicts counted.

The page is made of two files that stand beside every journal: `comparison.csv` has each ratio with
its verdict, `environment.json` what it was measured on. No journal is analysed anew.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pandas as pd

from scaling.analysis.table.empty_loop import PRIMITIVES
from scaling.analysis.table.groups import short_labels
from scaling.base.errors import UsageError
from scaling.base.files import text_in
from scaling.base.formats import plural
from scaling.base.vocabulary import THREADS
from scaling.builds.arms import build_of
from scaling.journal.protected_write import write_text
from scaling.journal.reading import published_in
from scaling.journal.record import Parameters, PythonFacts
from scaling.report.environment import FILE_NAME as ENVIRONMENT
from scaling.report.files import COMPARISON
from scaling.report.page.render import template
from scaling.report.publish import PAGE
from scaling.report.tables.notes import build_text
from scaling.study.controls import is_control
from scaling.study.questions import CPU, MEMORY, OVER_PROCESSES, OVER_SERVER, P99

TITLE = "<title>Published studies: "  # by which a page is known to be this one
TABLES: Mapping[str, Mapping[tuple[str, str, str], str]] = {
    "as fast as it can": {
        ("gain", "throughput", ""): "throughput over one worker",
        (OVER_PROCESSES, "throughput", ""): "throughput over processes",
        (OVER_PROCESSES, CPU, ""): "CPU time over processes",
        (OVER_PROCESSES, MEMORY, "processes"): "memory over fresh processes",
        (OVER_PROCESSES, MEMORY, "forked"): "memory over forked processes",
        (OVER_SERVER, "throughput", ""): "throughput over processes with a server",
    },
    "at a given rate": {
        (OVER_PROCESSES, P99, ""): "P99 over processes",
        (OVER_PROCESSES, "capacity", ""): "capacity over processes",
        (OVER_PROCESSES, CPU, ""): "CPU time over processes",
        (OVER_PROCESSES, MEMORY, "processes"): "memory over fresh processes",
        (OVER_PROCESSES, MEMORY, "forked"): "memory over forked processes",
        (OVER_SERVER, P99, ""): "P99 over processes with a server",
    },
    "versions and settings": {
        ("version", "throughput", ""): "throughput over the oldest version",
        ("setting", "throughput", ""): "throughput over the same without the setting",
    },
}
"""The tables of a workload: the heading of each ratio, by its question, its measure, and of memory
the model of the divisor."""
HEADINGS = list(dict.fromkeys(heading for table in TABLES.values() for heading in table.values()))
CELL = ["page", "workload", "parameters", "sizing", "loop", "arm", "workers", "objective"]
WORDS = (
    *("workload", "parameters", "sizing", "loop", "question", "measure", "arm", "model"),
    *("over_arm", "over_model", "verdict", "family"),
)
NUMBERS = ("workers", "ratio", "ratio_low", "ratio_high")


def environment_of(folder: Path) -> dict[str, Any]:
    """What a published study says of itself. Raises `UsageError` where that cannot be read."""
    file = folder / ENVIRONMENT
    try:
        known: dict[str, Any] = json.loads(text_in(file))
    except ValueError as error:
        raise UsageError(f"{file}: {error}. Publish that study again") from None
    return known


def build_name(arm: Mapping[str, Any]) -> str:
    """What an arm of `environment.json` is: `3.14.7t with PGO`; another runtime's name."""
    python = arm.get("python")
    return build_text(msgspec.convert(python, PythonFacts)) if python else str(arm["build"])


def page_address(folder: Path) -> str:
    """The page of a study, as the page of all of them refers to it."""
    return quote(f"{folder.parent.name}/{folder.name}/{PAGE}")


# ------------------------------------------------------------------------------------------ ratios


def ratios(published: Path) -> pd.DataFrame:
    """What the studies in `published`/MACHINE/STUDY are about: a row for each ratio and table.

    They are those of threads without the GIL, in cells of which the table has a primary ratio.
    Controls are left out, and studies that are void or simulated. Columns are those of
    `comparison.csv` in `WORDS` and `NUMBERS`; `machine`, `study`, `date`, `page` and `build`;
    `label`, what the workload is called on its study's page; `objective`, which only a capacity
    has; `table` and `heading`.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    every = pd.concat(map(_ratios_of, sorted(published_in(published))), ignore_index=True)
    measure = every["measure"].str.replace(" at .*", "", regex=True)
    over = every["over_model"].where(measure == MEMORY, "")
    keys = pd.Series([*zip(every["question"], measure, over, strict=True)], dtype=object)
    every["objective"] = every["measure"].str.extract(" at (.*)", expand=False).fillna("")
    every["is_primary"] = every["family"] == "primary"
    parts = []
    for title, headings in TABLES.items():
        part = every.assign(table=title, heading=keys.map(headings)).dropna(subset="heading")
        parts.append(part[part.groupby(CELL)["is_primary"].transform("any")])
    return pd.concat(parts)


def _ratios_of(folder: Path) -> pd.DataFrame:
    """The ratios of threads without the GIL in one study that can be trusted, but for controls."""
    known, file = environment_of(folder), folder / COMPARISON
    about = {"machine": folder.parent.name, "study": folder.name, "date": known.get("date") or ""}
    if not file.exists():
        return pd.DataFrame(columns=[*WORDS, *NUMBERS, *about, "page", "build", "label"])
    found = _read(file)
    variants = [*zip(found["workload"], found["parameters"].map(Parameters.read), strict=True)]
    labels = short_labels(dict.fromkeys(variants), simulated=False)
    pythons = {name: arm.get("python") or {} for name, arm in known["arms"].items()}
    free = [name for name, python in pythons.items() if python.get("free_threaded")]
    is_ours = (found["model"] == THREADS) & found["arm"].isin(free)
    is_program = pd.Series([not is_control(*each) for each in variants], found.index, dtype=bool)
    is_sound = known["controls"] != "void" and not known.get("simulated")
    found = found.assign(
        page=page_address(folder),
        build=found["arm"].map({name: build_name(arm) for name, arm in known["arms"].items()}),
        label=[labels[variant] for variant in variants],
        **about,
    )
    return found[is_ours & is_program & is_sound]


def _read(comparison: Path) -> pd.DataFrame:
    """The columns that are used here. An arm such as 3.10 is a word, and so is an empty text."""
    try:
        return pd.read_csv(
            comparison,
            usecols=[*WORDS, *NUMBERS],
            dtype=dict.fromkeys(WORDS, str) | dict.fromkeys(NUMBERS, float),
            keep_default_na=False,
            na_values={name: [""] for name in NUMBERS},
        )
    except ValueError as error:
        raise UsageError(f"{comparison}: {error}. Publish that study again") from None


def counts(published: Path) -> pd.DataFrame:
    """How many of these ratios have which verdict: a row for each heading, in the page's order.

    Columns are `heading`, `cases`, and one for each verdict. No program consists of primitives, so
    these are not counted.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    return _counted(ratios(published))


def _counted(shown: pd.DataFrame) -> pd.DataFrame:
    of_programs = shown[shown["workload"] != PRIMITIVES]
    found = pd.crosstab(of_programs["heading"], of_programs["verdict"])
    found.insert(0, "cases", found.sum(axis="columns"))
    return found.reindex([each for each in HEADINGS if each in found.index]).reset_index()


# -------------------------------------------------------------------------------------------- page


def index_page(published: Path) -> str:
    """The HTML of the studies in `published`/MACHINE/STUDY; the same files give the same page.

    Raises:
        UsageError: a file of a study cannot be read.
    """
    shown = ratios(published)
    workloads = sorted(set(shown["workload"]))
    return template("index.html").render(
        counts=[*_sentences(_counted(shown))],
        programs={name: [*_tables(shown[shown["workload"] == name])] for name in workloads},
        studies=[
            (folder, page_address(folder), environment_of(folder))
            for folder in sorted(published_in(published))
        ],
        tables=[],
    )


def _sentences(counted: pd.DataFrame) -> Iterator[str]:
    """`Throughput over processes, 92 cases: inconclusive in 63, slower in 27, faster in 2`."""
    for heading, cases, *_ in counted.itertuples(index=False):
        of_words = counted.loc[counted["heading"] == heading].iloc[0, 2:]
        known = of_words[of_words > 0].sort_values(ascending=False, kind="stable")
        found = ", ".join(f"{word} in {count}" for word, count in known.items())
        yield f"{heading[0].upper()}{heading[1:]}, {plural(cases, 'case')}: {found}."


def _tables(of_one: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The tables of a workload that have a line, without the columns in which nothing stands."""
    for title, headings in TABLES.items():
        part = of_one[of_one["table"] == title]
        used = [heading for heading in headings.values() if (part["heading"] == heading).any()]
        lines = [_line(found) for _, found in part.groupby(CELL, sort=False)]
        if lines:
            yield {"title": title, "headings": used, "lines": lines}


def _line(found: pd.DataFrame) -> dict[str, Any]:
    """A line of a table: facts about a cell, what program it is, its ratios by their headings."""
    first = found.iloc[0]
    sizing = "" if first["sizing"] == "weak" else first["sizing"]
    parts = filter(None, (first["label"], first["objective"], first["loop"], sizing))
    over = found.loc[found["question"] == OVER_PROCESSES, "over_arm"]
    builds = " or ".join(sorted(set(over.map(build_of))))
    threads = f"{plural(int(first['workers']), 'thread')} on {first['arm']}"
    program = [" · ".join(parts), f"{threads}, processes on {builds}" if builds else threads]
    ratios = {ratio["heading"]: ratio for ratio in found.to_dict("records")}
    return {**first, "program": program, "ratios": ratios}


# ------------------------------------------------------------------------------------------- write


def is_index(file: Path) -> bool:
    """Whether a file is a page of published studies. Raises `UsageError` if it cannot be read."""
    return file.is_file() and TITLE in text_in(file)


def write_index(published: Path) -> None:
    """Write the page of all studies in `published`/MACHINE/STUDY.

    Raises:
        UsageError: a file of a study cannot be read, or the page cannot be written there.
        ScalingError: the disk is full or fails.
    """
    write_text(published / PAGE, index_page(published), again="scaling publish")
