"""The answer of a study: tables with a line for each workload and loop, and a sentence."""

from collections.abc import Iterator
from typing import Literal

import pandas as pd

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.ratios import GAIN
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import as_counted
from scaling.base.formats import listed, number
from scaling.base.models import THREADS
from scaling.builds.arms import free_arms
from scaling.report.render.grid import Heading
from scaling.report.view.declare import (
    MEASURES,
    OF_PEAK,
    RATIO,
    Column,
    Table,
    figure,
    ratio,
    words,
)
from scaling.report.view.tables import OF, OVER
from scaling.study.questions import CAPACITY, CPU, OVER_PROCESSES, OVER_SERVER, P99, THROUGHPUT

PROCESSES = Heading("processes", left=True, wrap=True)


def of_threads(ratios: pd.DataFrame) -> pd.DataFrame:
    """Rows of threads without the GIL, which a study is about; all rows if there are none."""
    free = free_arms(dict.fromkeys(ratios["arm"]))
    found = ratios[(ratios["model"] == THREADS) & ratios["arm"].isin(free)]
    return ratios if found.empty else found


def throughputs(study: Study) -> pd.DataFrame:
    """The gains of more workers, and their ratios over processes; cells with both come first."""
    ratios = study.ratios
    asked = ratios["question"].isin([GAIN, OVER_PROCESSES]) & (ratios["rate"] == 0)
    found = of_threads(ratios[ratios["main"] & ~ratios["control"] & asked])
    is_over = (found["question"] == OVER_PROCESSES).groupby(found["of"]).transform("any")
    return found.assign(gain_alone=~is_over).sort_values("gain_alone", kind="stable")


def added(text: str, name: str, end: Literal["of", "over"]) -> Column:
    """The memory of a further worker, of one `end` of the ratio."""
    heading = Heading(text, name=name)
    return figure(heading, EXTRA_WORKER, end, OVER_PROCESSES, THROUGHPUT, interval=False)


THROUGHPUTS = Table(
    "Throughput",
    throughputs,
    rows={"": ("subject", "loop", "arm", "model"), "N": ("workers",)},
    columns=(
        ratio(Heading("over 1", name="over_one"), THROUGHPUT, GAIN),
        ratio(Heading("over N", name="throughput"), THROUGHPUT, OVER_PROCESSES, interval=False),
        words(PROCESSES, THROUGHPUT, OVER_PROCESSES),
        ratio(Heading("CPU over\nprocesses", name="cpu_time"), CPU, OVER_PROCESSES),
        added("MiB per\nthread", "mib_per_thread", "of"),
        added("per\nprocess", "mib_per_process", "over"),
    ),
)


def over(question: str, measure: str, title: str, heading: str) -> Table:
    """A line for each headline ratio of a measure: the figures of both sides, ratio and words."""
    return Table(
        title,
        "ratios",
        where=f"headline and question == '{question}' and measure == '{measure}'",
        rows=OF,
        columns=(
            figure(Heading("threads", name="threads"), measure, "of"),
            figure(Heading(heading, name="other"), measure, "over"),
            ratio(interval=False),
            words(),
            OF_PEAK,
        ),
    )


LATENCIES = over(OVER_PROCESSES, P99, "P99, ms", "processes")
SERVERS = over(OVER_SERVER, P99, "P99 over a server, ms", "a server")
CAPACITIES = Table(
    "Capacity",
    "ratios",
    where=f"headline and question == '{OVER_PROCESSES}' "
    f"and measure.str.startswith('{CAPACITY.format('')}')",
    rows={"": ("measure", "name", "loop", "arm", "model"), "N": ("workers",)},
    columns=(ratio(Heading("over N", name="capacity")), words(PROCESSES)),
)
OTHERS = Table(
    "Ratios",
    "ratios",
    where="headline and not control",
    rows={"": ("name", "loop", "arm", "model", "workers"), **OVER, "of": ("question", "measure")},
    columns=RATIO,
)

ANSWER = (THROUGHPUTS, CAPACITIES, LATENCIES, SERVERS)

# ------------------------------------------------------------------------------------ in a sentence

NOTHING = "No headline ratio: a gain needs valid runs at more than one N."
SENTENCES = {
    GAIN: "{who} do {times} the work of one.",
    OVER_PROCESSES: "Over processes{measure}: {times} ({words}).",
    OVER_SERVER: "Over processes with a server{measure}: {times} ({words}).",
}


def sentence(study: Study) -> str:
    """`2 threads on 3.14t do 1.78× to 1.99× the work of one. Over processes: …`."""
    ratios = study.ratios
    main = of_threads(ratios[ratios["headline"] & ~ratios["control"]])
    return " ".join(_sentences(main)) or NOTHING


def _sentences(main: pd.DataFrame) -> Iterator[str]:
    for question, text in SENTENCES.items():
        for measure, rows in main[main["question"] == question].groupby("measure", sort=False):
            name = MEASURES.get(str(measure), str(measure))
            counts = rows["workers"].unique()
            ends = (f"{number(end)}×" for end in (rows["ratio"].min(), rows["ratio"].max()))
            yield text.format(
                who=f"{counts[0] if len(counts) == 1 else 'N'} threads on "
                f"{listed(rows['arm'].unique())}",
                times=" to ".join(dict.fromkeys(ends)),
                measure="" if measure == THROUGHPUT else f", {name}",
                words="" if question == GAIN else _counted(rows),
            )


def _counted(rows: pd.DataFrame) -> str:
    """The words of one ratio; of several the number of each word (`as_counted`)."""
    if len(rows) == 1:
        return str(rows["said"].iloc[0])
    counts = as_counted(rows).value_counts()
    sides = counts.index.str.removesuffix(", size open").str.removeprefix("slightly ")
    each = counts.groupby(sides, sort=False).sum().sort_values(ascending=False, kind="stable")
    return ", ".join(f"{count} {word}" for word, count in each.items())
