"""All tables of a study, in the order of the questions. To add a table, declare it in `DETAILS`."""

from dataclasses import replace

import pandas as pd

from scaling.analysis.laws import laws
from scaling.analysis.tables.derived import (
    EFFICIENCY,
    EXTRA_WORKER,
    FACTORS,
    LOSSES,
    MACHINE,
    SHARING,
    SPEEDUP,
)
from scaling.analysis.tables.pairs import EQUAL_CELLS
from scaling.analysis.tables.study import Study
from scaling.base.formats import parameter
from scaling.report.render.grid import Heading
from scaling.report.view.declare import OF_PEAK, RATIO, Column, Table, fact, figure
from scaling.report.view.notes import again, layout, reasons_text, turns
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

CONFIGURATION = {"": ("loop", "arm", "model"), "N": ("workers",)}
OF = {"": ("name", "loop", "arm", "model"), "N": ("workers",)}
OVER = {"over": ("over_name", "over_loop", "over_arm", "over_model", "over_workers")}
OF_MEASURE = {"measure": ("step", "measure", "memory_kind")}

# ------------------------------------------------------------------------------------------ ratios

OTHER_LIBRARIES = ("trio", "anyio")  # than asyncio, as the names of their loops begin


def libraries(study: Study) -> str:
    """A note on ratios of two async libraries."""
    if not study.cells["loop"].astype(str).str.startswith(OTHER_LIBRARIES).any():
        return ""
    return (
        "With trio or anyio the program is written for that library: the ratio is of both, library "
        "and loop."
    )


def runtimes(_: Study) -> str:
    """A note on ratios of two runtimes."""
    return (
        "Runtimes differ in everything (language, compiler, scheduler, memory), and each has a "
        "program of its own for the same work: no ratio is of one thing alone. Their CPU time is "
        "that of the whole process; of Python it is that of the workers' threads."
    )


NOTES_OF = {"over processes": (layout, turns), "loop": (libraries,), "runtime": (runtimes,)}


def of_question(question: str, title: str) -> Table:
    """A line per ratio of a question; each measure has its own baseline."""
    return Table(
        title,
        "ratios",
        where=f"question == {question!r}",
        rows=OF | OVER | OF_MEASURE,
        columns=(
            *RATIO,
            OF_PEAK,
            fact(Heading("blocks"), "n"),
            fact(Heading("not in turn", left=True, wrap=True), "why_not_in_turn"),
            fact(Heading("other candidates", left=True, wrap=True), "beside"),
        ),
        notes=NOTES_OF.get(question, ()),
    )


# The questions as the ratios name them, with the titles of their tables.
TITLES = {
    "gain": "Gain of more workers: N over one",
    "headline": "What freed the speed: allocator, build and GIL together",
    "step": "What freed the speed, step by step",
    "over processes": "Threads or processes: over the best processes",
    "build": "Threads over processes: what the build costs one loop",
    "sharing": "Threads over processes: what sharing one process costs",
    "over a server": "Memory shared by threads, over a server for processes",
    "pool": "How many threads each loop's pool should have",
    "break-even": "Break-even: threads over the best single worker with the GIL",
    "version": "What the versions of Python changed",
    "setting": "What a setting changes",
    "loop": "Loops over asyncio",
    "runtime": "Other runtimes over Python",
    EQUAL_CELLS: "Noise: the same cell twice in a block (A/A pairs)",
}
RATIOS = tuple(of_question(name, title) for name, title in TITLES.items())
SETTINGS = replace(
    of_question("setting", "What each setting changes"),
    where="question == 'setting' and main",
    columns=RATIO,
)

# --------------------------------------------------------------------------------------- estimates


def of_cells(title: str, *columns: Column, where: str = "", wide: bool = False) -> Table:
    """A table for each workload: a line per configuration, a column for each measure."""
    where = " and ".join(filter(None, ("not twin", where)))
    return Table(
        title, "estimates", where=where, each="name", rows=CONFIGURATION, columns=columns, wide=wide
    )


FIGURES = replace(
    of_cells(
        "Figures",
        figure(Heading("operations/s"), THROUGHPUT),
        figure(Heading("speed-up"), SPEEDUP),
        figure(Heading("efficiency"), EFFICIENCY),
        figure(Heading("CPU µs"), CPU),
        figure(Heading("P50 ms"), "latency_p50_s"),
        figure(Heading("P99 ms"), P99),
        OF_PEAK,
        figure(Heading("MiB"), MEMORY),
        figure(Heading("MiB a worker"), EXTRA_WORKER),
    ),
    notes=(again,),
)
FIRST_BYTES = of_cells(
    "First byte of an answer, ms from when the request was due",
    figure(Heading("P50"), "first_byte_p50_s"),
    figure(Heading("P99"), "first_byte_p99_s"),
    where="measure in ['first_byte_p50_s', 'first_byte_p99_s']",
)
SHOWN = [each.measure for each in (*FIGURES.columns, *FIRST_BYTES.columns)]
IN_TIME = [*LOSSES, MACHINE, SHARING]
OTHER_FIGURES = of_cells(
    "All other figures", where=f"measure not in {[*SHOWN, *IN_TIME, *FACTORS]}", wide=True
)
TIME = of_cells(
    "Where the time goes: growth from one worker to N, ns of worker time per operation",
    where=f"measure in {IN_TIME}",
    wide=True,
)
LAWS = Table(
    "Laws of scaling, inside one region of the machine",
    laws,
    rows={"": ("name", "loop", "arm", "model", "region"), "N": ("workers",), "law": ("law",)},
    columns=(
        figure(Heading("γ: operations/s of one", name="gamma"), "gamma"),
        figure(Heading("α: contention", name="alpha"), "alpha"),
        figure(Heading("β: coherency", name="beta"), "beta"),
        figure(Heading("N of the peak", name="peak"), "peak"),
        fact(Heading("blocks"), "n"),
    ),
)

