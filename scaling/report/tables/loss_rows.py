"""What each cell loses as rows for other programs: one term a row."""

from collections.abc import Iterator

import pandas as pd

from scaling.analysis.attribution.cells import Attribution, Loss
from scaling.analysis.results import StudyResults
from scaling.report.tables.columns import estimate_columns, study_columns

NS_PER_S = 1e9


def loss_rows(results: StudyResults) -> pd.DataFrame:
    """One row for each term of each cell at N > 1 with readings, from `StudyResults`.

    Columns: the cell (`study`, `workload`, `parameters`, `sizing`, `loop`, `arm`, `model`,
    `workers`); the `term`, of which `all` is the sum; `at_1_ns`, `at_n_ns` and `loss_ns` per
    operation, the `factor` of the efficiency (that of `all` is the efficiency), each with its
    bounds; `is_largest`, whether it is the largest loss beyond the noise; `one_term`, whether
    blocked, idle and the rest could not be separated; `controls` and `scale` of the study.
    """
    about = study_columns(results)
    return pd.DataFrame(
        [row | about for each in results.attributions for row in _rows(each)],
    )


def _rows(each: Attribution) -> Iterator[dict[str, object]]:
    key = each.runs.curves[0].key
    cell = {
        "study": key.study,
        "workload": key.workload,
        "parameters": key.parameters,
        "sizing": key.sizing,
        "loop": each.runs.loop,
        "arm": each.of.arm,
        "model": each.of.model,
        "workers": each.workers,
    }
    for loss in (*each.losses, *([each.whole] if each.whole else ())):
        term = "all" if loss is each.whole else loss.term.name
        yield (
            cell
            | {"term": term, **_figures(loss)}
            | {
                "is_largest": loss is each.largest,
                "one_term": each.one_term,
            }
        )


def _figures(loss: Loss) -> dict[str, object]:
    in_ns = {"at_1_ns": loss.at_one, "at_n_ns": loss.at_n, "loss_ns": loss.loss}
    columns = {name: value.scaled(NS_PER_S, "ns") for name, value in in_ns.items()}
    found: dict[str, object] = {}
    for name, value in (columns | {"factor": loss.factor}).items():
        found |= estimate_columns(name, value)
    return found
