"""Writes published studies of a few rows: their tables, and what machine it was."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

type Rows = list[dict[str, object]]

CELL: dict[str, object] = {
    "workload": "echo",
    "parameters": {},
    "loop": "asyncio",
    "arm": "3.14t",
    "model": "threads",
    "workers": 2,
    "controls": "sound",
}
GAIN = CELL | {"question": "gain", "measure": "throughput"}


def figure(
    column: str, point: float, low: float | None = None, high: float | None = None, n: int = 8
) -> dict[str, object]:
    """The columns of a figure with its interval."""
    bounds = {f"{column}_low": low or point, f"{column}_high": high or point, f"{column}_n": n}
    return {column: point, **bounds}


def publish(
    folder: Path, tables: Mapping[str, Rows], *, cores: int = 2, minutes: float = 10.6
) -> None:
    """Write a study with these rows in its tables."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = {"id": "some", "physical_cores": cores, "usable_cpus": 16}
    facts = {"blocks": 8, "runs": 1025, "minutes": minutes, "date": "2026-11-20"}
    (folder / "environment.json").write_text(json.dumps({**facts, "machine": machine}))
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            written = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            written.writeheader()
            written.writerows({**row, "parameters": json.dumps(row["parameters"])} for row in rows)
