"""`python -m workers`: reads a cell (JSON) from standard input, writes a record to standard output.

`--describe` prints what can be run in this environment instead. Standard output carries that one
document; whatever a workload prints goes to standard error.
"""

from __future__ import annotations

import time

STARTED_NS = time.monotonic_ns()  # before the other imports, which are part of the start-up time

import faulthandler  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from workers.cell import Cell

USAGE = (
    "usage: python -m workers < cell.json\n"
    "       python -m workers --describe [--workload package.module:Name]..."
)


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code (2: bad input, 1: the run failed)."""
    faulthandler.enable()
    if hasattr(faulthandler, "register"):  # not on Windows
        faulthandler.register(signal.SIGUSR1)  # the driver makes a hung child print its stacks
    if arguments[:1] == ["--worker"]:  # internal: how the host starts a worker process
        from workers.worker.session import run_workers

        run_workers([int(each) for each in arguments[1:]])
        return 0
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        if arguments[:1] == ["--describe"]:
            from workers.describe import describe
            from workers.system import end_with_the_parent

            end_with_the_parent()
            document: dict[str, Any] = describe(_named_workloads(arguments[1:]))
        elif arguments:
            print(USAGE, file=sys.stderr)
            return 2
        else:
            from workers.cell import read_cell

            try:
                document = _measured(read_cell(json.load(sys.stdin)))
            except (ValueError, RecursionError) as error:  # not text, not JSON, or not a cell
                print(f"python -m workers: {error}", file=sys.stderr)
                return 2
            except BrokenPipeError as error:
                print(f"python -m workers: {error}", file=sys.stderr)
                return 1
        json.dump(document, out)
        out.write("\n")
    return 0 if document.get("outcome", "measured") == "measured" else 1


def _measured(cell: Cell) -> dict[str, Any]:
    if cell.outside:
        from workers.outside.hosting import measure as measure_outside

        return measure_outside(cell)
    from workers.host.hosting import measure

    return measure(cell, STARTED_NS)


def _named_workloads(arguments: list[str]) -> list[str]:
    if len(arguments) % 2 or any(flag != "--workload" for flag in arguments[::2]):
        print(USAGE, file=sys.stderr)
        raise SystemExit(2)
    return arguments[1::2]


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Interpreter shutdown must wait neither for a hung worker nor for a workload's own threads.
    if code == 1 or threading.active_count() > 1:
        os._exit(code)
    sys.exit(code)
