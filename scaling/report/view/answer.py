"""The answer of a study: one selection, a line for each workload and loop."""

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.ratios import GAIN
from scaling.report.render.grid import Heading
from scaling.report.view.declare import Figure, Ratio, Table, Words
from scaling.study.questions import CAPACITY, CPU, OVER_PROCESSES, OVER_SERVER, P99, THROUGHPUT

LINE = {"": ("subject", "loop", "arm", "model"), "N": ("workers",)}
PROCESSES = "over N\nprocesses"

THROUGHPUTS = Table(
    "Throughput",
    "ratios",
    where=f"main and not control and rate == 0 and question in ('{GAIN}', '{OVER_PROCESSES}')",
    rows=LINE,
    columns=(
        Ratio(Heading("over 1", name="over_one"), THROUGHPUT, GAIN),
        Ratio(Heading(PROCESSES, name="throughput"), THROUGHPUT, OVER_PROCESSES, interval=False),
        Words(Heading("", left=True, wrap=True), THROUGHPUT, OVER_PROCESSES),
        Ratio(Heading("CPU\ntime", name="cpu_time"), CPU, OVER_PROCESSES, interval=False),
        Figure(
            Heading("MiB a\nthread", name="mib_per_thread"),
            EXTRA_WORKER,
            "of",
            OVER_PROCESSES,
            THROUGHPUT,
            interval=False,
        ),
        Figure(
            Heading("a\nprocess", name="mib_per_process"),
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
        Ratio(Heading(PROCESSES, name="capacity"), "", OVER_PROCESSES),
        Words(Heading("", left=True, wrap=True), "", OVER_PROCESSES),
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
