"""The A/A pairs of a published study as rows.

No published table has them. So they are worked out of the journal.
"""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scaling.analysis.statistics.hypotheses import ERROR_RATE
from tests.support.published import results_of
from tests.support.tables import PARAMETERS, Row


@cache
def aa_rows(study: Path) -> Sequence[Row]:
    """A row for each pair and measure: its cell, and `noise`, by how much in per cent equal runs
    differ; whether that was `tested`, they are `unequal` at 5 % without margin and correction, and
    `different` by the rule of verdicts.
    """
    return [
        {
            **{name: getattr(pair.cell, name) for name in ("workload", "loop", "arm", "model")},
            "workers": pair.cell.workers,
            PARAMETERS: dict(pair.cell.parameters),
            "measure": measure,
            "noise": 100 * pair.floor(measure),
            "tested": not math.isnan(p_equal),
            "unequal": p_equal < ERROR_RATE,
            "different": pair.ratios[measure].verdict.side != 0,
        }
        for pair in results_of(study).floor.pairs
        for measure, p_equal in pair.p_equal.items()
    ]
