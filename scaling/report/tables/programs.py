"""Several programs as one table: what each does as threads and as processes, and what it loses."""

from collections.abc import Iterable, Sequence

from scaling.analysis.between_studies import Program
from scaling.analysis.losses import Attribution
from scaling.analysis.remedies import Factor
from scaling.analysis.served.ship import Figures
from scaling.base import formats
from scaling.base.formats import listed
from scaling.report.tables.findings import named, with_bounds
from scaling.report.tables.grid import Cell, Chapter, Grid
from scaling.report.tables.losses import words_of

HEADINGS = ["program", "workers", "requests/s", "CPU ms\na request", "memory\nMiB"]
OF_THREADS = ["over the best\nprocesses", "sharing:\nrequests/s", "sharing:\nCPU", "largest loss"]
REMEDY = "remedy that\nhelps most"
NOTE = (
    "At the peak, medians; each program as it is, with its own requests. Sharing: what N threads "
    "gain over one, over what the processes gain, as scaling app splits it. Largest loss: the term "
    "of scaling explain by which the time of N threads grew most, and its share of the whole loss."
)
WITHOUT_TERMS = "Threads without loops are measured from outside and have no terms: {}."
UNPROVEN = "not proven"


def programs_chapter(found: Sequence[Program]) -> Chapter:
    """The table: three rows for each program, the second half of them about its threads."""
    rows = [row for each in found for row in _rows(each)]
    without = [each.name for each in found if each.lost is None]
    notes = [NOTE, *([WITHOUT_TERMS.format(listed(without))] if without else [])]
    headings = [*HEADINGS, *OF_THREADS, REMEDY]
    grid = Grid("", headings, rows, words=2, note="\n".join(notes), grouped=True)
    return Chapter("Programs side by side", [], [grid])


def _rows(each: Program) -> Iterable[list[Cell]]:
    factors = (each.throughput, each.cpu)
    of_threads: list[Cell] = [
        each.over.ratio if each.over else formats.BLANK,
        *(factor.sharing if factor else formats.BLANK for factor in factors),
        _loss(each.lost) if each.lost else formats.BLANK,
        _remedy(each.helps) if each.helps else formats.BLANK,
    ]
    for figures in each.figures:
        beside = of_threads if figures is each.threads else [""] * len(of_threads)
        yield [each.name, named(figures.cell), *_figures(figures), *beside]


def _figures(each: Figures) -> list[Cell]:
    values = (each.throughput_per_s, each.cpu_ms_per_request, each.memory_mib)
    return [value if value.n else formats.BLANK for value in values]


def _loss(each: Attribution) -> str:
    """`user CPU, 62 %`; that none is proven, or that nothing is lost."""
    if each.whole is None:
        return formats.BLANK
    if each.largest is None:
        return UNPROVEN
    share = each.largest.loss.point / each.whole.loss.point
    return f"{words_of(each.largest.term, each)}, {formats.percent(round(share, 2))}"


def _remedy(each: Factor) -> str:
    """`+gcfreeze 1.08× (1.05–1.11)`, with a word where that is not proven to help."""
    proof = [] if each.ratio.verdict.side > 0 else [f"({UNPROVEN})"]
    return "\n".join([f"+{'+'.join(each.added)}", with_bounds(each.ratio), *proof])
