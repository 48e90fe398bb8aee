"""`python -m tests.benchmarks [--quick] [name …]`: run the benchmarks, print a line per figure."""

import argparse
import importlib
import platform
import sys
import sysconfig
from pathlib import Path

from tests.benchmarks.figure import Effort

# A module for each name, and what it asks.
BENCHMARKS = {
    "bare": "what the harness costs: echo in it over echo on a bare loop",
    "alternation": "how much less ratios scatter when their cells take turns",
    "neighbours": "whether ratios scatter less where their cells are neighbours in a turn",
    "driver": "whether this driver measures what that of another version does",
    "planted": "whether `explain` names a loss that is planted",
    "power": "what words say of losses that are planted",
    "words": "how often each word is right, by blocks and scatter",
    "queue": "whether measured latency is what queueing theory gives",
    "stall": "what an open and a closed loop make of a server that stands still",
    "wrk": "whether the load generator is as quick as wrk, and agrees with it",
    "journal": "how long a journal of 100,000 runs takes",
}


def main() -> None:
    """Run what was asked for; the exit code says only whether something broke."""
    listed = "\n".join(f"  {name:<12} {about}" for name, about in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=f"{__doc__}\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--pairs", type=int, help="how many pairs of runs: time grows with them")
    parser.add_argument("--seconds", type=float, help="how long a window is")
    parser.add_argument("--cell", action="append", default=[], help="of alternation: only these")
    parser.add_argument(
        "--against", default="HEAD", metavar="PLACE", help="of driver: a folder or a git revision"
    )
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="for the histograms of stall")
    parser.add_argument("names", nargs="*", metavar="name")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {min(unknown)!r}; there are: {', '.join(BENCHMARKS)}")
    effort = Effort(
        pairs=asked.pairs or (4 if asked.quick else 10),
        window_s=asked.seconds or (0.4 if asked.quick else 1.0),
        folder=asked.to,
        cells=tuple(asked.cell),
        against=asked.against,
    )
    gil = "free-threaded" if sysconfig.get_config_var("Py_GIL_DISABLED") else "with the GIL"
    print(f"CPython {platform.python_version()}, {gil}", file=sys.stderr)
    for name in asked.names or BENCHMARKS:
        for figure in importlib.import_module(f"tests.benchmarks.{name}").figures(effort):
            print(figure, flush=True)


if __name__ == "__main__":
    main()
