"""Runs to columns: everything that `COLUMNS` lists, for some hundred runs at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scaling.analysis.table.batches import batch_of
from scaling.analysis.table.fields import asked
from scaling.analysis.table.inside import inside
from scaling.analysis.table.latency import latencies
from scaling.analysis.table.mixing import allocator_state
from scaling.analysis.table.own_figures import own_figures
from scaling.analysis.table.steadiness import steadiness
from scaling.analysis.validity import Expectation, judge, validity
from scaling.journal.record import RunLine, StudyLine

_parameters = msgspec.json.Encoder(order="sorted")


def columns_of(
    runs: Sequence[RunLine], study: StudyLine, expected: Mapping[str, Expectation]
) -> dict[str, Sequence[Any]]:
    """Every column of `COLUMNS`, as long as there are runs; `outlier` is not known yet."""
    batch = batch_of(runs, expected)
    findings = judge(batch)
    severities = [validity(found) for found in findings]
    figures = {name: values.tolist() for name, values in batch.figures.items()}
    records = [run.record for run in runs]
    warmup_s = float(study.study.get("warmup_s") or 0.0)
    return (
        figures
        | asked(runs)
        | inside(runs, warmup_s)
        | {name: values.tolist() for name, values in latencies(records).items()}
        | {
            "study": [study.name] * len(runs),
            "machine": [study.machine.id] * len(runs),
            "parameters": [_parameters.encode(run.cell.parameters).decode() for run in runs],
            "valid": [severity != "invalid" for severity in severities],
            "validity": severities,
            "reasons": [tuple(each.word for each in found) for found in findings],
            "details": [tuple(each.detail for each in found) for found in findings],
            "outlier": [False] * len(runs),
            "finite": [record is not None and record.finite for record in records],
            "allocator_state": list(map(allocator_state, figures["minor_faults_per_op"])),
            "steadiness": list(map(steadiness, figures["rise"], figures["fall"])),
            "figures": own_figures(records),
        }
    )
