"""`python -m tests.benchmarks [--quick] [name …]`: run the benchmarks, print a line per figure."""

import argparse
import platform
import sys
import sysconfig
from pathlib import Path

from tests.benchmarks import (
    across_arms,
    against_bare_loop,
    against_plain_tasks,
    alternation,
    app_against_uvicorn,
    attribution,
    families,
    finite_rounds,
    large_journal,
    load_against_queueing,
    load_against_wrk,
    load_stall,
    memory_of_host,
    planted,
    power,
    start_of_child,
    two_workers,
    variance,
)
from tests.benchmarks.figure import Effort

BENCHMARKS = {
    "bare": against_bare_loop,
    "workers": two_workers,
    "start": start_of_child,
    "memory": memory_of_host,
    "arms": across_arms,
    "journal": large_journal,
    "plain": against_plain_tasks,
    "load": load_against_wrk,
    "queue": load_against_queueing,
    "app": app_against_uvicorn,
    "stall": load_stall,
    "families": families,
    "variance": variance,
    "attribution": attribution,
    "planted": planted,
    "alternation": alternation,
    "rounds": finite_rounds,
    "power": power,
}


def main() -> None:
    """Run what was asked for; the exit code says only whether something broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--pairs", type=int, help="how many pairs of runs: time grows with them")
    parser.add_argument("--seconds", type=float, help="how long a window is")
    parser.add_argument("--cell", action="append", default=[], help="of alternation: only these")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="for the picture of stall")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    asked = parser.parse_args()
    unknown = set(asked.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {min(unknown)!r}; there are: {', '.join(BENCHMARKS)}")
    effort = Effort.quick() if asked.quick else Effort()
    effort = Effort(
        pairs=asked.pairs or effort.pairs,
        window_s=asked.seconds or effort.window_s,
        folder=asked.to,
        cells=tuple(asked.cell),
    )
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    kind = "free-threaded" if free_threaded else "with the GIL"
    print(f"CPython {platform.python_version()}, {kind}", file=sys.stderr)
    for name in asked.names or BENCHMARKS:
        for figure in BENCHMARKS[name].figures(effort, free_threaded=free_threaded):
            print(figure, flush=True)


if __name__ == "__main__":
    main()
