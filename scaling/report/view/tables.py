"""All tables of a study, in the order of the questions. To add one, declare it here."""

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
from scaling.report.view.declare import OF_PEAK, Field, Figure, Ratio, Table, Words
from scaling.report.view.notes import again, layout, reasons_text, turns
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT

CONFIGURATION = {"": ("loop", "arm", "model"), "N": ("workers",)}
OF = {"": ("name", "loop", "arm", "model"), "N": ("workers",)}
OVER = {"over": ("over_name", "over_loop", "over_arm", "over_model", "over_workers")}
OF_MEASURE = {"measure": ("step", "measure", "memory_kind")}

# The questions as the ratios name them, with the titles of their tables.
TITLES = {
    "gain": "What more workers gain: N over one",
    "headline": "What freed the speed: allocator, build and GIL together",
    "step": "What freed the speed, step by step",
    "over processes": "Threads, or processes: over the processes that are best",
    "build": "Threads over processes: what the build costs one loop",
    "sharing": "Threads over processes: what sharing one process costs",
    "over a server": "Shared in memory, or in a server",
    "pool": "How many threads each loop's pool should have",
    "break-even": "From how many threads on: over the best single worker with the GIL",
    "version": "What the versions of Python changed",
    "setting": "What a setting changes",
    "loop": "Which loop: over asyncio",
    "runtime": "Other runtimes, over Python",
    EQUAL_CELLS: "Noise: the same cell twice in a block (A/A pairs)",
}


OTHER_LIBRARIES = ("trio", "anyio")  # than asyncio, as the names of their loops begin


def libraries(study: Study) -> str:
    """The meaning of a ratio of two async libraries."""
    if not study.cells["loop"].astype(str).str.startswith(OTHER_LIBRARIES).any():
        return ""
    return (
        "With trio or anyio the program is written for that library: the ratio is of both, library "
        "and loop."
    )


def runtimes(_: Study) -> str:
    """The meaning of a ratio of two runtimes."""
    return (
        "Runtimes differ in everything (language, compiler, scheduler, memory), and each has a "
        "program of its own for the same work: no ratio is of one thing alone. Their CPU time is "
        "that of the whole process; of Python it is that of the workers' threads."
    )


NOTES_OF = {"over processes": (layout, turns), "loop": (libraries,), "runtime": (runtimes,)}


def of_question(question: str, title: str) -> Table:
    """A line per ratio: each measure has a baseline of its own."""
    return Table(
        title,
        "ratios",
        where=f"question == {question!r}",
        rows=OF | OVER | OF_MEASURE,
        columns=(
            Ratio(Heading("ratio")),
            Words(Heading("", left=True, wrap=True)),
            OF_PEAK,
            Field(Heading("blocks"), "n"),
            Field(Heading("not in turn", left=True, wrap=True), "why_not_in_turn"),
            Field(Heading("other candidates", left=True, wrap=True), "beside"),
        ),
        notes=NOTES_OF.get(question, ()),
    )


SETTINGS = Table(
    "What each setting changes",
    "ratios",
    where="question == 'setting' and main",
    rows=OF | OVER | OF_MEASURE,
    columns=(Ratio(Heading("ratio")), Words(Heading("", left=True, wrap=True))),
)
RATIOS = tuple(of_question(name, title) for name, title in TITLES.items())

MAIN_FIGURES = (
    Figure(Heading("operations/s"), THROUGHPUT),
    Figure(Heading("speed-up"), SPEEDUP),
    Figure(Heading("efficiency"), EFFICIENCY),
    Figure(Heading("CPU µs"), CPU),
    Figure(Heading("P50 ms"), "latency_p50_s"),
    Figure(Heading("P99 ms"), P99),
    OF_PEAK,
    Figure(Heading("MiB"), MEMORY),
    Figure(Heading("MiB a worker"), EXTRA_WORKER),
)

FIGURES = Table(
    "Figures",
    "estimates",
    where="not twin",
    each="name",
    rows=CONFIGURATION,
    columns=MAIN_FIGURES,
    notes=(again,),
)

