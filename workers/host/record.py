"""The record: the JSON document that one run leaves, measured or failed."""

from typing import Any

from workers.cell import SCHEMA, Cell
from workers.host.channel import Message
from workers.readback.process import Readback

SAME_FOR_ALL = ("loop_version", "facts", "debug")  # stored once, from worker 0


def record_of(
    cell: Cell,
    readback: Readback,
    reports: list[Message],
    *,
    failure: dict[str, Any] | None,
    finite: bool,
    served: bool,
    instants_ns: dict[str, int],
) -> dict[str, Any]:
    """Assemble the record of a run; `reports` is empty when it failed.

    `instants_ns` are the phases of the run, monotonic ns. The record of a `served` run has each
    collection of its window.
    """
    first: Message = reports[0] if reports else {}
    process = readback.result(debug=any(report.get("debug") for report in reports), spans=served)
    if cell.model == "interpreters":  # one allocator for the whole process
        for report in reports:
            report["process"]["allocator"] = process["allocator"]
    return {
        "schema": SCHEMA,
        "outcome": "failed" if failure else "measured",
        "finite": finite,
        "failure": failure,
        "process": process,
        "loop": {
            "name": cell.loop,
            "class": first.get("loop_class"),
            "version": first.get("loop_version"),
        },
        "facts": first.get("facts", {}),
        "instants_ns": instants_ns,
        "workers": [
            {name: value for name, value in report.items() if name not in SAME_FOR_ALL}
            for report in reports
        ],
    }
