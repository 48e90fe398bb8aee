"""The studies in results/published, each read once for all tests, and a comparison of files."""

import re
from functools import cache
from pathlib import Path

import numpy as np

from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study
from tests.support.children import ROOT

PUBLISHED = ROOT / "results" / "published"
FOLDERS = sorted(journal.parent for journal in PUBLISHED.glob("*/*/journal.jsonl.gz"))
NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?")


def name_of(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


read = cache(read_journal)


@cache
def study_of(folder: Path) -> Study:
    """The five tables of a published study."""
    return Study.of(read(folder))


def alike(one: str, other: str, *, by: float, to: float = 0.0) -> bool:
    """Whether two texts have the same words, and numbers that differ by that share, or so much.

    Machines round differently: what is worked out on another one may differ in the last digit.
    """
    if one == other:
        return True
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    return bool(np.allclose(_numbers(one), _numbers(other), rtol=by, atol=to))


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]
