"""The answer of a study: one selection, a line for each workload and loop."""

from collections.abc import Iterator

import pandas as pd

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.ratios import GAIN
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import as_counted
from scaling.base.formats import listed, number
from scaling.base.models import THREADS
from scaling.builds.arms import free_arms
from scaling.report.render.grid import Heading
from scaling.report.view.declare import MEASURES, OF_PEAK, Figure, Ratio, Table, Words
from scaling.study.questions import CAPACITY, CPU, OVER_PROCESSES, OVER_SERVER, P99, THROUGHPUT

LINE = {"": ("subject", "loop", "arm", "model"), "N": ("workers",)}


def of_threads(ratios: pd.DataFrame) -> pd.DataFrame:
    """Rows of threads without the GIL, which a study is about; all rows where there are none."""
    free = free_arms(dict.fromkeys(ratios["arm"]))
    found = ratios[(ratios["model"] == THREADS) & ratios["arm"].isin(free)]
    return ratios if found.empty else found


def throughputs(study: Study) -> pd.DataFrame:
    """The gains of more workers, and their ratios over processes: cells with both first."""
    ratios = study.ratios
    asked = ratios["question"].isin([GAIN, OVER_PROCESSES]) & (ratios["rate"] == 0)
    found = of_threads(ratios[ratios["main"] & ~ratios["control"] & asked])
    is_over = (found["question"] == OVER_PROCESSES).groupby(found["of"]).transform("any")
    return found.assign(gain_alone=~is_over).sort_values("gain_alone", kind="stable")


THROUGHPUTS = Table(
    "Throughput",
    throughputs,
    rows=LINE,
    columns=(
        Ratio(Heading("over 1", name="over_one"), THROUGHPUT, GAIN),
        Ratio(Heading("over N", name="throughput"), THROUGHPUT, OVER_PROCESSES, interval=False),
        Words(Heading("processes", left=True, wrap=True), THROUGHPUT, OVER_PROCESSES),
        Ratio(Heading("CPU over\nprocesses", name="cpu_time"), CPU, OVER_PROCESSES),
        Figure(
            Heading("MiB per\nthread", name="mib_per_thread"),
            EXTRA_WORKER,
            "of",
            OVER_PROCESSES,
            THROUGHPUT,
            interval=False,
        ),
        Figure(
            Heading("per\nprocess", name="mib_per_process"),
            EXTRA_WORKER,
            "over",
            OVER_PROCESSES,
            THROUGHPUT,
            interval=False,
        ),
    ),
)


def over(question: str, measure: str, title: str, heading: str) -> Table:
    """A line for each headline ratio of a measure: the figures of both sides, ratio and words."""
    return Table(
        title,
        "ratios",
        where=f"headline and question == '{question}' and measure == '{measure}'",
        rows={"": ("name", "loop", "arm", "model"), "N": ("workers",)},
        columns=(
            Figure(Heading("threads", name="threads"), measure, "of"),
            Figure(Heading(heading, name="other"), measure, "over"),
            Ratio(Heading("ratio", name="ratio"), measure, question, interval=False),
            Words(Heading("", left=True, wrap=True), measure, question),
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
    columns=(
        Ratio(Heading("over N", name="capacity"), "", OVER_PROCESSES),
        Words(Heading("processes", left=True, wrap=True), "", OVER_PROCESSES),
    ),
)
OTHERS = Table(
    "Ratios",
    "ratios",
    where="headline and not control",
    rows={
        "": ("name", "loop", "arm", "model", "workers"),
        "over": ("over_name", "over_loop", "over_arm", "over_model", "over_workers"),
        "of": ("question", "measure"),
    },
    columns=(Ratio(Heading("ratio")), Words(Heading("", left=True, wrap=True))),
)

ANSWER = (THROUGHPUTS, CAPACITIES, LATENCIES, SERVERS)


def sentence(study: Study) -> str:
    """`2 threads on 3.14t do 1.78× to 1.99× the work of one. Over processes: …`."""
    ratios = study.ratios
    main = of_threads(ratios[ratios["headline"] & ~ratios["control"]])
    return " ".join(_sentences(main)) or NOTHING


def _sentences(main: pd.DataFrame) -> Iterator[str]:
    for question, text in SENTENCES.items():
        for measure, rows in main[main["question"] == question].groupby("measure", sort=False):
            name = MEASURES.get(str(measure), str(measure))
            said = "" if question == GAIN else f" ({_counted(rows)})"
            name = "" if measure == THROUGHPUT else f", {name}"
            yield text.format(who=_who(rows), times=_times(rows), measure=name) + f"{said}."


NOTHING = "No headline ratio: a gain needs valid runs at more than one N."
SENTENCES = {
    GAIN: "{who} do {times} the work of one",
    OVER_PROCESSES: "Over processes{measure}: {times}",
    OVER_SERVER: "Over processes with a server{measure}: {times}",
}


def _who(rows: pd.DataFrame) -> str:
    """`2 threads on 3.14t`."""
    counts = rows["workers"].unique()
    return f"{counts[0] if len(counts) == 1 else 'N'} threads on {listed(rows['arm'].unique())}"


def _times(rows: pd.DataFrame) -> str:
    ends = (rows["ratio"].min(), rows["ratio"].max())
    return " to ".join(dict.fromkeys(f"{number(end)}×" for end in ends))


def _counted(rows: pd.DataFrame) -> str:
    """The words of one ratio; of several the number of each word (`as_counted`)."""
    if len(rows) == 1:
        return str(rows["said"].iloc[0])
    counts = as_counted(rows).value_counts()
    sides = counts.index.str.removesuffix(", size open").str.removeprefix("slightly ")
    each = counts.groupby(sides, sort=False).sum().sort_values(ascending=False, kind="stable")
    return ", ".join(f"{count} {word}" for word, count in each.items())
