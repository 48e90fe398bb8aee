"""The published figures are those of 1.1, to six digits.

`tests/golden` has what 1.1 published: `summary.csv`, `comparison.csv` and `losses.csv` of every
folder that was there when 2.0 began. A folder that is measured again leaves it. That the published
files are what this version makes of the journals is tested for each of them
(`test_published_results_match_their_journals.py`).

Two changes of 2.0 move figures, each with a list of what moved: intervals of ratios are those of
their logarithms (`moved-by-logarithms.csv.gz`), and the second run of an A/A pair that was in turn
with the first is averaged with it (`moved-by-twins.csv.gz`).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.published import PUBLISHED, name_of

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDERS = sorted(file.parent for file in GOLDEN.glob("*/*/summary.csv.gz"))
WENT = (
    *("calm_p99_ms", "overload_p99_ms", "overload_good_per_s", "recovery_s"),  # with their tables
    *("at_1_ns", "at_n_ns", "machine_ns", "sharing_ns"),  # by term; the losses and wholes stayed
)
A_DIGIT = 1.0002e-5  # of figures that were both rounded to six
CELL = ["workload", "parameters", "sizing", "loop", "arm", "model", "workers"]
OVER = ["over_loop", "over_arm", "over_model", "over_workers"]
RATIO = ["question", "measure", *CELL, *OVER, "memory_kind", "why_not_in_turn"]


def keyed(file: Path, key: Sequence[str]) -> pd.DataFrame:
    """The rows by their key and their number among those with that key."""
    rows = pd.read_csv(file, dtype=dict.fromkeys(key, str), low_memory=False)
    texts = rows[list(key)].fillna("")
    names = texts[key[0]].str.cat(texts[list(key[1:])], sep="\n")
    return rows.set_index(names + "\n" + names.groupby(names).cumcount().astype(str))


def changed(golden: Path, file: str, key: Sequence[str]) -> dict[str, list[str]]:
    """The keys of the rows that are not published as they were, by figure; of rows with the same
    key the first is compared with the first.
    """
    then = keyed(golden / f"{file}.gz", key)
    now = keyed(PUBLISHED / name_of(golden) / file, key).reindex(then.index)
    figures = [str(name).removesuffix("_n") for name in then if str(name).endswith("_n")]
    found = {}
    for figure in (each for each in figures if f"{each}_low" in then and each not in WENT):
        columns = [f"{figure}{end}" for end in ("", "_low", "_high", "_n")]
        was, is_now = then[columns], now.reindex(columns=columns)
        same = np.isclose(was, is_now, rtol=A_DIGIT, atol=1e-12).all(axis=1)
        found[figure] = list(then.index[(was[f"{figure}_n"] > 0) & ~same])
    assert found
    return {figure: rows for figure, rows in found.items() if rows}


@pytest.mark.parametrize("golden", FOLDERS, ids=name_of)
def test_published_figures_are_those_of_1_1(golden: Path) -> None:
    assert len(FOLDERS) >= 40
    assert changed(golden, "summary.csv", CELL) == {}
    assert changed(golden, "comparison.csv", RATIO) == {}
    had = (golden / "losses.csv.gz").exists()
    assert had == (PUBLISHED / name_of(golden) / "losses.csv").exists()
    assert not had or changed(golden, "losses.csv", [*CELL, "term"]) == {}
