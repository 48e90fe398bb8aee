"""What a plot is: how it is drawn, when there is something to draw, and where the page shows it."""

from collections.abc import Callable
from dataclasses import dataclass

from scaling.report.plots.sheet import Sheet
from scaling.report.plots.subject import LoadSubject, Subject
from scaling.report.tables.grid import Grid, PagePart
from scaling.report.tables.measures import Measure, measures, values_grid


@dataclass(frozen=True, slots=True)
class Plot:
    """One kind of plot. `name` ends its file names: `echo-weak-throughput.svg`.

    `tables` gives the tables of the values drawn; its second argument is the title of the plot.
    """

    name: str
    draw: Callable[[Subject], Sheet]
    is_there: Callable[[Subject], bool]
    part: PagePart
    tables: Callable[[Subject, str], list[Grid]]


@dataclass(frozen=True, slots=True)
class LoadPlot:
    """One kind of plot of a served workload at all of its rates; its fields are those of `Plot`."""

    name: str
    draw: Callable[[LoadSubject], Sheet]
    is_there: Callable[[LoadSubject], bool]
    tables: Callable[[LoadSubject], list[Grid]]


def values_table(subject: Subject, title: str, is_shown: Callable[[Measure], bool]) -> list[Grid]:
    """A row for each N of each curve, with the columns that are shown."""
    shown = list(filter(is_shown, measures(subject.section)))
    return [values_grid(subject.section, shown, title)]


def columns_table(*columns: str) -> Callable[[Subject, str], list[Grid]]:
    """`Plot.tables` of a plot that shows exactly these columns."""
    return lambda subject, title: values_table(subject, title, lambda m: m.column in columns)
