"""Headings of measures for people, names for CSV files, and units."""

from collections.abc import Mapping

from scaling.analysis.table.column import Shown
from scaling.analysis.table.columns import COLUMNS
from scaling.analysis.table.run_fields import readable, unit_of
from scaling.analysis.tables.values import Derived

MIB = 1024.0 * 1024.0
# Units that figures come in, and those in which people read them.
READ_IN = {"s": ("ms", 1e3), "B": ("MiB", 1 / MIB)}
OWN_PLACE = 80  # among the places of `Shown`


def shown(measure: str, derived: Mapping[str, Derived]) -> Shown:
    """Heading, name and unit of a derived measure, a column, or a workload's own figure."""
    if measure in derived:
        return derived[measure].shown
    column = COLUMNS.get(measure)
    if column is not None and column.shown:
        return column.shown
    return _own(measure)


def _own(name: str) -> Shown:
    """A workload's own figure: `own_settle_max_ms`, so that it takes no other's place."""
    own_unit = unit_of(name)
    unit, factor = READ_IN.get(own_unit, (own_unit, 1.0))
    column = name if factor == 1 else f"{name.rpartition('_')[0]}_{unit.lower()}"
    return Shown(
        heading=f"{readable(name)} {unit}".replace(" /", "/").strip(),
        name=f"own_{column.strip('_')}",
        factor=factor,
        place=OWN_PLACE,
    )
