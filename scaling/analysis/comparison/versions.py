"""What the versions of Python changed: each one over the oldest, like held against like.

    3.13 over 3.12, 3.14 over 3.12;  3.14t over 3.13t

An arm of one version is held against the same arm of the oldest version that has it, at the same
model and N. What else two builds differ in (another compiler, PGO) is in the ratio, too, and who
tells it must say so (`scaling.analysis.comparison.build_differences`).
"""

import re
from collections.abc import Iterator
from itertools import product

from scaling.analysis.comparison.contrast import Contrast, contrasts
from scaling.analysis.comparison.families import RUNGS, families
from scaling.analysis.comparison.paired import Configuration, Paired

VERSION = re.compile(r"3\.\d+")  # not another runtime


def versions(runs: Paired) -> list[Contrast]:
    """Every arm that an older version has, too, over that of the oldest."""
    return contrasts(runs, _pairs(runs))


def _pairs(runs: Paired) -> Iterator[tuple[Configuration, Configuration]]:
    """Each arm of a newer version with that of the oldest that has one."""
    named = [family.version for family in families(runs.arms)]
    numbered = sorted(filter(VERSION.fullmatch, named), key=lambda name: int(name[2:]))
    for (added, _), model, n in product(RUNGS, runs.models, runs.workers):
        configurations = runs.measured(
            Configuration(version + added, model, n) for version in numbered
        )
        for configuration in configurations[1:]:
            yield configuration, configurations[0]