MAIN_MEASURES = [each.measure for each in MAIN_FIGURES if isinstance(each, Figure)]
OTHER_FIGURES = Table(
    "All other figures",
    "estimates",
    where=f"not twin and measure not in {MAIN_MEASURES} "
    f"and measure not in {[*LOSSES, *FACTORS, MACHINE, SHARING]}",
    each="name",
    rows=CONFIGURATION,
    wide=True,
)

TIME = Table(
    "Where the time goes: growth from one worker to N, ns of worker time per operation",
    "estimates",
    where=f"not twin and measure in {[*LOSSES, MACHINE, SHARING]}",
    each="name",
    rows=CONFIGURATION,
    wide=True,
)


LAWS = Table(
    "Laws of scaling, inside one region of the machine",
    laws,
    rows={"": ("name", "loop", "arm", "model", "region"), "N": ("workers",), "law": ("law",)},
    columns=(
        Figure(Heading("γ: operations/s of one", name="gamma"), "gamma"),
        Figure(Heading("α: contention", name="alpha"), "alpha"),
        Figure(Heading("β: coherency", name="beta"), "beta"),
        Figure(Heading("N of the peak", name="peak"), "peak"),
        Field(Heading("blocks"), "n"),
    ),
)


# ------------------------------------------------------------------------------------------ runs


def issues(study: Study) -> pd.DataFrame:
    """Runs that are suspect or invalid, a row for each cell and set of reasons, invalid ones first.

    `detail` is that of the first. The second of an A/A pair is named as one.
    """
    of = ["workload", "parameters", "sizing", "loop", "arm", "model", "workers", "twin"]
    columns = [*of, "validity", "reasons", "details"]
    runs = study.runs.loc[study.runs["validity"] != "valid", columns]
    key = ["validity", "name", "loop", "arm", "model", "workers", "reasons"]
    named = study.cells.drop_duplicates(["workload", "parameters", "sizing"])
    about = runs.merge(
        named[["workload", "parameters", "sizing", "name"]].astype(str),
        on=["workload", "parameters", "sizing"],
        how="left",
    )
    about["name"] += about["twin"].map({True: " · A/A pair", False: ""})
    about["reasons"] = [reasons_text(tuple(each)) for each in about["reasons"]]
    about["detail"] = ["; ".join(each) for each in about["details"]]
    found = about.groupby(key, sort=True, observed=True)["detail"].agg(["size", "first"])
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
        Field(Heading("runs"), "count"),
        Field(Heading("of the first", left=True, wrap=True), "detail"),
    ),
)


# ------------------------------------------------------------------------------ what was asked


def refused(study: Study) -> pd.DataFrame:
    """The cells that the study asked for and could not run, a row for each reason."""
    return pd.DataFrame(
        [
            {
                "workload": each.workload,
                "loop": each.loop,
                "arms": ", ".join(each.arms),
                "model": each.model,
                "sizing": each.sizing,
                "reason": each.reason,
            }
            for each in study.line.refused
        ]
    )


REFUSED = Table(
    "What cannot be run",
    refused,
    rows={"workload": ("workload",), "where": ("loop", "arms", "model", "sizing")},
    columns=(Field(Heading("reason", left=True, wrap=True), "reason"),),
)


def parameters(study: Study) -> pd.DataFrame:
    """The parameters of every workload, a row each."""
    rows = [
        {"name": row["name"], "parameter": name, "value": parameter(value)}
        for row in study.cells[~study.cells["twin"]].drop_duplicates("name").to_dict("records")
        for name, value in row["cell"].parameters.items()
    ]
    return pd.DataFrame(rows)


PARAMETERS = Table(
    "Parameters of the workloads",
    parameters,
    rows={"workload": ("name",), "parameter": ("parameter",)},
    columns=(Field(Heading("value", left=True, wrap=True), "value"),),
)


def builds(study: Study) -> pd.DataFrame:
    """The build of each arm and the facts that its settings had to prove, a row each."""
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


BUILDS = Table(
    "The arms and their builds",
    builds,
    rows={"arm": ("arm",), "fact": ("fact",)},
    columns=(Field(Heading("value", left=True, wrap=True), "value"),),
)

DETAILS = (*RATIOS, FIGURES, OTHER_FIGURES, LAWS, TIME, ISSUES, REFUSED, PARAMETERS, BUILDS)
