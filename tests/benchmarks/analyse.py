"""`python -m tests.benchmarks.analyse JOURNAL [scaling|page|pandas]`: what reading a journal costs.

In a process of its own, so that its time and peak memory are its own, imports included. `scaling`
loads, analyses and tabulates everything but the plots; `page` makes the page, with its plots;
`pandas` reads the same lines and keeps nothing. Prints one JSON document: seconds by what they
were spent on, CPU seconds, peak MiB.
"""

import io
import json
import os
import sys
import time
from pathlib import Path

CHUNK_LINES = 2000  # what pandas has in memory at a time


def with_scaling(path: Path) -> dict[str, float]:
    """Seconds from nothing to a frame, to what it means, to text."""
    from rich.console import Console, Group

    from scaling.analysis.results import StudyResults
    from scaling.report.files import read
    from scaling.report.tables.comparison import chapters
    from scaling.report.tables.export import comparison_rows, markdown, summary
    from scaling.report.tables.grid import chapters_markdown
    from scaling.report.terminal.show import Results

    imported = time.perf_counter()
    console = Console(file=io.StringIO(), width=140)
    journal = read(path, console)
    loaded = time.perf_counter()
    results = StudyResults.of(journal)
    found = chapters(results, alone=False)
    analysed = time.perf_counter()
    console.print(Results(results))
    console.print(Group(*found))
    summary(results)
    comparison_rows(results)
    markdown(results, chapters_markdown(found))
    tabulated = time.perf_counter()
    return {
        "runs": len(journal.frame),
        "load_s": loaded - imported,
        "analyse_s": analysed - loaded,
        "tabulate_s": tabulated - analysed,
    }


def with_page(path: Path) -> dict[str, float]:
    """The runs and the size of the page, which is made as `scaling report` does."""
    from scaling.analysis.results import StudyResults
    from scaling.base.console import new_console
    from scaling.report.files import read
    from scaling.report.page.render import page

    results = StudyResults.of(read(path, new_console(quiet=True)))
    return {"runs": len(results.frame), "kib": len(page(results).encode()) / 1024}


def with_pandas(path: Path) -> dict[str, float]:
    """Seconds in which pandas alone reads the lines, and the runs among them."""
    import pandas as pd

    began = time.perf_counter()
    kinds = pd.read_json(path, lines=True, chunksize=CHUNK_LINES)
    runs = sum(int((chunk["kind"] == "run").sum()) for chunk in kinds)
    return {"runs": runs, "load_s": time.perf_counter() - began}


def peak_mib() -> float:
    """The highest resident memory of this process, on Linux; `ru_maxrss` begins at its parent's."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main() -> None:
    """Read, measure, print."""
    path, how = Path(sys.argv[1]), sys.argv[2]
    found = {"scaling": with_scaling, "page": with_page, "pandas": with_pandas}[how](path)
    used = os.times()
    cpu_s = used.user + used.system
    print(json.dumps(found | {"cpu_s": cpu_s, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main()
