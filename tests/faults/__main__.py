"""`python -m tests.faults [name …]`: try faults, print what each did, exit 1 if one did harm."""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from rich.console import Console
from rich.table import Table

from tests.faults.checks import CHECKS
from tests.faults.trying import FAULTS, tried

AT_ONCE = 2 * (os.cpu_count() or 1)  # most of them wait


def main() -> None:
    """Try what was asked for; exit 1 if a fault did harm."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="faults tried side by side")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(FAULTS))
    asked = parser.parse_args()
    names = [name for name in FAULTS if any(each in name for each in asked.names or [""])]
    if not names:
        parser.error(f"no such fault; there are: {', '.join(FAULTS)}")
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("fault", no_wrap=True)
    for heading in ("tries", *CHECKS, "took"):
        table.add_column(heading, justify="right")
    failed = False
    context = get_context("spawn")
    with ProcessPoolExecutor(asked.at_once, mp_context=context, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(tried, name) for name in names]):
            row = done.result()
            failed |= row.failed
            print(" ".join(row.cells), *row.notes, sep="\n  ", flush=True)
            table.add_row(*row.cells)
    Console(highlight=False, width=100).print(table)
    sys.exit(failed)


if __name__ == "__main__":
    main()
