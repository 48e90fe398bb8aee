"""Do threads without the GIL keep up with processes, and does the ladder multiply to the headline?

Measured by the instrument itself: a small study over all arms and models, its runs alternating.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scaling.analysis.comparison import Compared, ladders
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import Cell
from scaling.study.questions import THROUGHPUT
from tests.benchmarks.figure import Effort, Figure

# Threads on 3.14t over processes at N = 2, by loop: on uvloop, which glibc's malloc does not
# slow down, over the plain GIL build; on asyncio over the one with the same allocator.
RIVALS = {"uvloop": "3.14", "asyncio": "3.14+mimalloc"}
KEEPS_UP = 0.95
WITHOUT_THE_GIL = "3.14t"
INTERPRETERS_GAIN = 1.9


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """The ratios, each with the blocks it rests on.

    The study needs both builds whichever this process runs on, so it is done on one of them.
    """
    if not free_threaded:
        return
    with tempfile.TemporaryDirectory() as folder:
        _measure(effort, Path(folder) / "study")
        journal = read_journal(Path(folder) / "study")
    for runs in StudyResults.of(journal).judged:
        if runs.is_across_loops:
            continue
        if runs.section.label == "echo":
            yield from _echo(runs)
        elif runs.section.label == "compute":
            one, two = (runs.cell("3.14", "interpreters", n) for n in (1, 2))
            ratios = _known(runs, two, one)
            name = "compute, 2 interpreters over 1"
            yield Figure(name, ratios, "at least", INTERPRETERS_GAIN, detail="on 3.14")


def _measure(effort: Effort, output: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "scaling", "run", "--study", "compare"),
            *("--workload", "compute,echo", "--workers", "1,2"),
            *("--blocks", str(max(3, effort.pairs // 2)), "--seconds", str(effort.window_s)),
            *("--output", str(output)),
        ],
        check=True,
        stdout=sys.stderr,
    )


def _echo(runs: Compared) -> Iterator[Figure]:
    rival = RIVALS[runs.loop]
    ratios = _known(
        runs, runs.cell(WITHOUT_THE_GIL, "threads", 2), runs.cell(rival, "processes", 2)
    )
    name = f"echo on {runs.loop}, 2 threads / 2 processes"
    detail = f"{WITHOUT_THE_GIL} over {rival}"
    yield Figure(name, ratios, "at least", KEEPS_UP, detail=detail)
    for ladder in ladders(runs):
        headline = ladder.headline
        inside = "inside" if ladder.multiplies_out else "outside"
        yield Figure(
            f"ladder of echo on {runs.loop}, N = {ladder.workers}",
            [ladder.product / headline.point],
            "at least",
            None,
            detail=f"product {ladder.product:.3f} lies {inside} the headline's "
            f"{headline.low:.3f} to {headline.high:.3f}",
        )


def _known(runs: Compared, over: Cell, under: Cell) -> list[float]:
    ratios = runs.of(over, THROUGHPUT) / runs.of(under, THROUGHPUT)
    return [float(ratio) for ratio in ratios if ratio == ratio]
