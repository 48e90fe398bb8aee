"""`scaling explain` says what is lost, draws the largest loss, or says what to measure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scaling.analysis.table.time_terms import TERMS
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.report.explain import MOST_EXPLAINED, explain, lost, terms_grids
from tests.support.printing import printed_by
from tests.support.studies import FakeStudy
from tests.support.terms import IDEAL, Terms, plus


def growing(arm: str, model: str, n: int) -> Terms:
    """Processes lose to the machine, threads to each other, too."""
    if model == "processes":
        return plus(user=300.0 * (n - 1))
    each_ns = {"user": 2_500.0, "blocked": 900.0, "rest": 400.0}
    return plus(idle=-500.0, **{name: ns * (n - 1) for name, ns in each_ns.items()})


SMALL = FakeStudy(workers=(1, 2), blocks=6, ticks=2, terms=growing)
LARGE = replace(SMALL, models=("threads", "processes"), workers=(1, 2, 16), cores=16, logical=16)


@contextmanager
def read_as(study: FakeStudy) -> Iterator[None]:
    """Readings are made up and in no file, so that the study is not read from one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.report.explain.read", lambda *_: study.study)
        yield


def explained(study: FakeStudy, *, details: bool = False) -> str:
    with read_as(study):
        return printed_by(lambda console: explain(Path("x"), console, details=details))


def test_the_terms_of_a_cell_add_up_to_what_it_loses() -> None:
    study = LARGE.study
    for place in lost(study).index:
        (grid,) = terms_grids(study, place)
        figures = [[float(text.text.replace(",", "")) for text in row[1:]] for row in grid.rows]
        *losses, whole = (row[0] for row in figures)
        *factors, efficiency = (row[1] for row in figures)
        assert len(losses) == len(TERMS)
        assert sum(losses) == pytest.approx(whole, rel=5e-3)
        assert np.prod(factors) == pytest.approx(efficiency, rel=5e-3)


def test_what_a_study_is_about_and_loses_most_comes_first() -> None:
    text = explained(LARGE)
    first = lost(LARGE.study).iloc[0]
    assert (first["model"], first["workers"]) == ("threads", 16)
    assert text.index("16 threads on 3.14t do") < text.index("2 threads on 3.14t do")
    assert "The largest part is user CPU" in " ".join(text.split())
    assert "Sharing a process costs" in " ".join(text.split())


def test_more_workers_than_cpus_come_last_and_others_have_a_row() -> None:
    study = replace(
        SMALL,
        variants={"echo": [{"payload_bytes": size} for size in (64, 256, 1024, 4096, 16384)]},
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2, 8),
    )
    lines = explained(study).splitlines()
    assert sum("the work of one" in line for line in lines) == MOST_EXPLAINED
    assert all(line.startswith("2 threads on 3.14t") for line in lines if "work of one" in line)
    others = lines[next(at for at, line in enumerate(lines) if "Other cells" in line) :]
    assert not any("N = 8" in line for line in others)


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (replace(SMALL, workers=(1,)), "every run of this study is at N = 1"),
        (replace(SMALL, workers=(2, 4), terms=lambda *_: IDEAL), "--workers 1,2,4"),
        (replace(SMALL, terms=None), "no readings of the workers' time"),
    ],
    ids=["one N", "not N = 1", "no readings"],
)
def test_what_cannot_be_explained_says_what_to_measure(study: FakeStudy, says: str) -> None:
    with read_as(study), pytest.raises(UsageError, match=re.escape(says)):
        explain(Path("x"), new_console(quiet=True))
