"""The answer of `scaling app`: what to ship for each aim, why, and every configuration."""

import math
from collections.abc import Iterator

import pandas as pd

from scaling.analysis.tables.derived import EXTRA_WORKER
from scaling.analysis.tables.pairs import BUILD, SHARING
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.words import SAME, side_of
from scaling.base.formats import number
from scaling.base.vocabulary import THREADS
from scaling.report.render.grid import Heading
from scaling.report.view.declare import Field, Figure, Ratio, Table, Words
from scaling.study.application import WORKLOAD
from scaling.study.questions import CAPACITY, CPU, MEMORY, OVER_PROCESSES, P99, THROUGHPUT

NOT_DECIDED = "not decided"
AIMS = {THROUGHPUT: "requests/s at the peak", MEMORY: "memory, MiB", CPU: "CPU µs a request"}


def shipped(study: Study) -> pd.DataFrame:
    """A row of `ratios` for each aim: N threads over the processes that are best at it.

    Columns besides: `aim`, and `ship`, the configuration to ship, or that it is not decided. Memory
    is compared with the processes that take least. What is compared is on the first loop that the
    study names, at its headline N; latency is at the rate in the middle.
    """
    ratios = study.ratios
    if ratios.empty:
        return ratios.assign(aim=[], ship=[])
    headline = ratios["main"] | ratios["headline"]
    own = ratios[
        headline
        & (ratios["question"] == OVER_PROCESSES)
        & (ratios["workload"] == WORKLOAD)
        & (ratios["model"] == THREADS)
        & (ratios["loop"] == _first_loop(study))
    ]
    is_aim = own["measure"].isin([THROUGHPUT, MEMORY]) & (own["rate"] == 0)
    is_load = (own["measure"] == P99) & (own["rate"] > 0)
    is_capacity = own["measure"].str.startswith(CAPACITY.format(""))
    found = own[is_aim | is_load | is_capacity]
    # Of memory over fresh and over forked processes the one that is worse for threads.
    found = found.sort_values("ratio", ascending=False, kind="stable")
    found = found.drop_duplicates(["measure", "of"]).sort_index()
    return found.assign(
        aim=[_aim(row) for row in found.to_dict("records")],
        ship=[_ship(row) for row in found.to_dict("records")],
    )


def _first_loop(study: Study) -> str:
    loops = study.line.study.get("loops") or [""]
    return str(loops[0])


def _aim(row: dict[object, object]) -> str:
    measure = str(row["measure"])
    if measure == P99:
        return f"P99 at {number(float(str(row['rate'])))}/s, ms"
    return AIMS.get(measure, measure)


def _ship(row: dict[object, object]) -> str:
    """Of two that are the same, processes: nothing has to be changed for these."""
    word = str(row["word"])
    side = side_of(word)
    if side > 0:
        return f"{row['arm']} {row['model']}"
    if side < 0 or word == SAME:
        return f"{row['over_arm']} {row['over_model']}"
    return NOT_DECIDED


SHIP = Table(
    "What to ship: N threads, or the processes that are best",
    shipped,
    rows={"": ("aim",), "N": ("workers",)},
    columns=(
        Ratio(Heading("ratio", name="ratio")),
        Words(Heading("", left=True, wrap=True)),
        Field(Heading("ship", left=True), "ship"),
        Field(Heading("over", left=True), "over_model"),
    ),
)


def reasons(study: Study) -> pd.DataFrame:
    """The ratios of throughput and of CPU time of what is shipped, with their two factors."""
    ratios = study.ratios
    found = shipped(study)
    if found.empty:
        return found
    of = found.loc[found["measure"] == THROUGHPUT, "of"]
    ones = study.cells["one"].iloc[of]
    asked = ratios["measure"].isin([THROUGHPUT, CPU])
    whole = ratios["of"].isin(of) & ratios["question"].isin([OVER_PROCESSES, SHARING])
    build = ratios["of"].isin(ones) & (ratios["question"] == BUILD)
    rows = ratios[asked & (whole | build)]
    return rows.assign(aim=rows["measure"].map({THROUGHPUT: "throughput", CPU: "CPU time"}))


WHY = Table(
    "Why: the ratio is the product of what the build costs one loop and what sharing costs",
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
        Figure(Heading("CPU µs", name="cpu_us_per_request"), CPU),
        Figure(Heading("MiB", name="memory_mib"), MEMORY),
        Figure(Heading("MiB a worker", name="mib_per_extra_worker"), EXTRA_WORKER),
    ),
)


def trade(study: Study) -> str:
    """`Threads: at most 3 % fewer requests for 45 % less memory.`; empty without both ratios."""
    found = shipped(study).set_index("measure")
    parts = list(_parts(found))
    return f"Threads: {' for '.join(parts)}." if len(parts) > 1 else ""


def _parts(found: pd.DataFrame) -> Iterator[str]:
    if THROUGHPUT in found.index:
        bound = found.loc[[THROUGHPUT], "at_most_percent"].iloc[0]
        if math.isfinite(bound):
            yield f"at most {bound:.0f} % fewer requests" if bound > 0 else "no fewer requests"
    if MEMORY in found.index:
        ratio = float(found.loc[[MEMORY], "ratio"].iloc[0])
        word = "less" if ratio < 1 else "more"
        yield f"{100 * abs(1 - ratio):.0f} % {word} memory"


APPLICATION = (SHIP, WHY)
