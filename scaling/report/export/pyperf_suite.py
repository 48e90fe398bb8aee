"""A study as pyperf writes its own: for `pyperf compare_to`, `pyperf stats` and `pyperf hist`.

One benchmark for each cell, one of pyperf's runs for each of ours that counts: seconds per
operation, of all workers together, so that N workers which do N times as much take an Nth. The
format is version 1.0 of pyperf's JSON (pyperf/_bench.py). Cells in an open loop are left out: how
much they do is what was asked of them. pyperf knows no blocks: it takes means
and pairs nothing, and its verdicts can be others than ours.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from scaling.analysis.table.groups import CELL, CURVE, Variant, in_open_loop, labels, originals
from scaling.analysis.table.load import Journal
from scaling.base.errors import UsageError
from scaling.journal.record import Parameters, StudyLine
from scaling.report.tables.notes import about

VERSION = "1.0"


def write_suite(journal: Journal, file: Path) -> None:
    """Write the suite as JSON.

    Raises:
        UsageError: no run is valid, or all are in an open loop; pyperf reads no empty suite.
        OSError: as any writing does.
    """
    file.write_text(json.dumps(suite(journal), indent=1, allow_nan=False) + "\n", encoding="ascii")


def suite(journal: Journal) -> dict[str, Any]:
    """The document; A/A repeats, invalid runs and those that were made again are in no benchmark.

    A benchmark's name has only those parameters that vary, and the arm only where there are
    several: by their names pyperf pairs the benchmarks of two studies, each of an arm of its own.

    Raises:
        UsageError: no run is valid, or all are in an open loop.
    """
    runs = originals(journal.frame)
    runs = runs[runs["valid"] & (runs["throughput_per_s"] > 0)]
    if len(runs) and in_open_loop(runs).all():
        raise UsageError(
            f"{journal.path}: requests came at given rates, so throughput is what was asked for: "
            "nothing for pyperf. `scaling export --to hdr` has the latencies"
        )
    runs = runs[~in_open_loop(runs)]
    runs = runs.drop_duplicates([*CELL, "block"], keep="last")
    if runs.empty:
        raise UsageError(f"{journal.path}: holds no valid run, and so nothing for pyperf")
    names, several = labels(journal.frame), journal.frame["arm"].nunique() > 1
    cells = runs.groupby(list(CELL), observed=True)
    return {
        "version": VERSION,
        "metadata": {**_in_lines(about(journal)), "unit": "second"},
        "benchmarks": [
            {
                "metadata": _cell(cell, journal.study, names, several=several),
                "runs": [_run(run) for run in cell.to_dict("records")],
            }
            for _, cell in cells
        ],
    }


def _cell(
    runs: pd.DataFrame, study: StudyLine, names: dict[Variant, str], *, several: bool
) -> dict[str, str | int]:
    """What the runs of a cell have in common, its name first."""
    cell = runs.iloc[0]
    words = [
        names[cell["workload"], Parameters.read(cell["parameters"])].replace(" · ", " "),
        cell["sizing"],
    ]
    words += [cell["loop"], *([cell["arm"]] if several else []), cell["model"]]
    note = study.workloads.get(cell["workload"])
    common = {
        "name": f"{' '.join(words)} N={cell['workers']}",
        **{name: cell[name] for name in CURVE if name != "study"},
        "operation": note.operation if note else "operations",
        **_ran_by(study, cell["arm"]),
    }
    return {**_in_lines(common), "workers": int(cell["workers"])}


def _ran_by(study: StudyLine, arm: str) -> dict[str, str]:
    """The interpreter of an arm, in pyperf's words, or the other runtime that it is."""
    known = study.arms[arm]  # no run of an unknown one is valid
    if known.runtime:
        return {"runtime": known.runtime}
    if known.description is None:
        return {}
    version = known.description.python.version
    return {"python_implementation": "cpython", "python_version": version}


def _in_lines(metadata: dict[str, str]) -> dict[str, str]:
    """Values without line ends, which pyperf refuses; two that differ still do."""
    return {
        name: value.encode("unicode_escape").decode("ascii") for name, value in metadata.items()
    }


def _run(run: dict[Any, Any]) -> dict[str, Any]:
    """One value; `loops` is how many operations it is of, as pyperf counts them."""
    metadata: dict[str, Any] = {"loops": max(1, round(run["operations"]))}
    if not pd.isna(run["elapsed_s"]):
        metadata["duration"] = run["elapsed_s"]
    if not pd.isna(run["at"]):
        metadata["date"] = run["at"].isoformat(sep=" ")
    return {"metadata": metadata, "values": [1 / run["throughput_per_s"]]}
