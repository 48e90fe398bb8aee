"""`python -m tests.faults [name …]`: try faults, print what each did, exit 1 if one did harm."""

import argparse
import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tests.faults.attempt import COUNTED, Row
from tests.faults.trying import FAULTS, rows

AT_ONCE = 2 * (os.cpu_count() or 1)  # most of them wait
CAPTION = "lost, doubled: records of runs; processes, files, ports: left behind"


def main() -> None:
    """Try what was asked for; exit 1 if a fault did harm."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="faults tried side by side")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(FAULTS))
    asked = parser.parse_args()
    names = [name for name in FAULTS if any(each in name for each in asked.names or [""])]
    if not names:
        parser.error(f"no such fault; there are: {', '.join(FAULTS)}")
    found = []
    for row in rows(names, asked.at_once):
        found.append(row)
        print(" ".join(row.cells), *row.notes, sep="\n  ", flush=True)
    Console(highlight=False).print(table(sorted(found, key=lambda row: names.index(row.fault))))
    sys.exit(any(row.failed for row in found))


def table(found: Sequence[Row]) -> Table:
    """A line for each fault."""
    made = Table(box=None, header_style="bold", pad_edge=False, caption=CAPTION)
    made.add_column("fault", overflow="fold")
    for heading in ("tries", "survived", *COUNTED, "took"):
        made.add_column(heading, justify="right")
    for row in found:
        made.add_row(*row.cells)
    return made


if __name__ == "__main__":
    main()
