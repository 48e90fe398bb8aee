"""What each cell loses as rows for other programs: one term a row."""

from collections.abc import Iterator

import pandas as pd

from scaling.analysis.attribution.cells import Attribution, Loss
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.statistics.mean import NO_MEAN
from scaling.analysis.table.stacks import NS_PER_S
from scaling.journal.record import Parameters
from scaling.report.tables.columns import estimate_columns, study_columns


def loss_rows(results: StudyResults) -> pd.DataFrame:
    """One row for each term of each cell at N > 1 with readings, from `StudyResults`.

    Columns: the cell (`study`, `workload`, `parameters`, `sizing`, `loop`, `arm`, `model`,
    `workers`); the `term`, of which `all` is the sum; `at_1_ns`, `at_n_ns` and `loss_ns` per
    operation, the `factor` of the efficiency (that of `all` is the efficiency), each with its
    bounds; `is_largest`, whether it is the largest loss beyond the margin; `one_term`, whether
    blocked, idle and the rest could not be separated; of the whole cell `machine_ns`, what as many
    processes lose, and `sharing_ns`, what is lost beyond it; `controls` and `scale` of the study.
    """
    about = study_columns(results)
    return pd.DataFrame(
        [row | about for each in results.attributions for row in _rows(each)],
    )


def _rows(each: Attribution) -> Iterator[dict[str, object]]:
    key = each.runs.curves[0].key
    cell = {
        "study": each.runs.curves[0].study,
        "workload": key.workload,
        "parameters": Parameters.of(key.parameters).text,
        "sizing": key.sizing,
        "loop": each.runs.loop,
        "arm": each.of.arm,
        "model": each.of.model,
        "workers": each.workers,
    }
    about = {"one_term": each.one_term} | _shared(each)
    for loss in each.losses:
        yield (
            cell
            | {"term": loss.term.name}
            | _figures(loss, is_largest=loss is each.largest)
            | about
        )
    if each.whole is not None:
        yield cell | {"term": "all"} | _figures(each.whole, is_largest=False) | about


def _figures(loss: Loss, *, is_largest: bool) -> dict[str, object]:
    return {
        **_in_ns("at_1_ns", loss.at_one),
        **_in_ns("at_n_ns", loss.at_n),
        **_in_ns("loss_ns", loss.loss),
        **estimate_columns("factor", loss.factor),
        "is_largest": is_largest,
    }


def _shared(each: Attribution) -> dict[str, object]:
    machine, sharing = (each.shared.machine, each.shared.sharing) if each.shared else (NO_MEAN,) * 2
    return _in_ns("machine_ns", machine) | _in_ns("sharing_ns", sharing)


def _in_ns(name: str, value: Estimate) -> dict[str, object]:
    return estimate_columns(name, value.scaled(NS_PER_S, "ns"))
