"""The laws of a study's curves as one table."""

from scaling.analysis.laws import FEWEST_N, laws
from scaling.analysis.results import StudyResults
from scaling.base import formats
from scaling.report.tables.grid import Cell, Grid
from scaling.report.tables.measures import curve_name
from scaling.report.tables.rates import free_sections

ABOUT = (
    "Amdahl's or the Universal Scalability Law of each curve with at least "
    f"{FEWEST_N} worker counts in one region of the machine (cores, SMT siblings, oversubscribed), "
    "fitted to each block: medians with 95 % intervals. It says nothing of other worker counts."
)
SYMBOLS = {"gamma": "γ per s", "alpha": "α", "beta": "β", "peak": "peak at N"}


def law_grids(results: StudyResults) -> list[Grid]:
    """A row for each curve and region with a law; no table where there is none."""
    rows: list[list[Cell]] = [
        [
            f"{section.label} · {section.sizing}\n{curve_name(curve)}",
            f"{law.workers[0]}–{law.workers[-1]} ({law.region})",
            law.name,
            *(law.estimates.get(name, formats.BLANK) for name in SYMBOLS),
        ]
        for section in free_sections(results)
        for curve in section.curves
        for law in laws(curve)
    ]
    return (
        [Grid("Fitted laws", ["curve", "N", "law", *SYMBOLS.values()], rows, 3, ABOUT)]
        if rows
        else []
    )