# ------------------------------------------------------------------------------------------ runs


def issues(study: Study) -> pd.DataFrame:
    """Runs that are suspect or invalid, a row for each cell and set of reasons, invalid ones first.

    `detail` is that of the first run. Second runs of A/A pairs have `A/A pair` in their name.
    """
    variant = ["workload", "parameters", "sizing"]
    cell = [*variant, "loop", "arm", "model", "workers", "twin"]
    is_doubtful = study.runs["validity"] != "valid"
    runs = study.runs.loc[is_doubtful, [*cell, "validity", "reasons", "details"]]
    known = study.cells.drop_duplicates(variant)[[*variant, "name"]].astype(str)
    about = runs.merge(known, on=variant, how="left")
    about["name"] += about["twin"].map({True: " · A/A pair", False: ""})
    about["reasons"] = [reasons_text(tuple(each)) for each in about["reasons"]]
    about["detail"] = ["; ".join(each) for each in about["details"]]
    key = ["validity", "name", "loop", "arm", "model", "workers", "reasons"]
    found = about.groupby(key, observed=True)["detail"].agg(["size", "first"])
    return found.rename(columns={"size": "count", "first": "detail"}).reset_index()


ISSUES = Table(
    "Suspect and invalid runs: invalid ones are in no figure",
    issues,
    rows={
        "": ("validity",),
        "cell": ("name", "loop", "arm", "model", "workers"),
        "reason": ("reasons",),
    },
    columns=(
        fact(Heading("runs"), "count"),
        fact(Heading("of the first", left=True, wrap=True), "detail"),
    ),
)

# ------------------------------------------------------------------------------ what was asked


def refused(study: Study) -> pd.DataFrame:
    """The cells that the study asked for and could not run, a row for each reason."""
    names = ("workload", "loop", "model", "sizing", "reason")
    return pd.DataFrame(
        [
            {name: getattr(each, name) for name in names} | {"arms": ", ".join(each.arms)}
            for each in study.line.refused
        ]
    )


def parameters(study: Study) -> pd.DataFrame:
    """The parameters of every workload, a row each."""
    rows = [
        {"name": row["name"], "parameter": name, "value": parameter(value)}
        for row in study.cells[~study.cells["twin"]].drop_duplicates("name").to_dict("records")
        for name, value in row["cell"].parameters.items()
    ]
    return pd.DataFrame(rows)


def builds(study: Study) -> pd.DataFrame:
    """Facts about the build of each arm and its settings, a row each."""
    rows = []
    for arm, record in study.line.arms.items():
        facts: dict[str, object] = {"version": record.runtime, "from": record.origin}
        if record.description is not None:
            python, expected = record.description.python, record.expected
            facts |= {
                "version": python.version,
                "GIL": "on" if expected.gil_enabled else "off",
                "allocator": expected.allocator,
                "garbage collector": "on" if expected.gc_enabled else "off",
                "compiler": python.compiler,
                "PGO": {True: "on", False: "off"}.get(bool(python.pgo)),
                "OpenSSL": python.openssl,
                "libc": python.libc,
                **expected.switches,
            }
        known = {name: value for name, value in facts.items() if value is not None}
        rows += [{"arm": arm, "fact": name, "value": str(each)} for name, each in known.items()]
    return pd.DataFrame(rows)


VALUE = fact(Heading("value", left=True, wrap=True), "value")
ASKED = (
    Table(
        "What cannot be run",
        refused,
        rows={"workload": ("workload",), "where": ("loop", "arms", "model", "sizing")},
        columns=(fact(Heading("reason", left=True, wrap=True), "reason"),),
    ),
    Table(
        "Parameters of the workloads",
        parameters,
        rows={"workload": ("name",), "parameter": ("parameter",)},
        columns=(VALUE,),
    ),
    Table(
        "The arms and their builds",
        builds,
        rows={"arm": ("arm",), "fact": ("fact",)},
        columns=(VALUE,),
    ),
)

DETAILS = (*RATIOS, FIGURES, FIRST_BYTES, OTHER_FIGURES, LAWS, TIME, ISSUES, *ASKED)
