"""The answer of `scaling app`: what to ship for each aim, why, and every configuration."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.pairs import BUILD, SHARING
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.values import MIB
from scaling.base.formats import number, span
from scaling.report.check import findings
from scaling.report.render.grid import Heading
from scaling.report.view.declare import OF_PEAK, Field, Figure, Ratio, Table, Words
from scaling.report.view.deploy import deployments
from scaling.report.view.shipped import shipped
from scaling.study.application import WORKLOAD
from scaling.study.questions import (
    CPU,
    MEMORY,
    OVER_PROCESSES,
    OVER_SMALLEST_POOL,
    P99,
    THROUGHPUT,
)

GIB = 2.0**30

SHIP = Table(
    "What to ship: N threads, or the processes that are best",
    shipped,
    rows={"": ("aim", "mixed"), "N": ("workers",)},
    columns=(
        Ratio(Heading("ratio", name="ratio")),
        Words(Heading("", left=True, wrap=True)),
        Field(Heading("ship", left=True), "ship"),
        Field(Heading("over", left=True), "over_model"),
        Field(Heading("CPUs", left=True), "shared_cpus"),
        Field(Heading("other candidates", left=True, wrap=True), "beside"),
    ),
)


def reasons(study: Study) -> pd.DataFrame:
    """The ratios of throughput and of CPU time of what is shipped, with their two factors."""
    ratios = study.ratios
    found = shipped(study)
    of = found.loc[found["measure"] == THROUGHPUT, "of"]
    ones = study.cells["one"].iloc[of]
    asked = ratios["measure"].isin([THROUGHPUT, CPU])
    whole = ratios["of"].isin(of) & ratios["question"].isin([OVER_PROCESSES, SHARING])
    build = ratios["of"].isin(ones) & (ratios["question"] == BUILD)
    rows = ratios[asked & (whole | build)]
    return rows.assign(aim=rows["measure"].map({THROUGHPUT: "throughput", CPU: "CPU time"}))


WHY = Table(
    "Why: what the build costs one loop, times what sharing a process costs",
    reasons,
    rows={"": ("aim",)},
    columns=(
        Ratio(Heading("threads over\nprocesses", name="whole"), "", OVER_PROCESSES),
        Ratio(Heading("the build,\none loop", name="build"), "", BUILD),
        Ratio(Heading("sharing one\nprocess", name="sharing"), "", SHARING),
    ),
)

CONFIGURATIONS = Table(
    "Every configuration",
    "estimates",
    where=f"workload == {WORKLOAD!r} and not twin and not rated",
    rows={"": ("name", "loop", "arm", "model"), "N": ("workers",)},
    columns=(
        Figure(Heading("requests/s", name="throughput_per_s"), THROUGHPUT),
        Figure(Heading("P50 ms", name="p50_ms"), "latency_p50_s"),
        Figure(Heading("P99 ms", name="p99_ms"), P99),
        OF_PEAK,
        Figure(Heading("CPU µs", name="cpu_us_per_request"), CPU),
        Figure(Heading("MiB", name="memory_mib"), MEMORY),
        Figure(Heading("MiB a worker", name="mib_per_extra_worker"), EXTRA_WORKER),
    ),
)


DEPLOY = Table(
    "How to deploy it: for each aim what was decided, else both that were compared",
    deployments,
    rows={"": ("configuration",)},
    columns=(Field(Heading("command", left=True, wrap=True), "command"),),
)


FINDINGS = Table(
    "What the check found wrong",
    findings,
    rows={"finding": ("finding",), "where": ("where",)},
    columns=(
        Field(Heading("first request", left=True), "request"),
        Field(Heading("what happens", left=True, wrap=True), "message"),
        Field(Heading("what to do", left=True, wrap=True), "remedy"),
    ),
)

POOLS = Table(
    "How many threads each loop's pool should have: over the smallest pool",
    "ratios",
    where=f"question == {OVER_SMALLEST_POOL!r} and workload == {WORKLOAD!r} and model == 'threads'",
    rows={"": ("name", "loop", "arm"), "N": ("workers",), "measure": ("measure",)},
    columns=(Ratio(Heading("ratio")), Words(Heading("", left=True, wrap=True))),
)


def trade(study: Study) -> str:
    """`Threads: at most 3 % fewer requests for 45 % less memory.`; empty without both ratios."""
    found = shipped(study).query("model == 'threads'").set_index("measure")
    parts = list(_parts(found))
    return f"Threads: {' for '.join(parts)}." if len(parts) > 1 else ""


def _parts(found: pd.DataFrame) -> Iterator[str]:
    if THROUGHPUT in found.index:
        bound = found.loc[[THROUGHPUT], "at_most_percent"].iloc[0]
        if math.isfinite(bound):
            most = math.ceil(bound)  # it is said to be the most
            yield f"at most {most} % fewer requests" if bound > 0 else "no fewer requests"
    if MEMORY in found.index:
        ratio = float(found.loc[[MEMORY], "ratio"].iloc[0])
        word = "less" if ratio < 1 else "more"
        yield f"{100 * abs(1 - ratio):.0f} % {word} memory"


APPLICATION = (SHIP, WHY, POOLS, FINDINGS)


# ------------------------------------------------------------------------------------------ memory

MANY_TIMES = 4  # as many workers as were measured: how memory grows


def _memory(study: Study) -> pd.DataFrame:
    """The configurations at the peak by place: `name`, `workers`, `model`, memory in MiB with one
    worker (`first`), and what each further one adds (`extra`, with its interval).
    """
    cells = study.cells
    own = cells[(cells["workload"] == WORKLOAD) & (cells["rate"] == 0) & ~cells["twin"]]
    memory, extra = (
        study.estimates[study.estimates["measure"] == measure].set_index("cell")
        for measure in (MEMORY, EXTRA_WORKER)
    )
    held, added = memory["point"], extra[["point", "low", "high"]]
    found = own.assign(first=held.reindex(own["one"]).to_numpy(), held=held.reindex(own.index))
    found = found.join(added.set_axis(["extra", "least", "most"], axis=1))
    rows: pd.DataFrame = found[found["workers"] == found["workers"].max()]
    return rows


def fitting(study: Study, memory_bytes: float) -> str:
    """`Workers in 2 GiB, extrapolated from N ≤ 2: 3.14t threads 880–920, …`.

    Extrapolated with the interval of what an extra worker adds.
    """
    start = f"Workers in {number(memory_bytes / GIB)} GiB"
    known = []
    rows = _memory(study)
    for row in rows[rows["least"] > 0].to_dict("records"):
        room = memory_bytes / MIB - row["first"]
        few, many = (
            1 + math.floor(room / row[end]) if room > 0 else 0 for end in ("most", "least")
        )
        count = f"{few:,}" if few == many else span(f"{few:,}", f"{many:,}")
        known.append(f"{row['arm']} {row['model']} {count}")
    if not known:
        return f"{start}: not known."
    return f"{start}, extrapolated from N ≤ {rows['workers'].max()}: {', '.join(known)}."


def copied_on_write(study: Study) -> str:
    """Memory of forked workers before and after the load, and its bounds for more of them.

    They share pages until they write to them: N of them take between what an extra one added here,
    and what as many fresh processes do.
    """
    rows = _memory(study)
    idle = study.measures.column("idle_pss_bytes")
    for place, row in rows[rows["model"] == "forked"].iterrows():
        before = idle[:, int(str(place))]
        fresh = rows[(rows["model"] == "processes") & (rows["arm"] == row["arm"])]
        if fresh.empty or not np.isfinite(before).any():
            continue
        many = MANY_TIMES * row["workers"]
        least = row["first"] + (many - 1) * row["extra"]
        most = many * float(fresh["first"].iloc[0])
        figures = [np.nanmedian(before) / MIB, row["held"], min(least, most), most]
        idle_mib, held, few, much = map(number, figures)
        return (
            f"{row['arm']} forked: {idle_mib} MiB before the load, {held} after it; "
            f"N = {many}: {few} (as here) to {much} (as fresh processes)."
        )
    return ""
