"""The published figures are those of 1.1, to six digits.

`tests/golden` has what 1.1 published: `summary.csv`, `comparison.csv` and `losses.csv` of every
folder that was there when 2.0 began. A folder that is measured again leaves it. That the published
files are what this version makes of the journals is tested for each of them
(`test_published_results_match_their_journals.py`).

Two changes of 2.0 move figures, each with a list of what moved: intervals of ratios are those of
their logarithms (`moved-by-logarithms.csv.gz`), and the second run of an A/A pair that was in turn
with the first is averaged with it (`moved-by-twins.csv.gz`).
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.published import PUBLISHED

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDERS = sorted(file.parent for file in GOLDEN.glob("*/*/summary.csv.gz"))
WENT = (
    *("calm_p99_ms", "overload_p99_ms", "overload_good_per_s", "recovery_s"),  # with their tables
    *("at_1_ns", "at_n_ns", "machine_ns", "sharing_ns"),  # by term; the losses and wholes stayed
)
A_DIGIT = 1.0002e-5  # of figures that were both rounded to six
CELL = ["workload", "parameters", "sizing", "loop", "arm", "model", "workers"]
OVER = ["over_loop", "over_arm", "over_model", "over_workers"]
RATIO = ["question", "measure", *CELL, *OVER]
ENDS = ["", "_low", "_high", "_n"]


def figures_of(file: Path, key: list[str]) -> pd.DataFrame:
    """A row for each figure that is known: the key, `figure`, `point`, `low`, `high`, `n`, and the
    number of the row among those with its key.
    """
    wide = pd.read_csv(file, low_memory=False)
    named = [str(name).removesuffix("_n") for name in wide if str(name).endswith("_n")]
    parts = [
        wide[key].astype(str).assign(figure=name, **{e or "_": wide[f"{name}{e}"] for e in ENDS})
        for name in named
        if f"{name}_low" in wide and name not in WENT
    ]
    known = pd.concat(parts).query("_n > 0")
    return known.assign(again=known.groupby([*key, "figure"]).cumcount())


def differing(golden: Path, file: str, key: list[str]) -> pd.DataFrame:
    """The figures of 1.1 that are not published as they were; of rows with the same key the first
    is compared with the first.
    """
    then = figures_of(golden / f"{file}.gz", key)
    now = figures_of(PUBLISHED / golden.parent.name / golden.name / file, key)
    assert len(then)
    both = then.merge(now, "left", on=[*key, "figure", "again"], suffixes=("", "_now"))
    same = [
        np.isclose(both[name], both[f"{name}_now"], rtol=A_DIGIT, atol=1e-12)
        for name in ("_", "_low", "_high", "_n")
    ]
    changed: pd.DataFrame = both[~np.logical_and.reduce(same)]
    return changed


@pytest.mark.parametrize(
    "golden", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}"
)
def test_published_figures_are_those_of_1_1(golden: Path) -> None:
    assert differing(golden, "summary.csv", CELL).empty
    assert differing(golden, "comparison.csv", [*RATIO, "memory_kind", "why_not_in_turn"]).empty
    had = (golden / "losses.csv.gz").exists()
    assert had == (PUBLISHED / golden.parent.name / golden.name / "losses.csv").exists()
    assert not had or differing(golden, "losses.csv", [*CELL, "term"]).empty


def test_every_published_folder_is_compared() -> None:
    assert len(FOLDERS) > 40
    assert {each.parent.name for each in FOLDERS} <= {each.name for each in PUBLISHED.iterdir()}
