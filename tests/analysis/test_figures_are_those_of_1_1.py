"""What the tables make of the published journals is what 1.1 made of them, to six digits.

`tests/golden` has the figures of 1.1: `summary.csv`, `comparison.csv` and `losses.csv` of every
folder that was published when 2.0 began. The folders that are measured again leave it.

Two changes of 2.0 move figures, each with a list of what moved beside them: intervals of ratios
are those of their logarithms (`moved-by-logarithms.csv.gz`).
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scaling.analysis.tables.cells import KEY
from scaling.analysis.tables.derived import LOSSES
from scaling.analysis.tables.ratios import EQUAL_CELLS
from scaling.analysis.tables.study import Study
from scaling.study.questions import THROUGHPUT
from tests.support.children import ROOT
from tests.support.published import PUBLISHED, read

GOLDEN = Path(__file__).parents[1] / "golden"
FOLDERS = sorted(file.parent for file in GOLDEN.glob("*/*/summary.csv.gz"))
WENT = ("calm_p99_ms", "overload_p99_ms", "overload_good_per_s", "recovery_s")  # with their tables
HALF_A_DIGIT = 5.001e-6  # of a figure that was rounded to six digits
FIGURES = ["point", "low", "high", "n"]
OVER = ["over_loop", "over_arm", "over_model", "over_workers"]
ESTIMATE_KEY, RATIO_KEY = [*KEY, "measure"], ["question", "measure", *KEY, *OVER]
NS_PER_S = 1e9

each_folder = pytest.mark.parametrize(
    "golden", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}"
)


def study_of(golden: Path) -> Study:
    return Study.of(read(PUBLISHED / golden.parent.name / golden.name))


def estimates_of_1_1(golden: Path) -> pd.DataFrame:
    wide = pd.read_csv(golden / "summary.csv.gz", low_memory=False)
    names = [name.removesuffix("_n") for name in map(str, wide) if name.endswith("_n")]
    parts = [
        wide[KEY].assign(
            measure=name,
            point=wide[name],
            low=wide[f"{name}_low"],
            high=wide[f"{name}_high"],
            n=wide[f"{name}_n"],
        )
        for name in names
        if f"{name}_low" in wide
    ]
    every = pd.concat(parts)
    return every[(every["n"] > 0) & ~every["measure"].isin(WENT)]


def estimates_now(study: Study) -> pd.DataFrame:
    """Under the names and in the units of summary.csv."""
    table = study.estimates
    table = table[~table["twin"] & ~table["rated"]]
    shown = table["measure"].map(study.shown)
    found = table[[*ESTIMATE_KEY, *FIGURES]].assign(measure=[each.name for each in shown])
    factors = [each.factor for each in shown]
    found[FIGURES[:3]] = found[FIGURES[:3]].mul(factors, axis=0)
    return found


def losses_of_1_1(golden: Path) -> pd.DataFrame:
    found = pd.read_csv(golden / "losses.csv.gz")
    found = found[found["loss_ns_n"] > 0]
    names = {"loss_ns": "point", "loss_ns_low": "low", "loss_ns_high": "high", "loss_ns_n": "n"}
    found = found.drop(columns="n", errors="ignore").rename(columns=names)
    terms = {("all" if term.name == "worker" else term.name): name for name, term in LOSSES.items()}
    return found.assign(measure=found["term"].map(terms))[[*ESTIMATE_KEY, *FIGURES]]


def losses_now(study: Study) -> pd.DataFrame:
    found = study.estimates[study.estimates["measure"].isin(list(LOSSES))].copy()
    found[FIGURES[:3]] *= NS_PER_S
    return found


def ratios_of_1_1(golden: Path) -> pd.DataFrame:
    names = {"ratio": "point", "ratio_low": "low", "ratio_high": "high", "ratio_n": "n"}
    found = pd.read_csv(golden / "comparison.csv.gz").rename(columns=names)
    return found[[*RATIO_KEY, *FIGURES, "memory_kind", "why_not_in_turn"]]


def ratios_now(study: Study) -> pd.DataFrame:
    found = study.ratios[study.ratios["question"] != EQUAL_CELLS].rename(columns={"ratio": "point"})
    named = found["measure"].map(lambda name: "throughput" if name == THROUGHPUT else name)
    return found.assign(measure=found["step"].where(found["step"] != "", named))


def joined(then: pd.DataFrame, now: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Both side by side; of rows with the same key the first with the first."""
    both = [each.assign(**{name: each[name].astype(str) for name in key}) for each in (then, now)]
    both = [each.assign(again=each.groupby(key).cumcount()) for each in both]
    return both[0].merge(both[1], on=[*key, "again"], how="left", suffixes=("", "_now"))


def differing(both: pd.DataFrame) -> list[str]:
    """A line for each row whose figures differ."""
    same = [
        np.isclose(both[name], both[f"{name}_now"], rtol=HALF_A_DIGIT, atol=1e-12, equal_nan=True)
        for name in FIGURES
    ]
    rows = both[~np.logical_and.reduce(same)]
    return [
        " ".join(f"{name}={value}" for name, value in row.items() if name != "parameters")
        for row in rows.to_dict("records")
    ]


@each_folder
def test_estimates_are_those_of_1_1(golden: Path) -> None:
    both = joined(estimates_of_1_1(golden), estimates_now(study_of(golden)), ESTIMATE_KEY)
    assert not differing(both)


@each_folder
def test_losses_are_those_of_1_1(golden: Path) -> None:
    if not (golden / "losses.csv.gz").exists():
        assert losses_now(study_of(golden)).empty
        return
    both = joined(losses_of_1_1(golden), losses_now(study_of(golden)), ESTIMATE_KEY)
    assert len(both)
    assert not differing(both)


@each_folder
def test_ratios_are_those_of_1_1(golden: Path) -> None:
    then = ratios_of_1_1(golden)
    both = joined(then, ratios_now(study_of(golden)), RATIO_KEY)
    assert not differing(both)
    for name in ("memory_kind", "why_not_in_turn"):
        assert (both[name].astype(object).fillna("") == both[f"{name}_now"].fillna("")).all()


def test_every_published_folder_is_compared() -> None:
    assert len(FOLDERS) > 40
    assert ROOT in GOLDEN.parents
