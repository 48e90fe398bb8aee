"""How often verdicts are wrong, and how many true effects they find: two families against one."""

import math
from collections.abc import Iterator

from tests.benchmarks.figure import Effort, Figure
from tests.support.families import TRUE, simulate

STUDIES, QUICK = 2000, 200
ALLOWED = 0.05
SEED = 20261122


def figures(effort: Effort, *, free_threaded: bool) -> Iterator[Figure]:
    """Simulated studies without any true effect, and with some; no run is measured."""
    del free_threaded
    studies = QUICK if effort.is_quick else STUDIES
    allowed = ALLOWED + 3 * math.sqrt(ALLOWED * (1 - ALLOWED) / studies)  # three standard errors
    for true in (0.0, TRUE):
        for one_family in (False, True):
            rates = simulate(studies, SEED, one_family=one_family, true=true)
            of = f"{'one family' if one_family else 'two families'}, {true:.0%} true"
            wrong = {"wrong in primary": rates.familywise}
            wrong["false discoveries"] = rates.false_discovery
            for name, rate in wrong.items():
                yield Figure(f"{of}: {name}", [rate], "at most", allowed)
            if true:
                yield Figure(f"{of}: primary found", [rates.primary_power], "at least", None)
                explored = rates.exploratory_power
                yield Figure(f"{of}: exploratory found", [explored], "at least", None)
