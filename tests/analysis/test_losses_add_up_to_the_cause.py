"""What a cell loses is split into terms that add up, and the one that grew is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.analysis.table.time_terms import IDLE, TERMS, WHOLE
from scaling.analysis.tables.derived import (
    FACTOR,
    LOSS,
    MACHINE,
    SHARING,
    merged,
)
from scaling.analysis.tables.study import Study
from scaling.report.explain import largest_loss, lost, record, sentences
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, one
from tests.support.terms import IDEAL, Terms, TermsOf, plus

TWO = FakeStudy(workers=(1, 2), blocks=8, aa_pairs=True, ticks=2)
BOTH = FakeStudy(models=("threads", "processes"), workers=(1, 2), blocks=8, ticks=2)


def losing(**more: float) -> TermsOf:
    """The terms of a curve that is ideal at N = 1 and loses that at every other N."""
    return lambda arm, model, n: plus(**more) if n > 1 else IDEAL


def cell(
    study: FakeStudy, terms: TermsOf, model: str = "threads", **more: Any
) -> tuple[Study, int]:
    """The study with these terms, and its cell of that model at N = 2."""
    made = replace(study, terms=terms, **more).study
    cells = lost(made)
    (place,) = cells.loc[(cells["model"] == model) & (cells["workers"] == 2), "place"].tolist()
    return made, place


def points(study: Study, place: int, name: str = LOSS) -> dict[str, float]:
    """The medians of a cell's terms that are known."""
    found = {term.name: study.estimate(place, name.format(term.name)) for term in TERMS}
    return {term: row["point"] for term, row in found.items() if row}


def said(study: Study, place: int) -> str:
    return " ".join(sentences(study, place))


@pytest.mark.parametrize("term", TERMS[::3], ids=lambda term: term.name)
def test_each_loss_alone_is_found_alone(term: Any) -> None:
    found = cell(TWO, losing(**{term.name: 6_000.0}))
    assert largest_loss(*found) == term
    losses, factors = points(*found), points(*found, FACTOR)
    assert losses.pop(term.name) == pytest.approx(6e-6, rel=0.1)
    assert max(map(abs, losses.values())) < 1e-6
    assert [factors[other] for other in losses] == pytest.approx([1] * len(losses), abs=0.03)


def test_losses_add_up_and_factors_multiply() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        return plus(user=700.0 * n, blocked=300.0 * n, idle=-100.0 * n, rest=40.0 * n)

    study = FakeStudy(blocks=7, ticks=2, terms=terms, terms_noise=0.1).study
    points = study.estimates.set_index(["measure", "workers"])["point"]
    for n in (2, 4):
        parts = [points[LOSS.format(term.name), n] for term in TERMS]
        assert sum(parts) == pytest.approx(points[LOSS.format(WHOLE.name), n], rel=1e-12)
        factors = [points[FACTOR.format(term.name), n] for term in TERMS]
        assert np.prod(factors) == pytest.approx(points[FACTOR.format(WHOLE.name), n], rel=1e-12)


def test_the_sentence_names_the_largest_with_its_cause() -> None:
    found = cell(TWO, losing(run_queue=9_000.0, blocked=4_000.0, rest=100.0), terms_noise=0.0)
    words = said(*found)
    assert "The largest part is run queue, 9,0" in words
    assert "more threads are ready to run than there are CPUs" in words
    assert "Blocked in: running (60 %), futex (30 %)" in said(*cell(TWO, losing(blocked=4_000.0)))


@pytest.mark.parametrize(
    ("lost_ns", "more", "text"),
    [
        (60.0, {}, "Nothing is lost beyond the margin of 2 %."),
        (60.0, {"terms_noise": 0.3}, "No loss is proven: more blocks may decide it."),
        (20_000.0, {"blocks": 1, "aa_pairs": False}, "Too few blocks to name a cause (1 of 6)."),
    ],
)
def test_a_loss_that_is_not_proven_has_no_cause(
    lost_ns: float, more: dict[str, Any], text: str
) -> None:
    found = cell(TWO, losing(user=lost_ns), **more)
    assert largest_loss(*found) is None
    assert text in said(*found)


def test_processes_of_another_arm_lose_in_proportion() -> None:
    """Their operation takes three times as long, and half as long again at N = 2."""

    def terms(arm: str, model: str, n: int) -> Terms:
        if arm == "3.14":
            return {"user": 90_000.0 * (1.5 if n > 1 else 1)} if model == "processes" else {}
        return {"user": 30_000.0 * (2 if n > 1 else 1)} if model == "threads" else {}

    study = replace(BOTH, terms=terms, arms=("3.14", "3.14t"), terms_noise=0.0).study
    for measure in (MACHINE, SHARING):
        found = one(study.estimates, measure=measure, arm="3.14t", model="threads")
        assert found["point"] == pytest.approx(15e-6)


def test_calls_that_cannot_be_sampled_are_one_term() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        unknown = {"blocked": float("nan"), "rest": float("nan")} if n > 1 else {"blocked": 500.0}
        return {**plus(idle=9_000.0 * (n - 1)), **unknown}

    study, found = cell(TWO, terms)
    assert merged(study.measures)[found]
    losses, whole = points(study, found), study.estimate(found, LOSS.format(WHOLE.name))
    assert {term.name for term in TERMS} - losses.keys() == {"blocked", "rest"}
    assert largest_loss(study, found) == IDLE
    assert losses["idle"] == pytest.approx(8.5e-6, rel=0.1)
    assert whole
    assert sum(losses.values()) == pytest.approx(whole["point"])
    assert "Calls could not be sampled: the idle time includes blocked time" in said(study, found)


def test_in_an_open_loop_there_is_no_efficiency() -> None:
    """Throughput is the schedule's: workers that have less to do are idle, and lose nothing."""
    study = FakeServedStudy(
        configurations=(("3.14t", "threads"),),
        rates=(200.0,),
        terms=losing(idle=30_000.0, user=2_000.0),
    ).study
    (found,) = lost(study).to_dict("records")
    place = found["place"]
    assert largest_loss(study, place) is None
    assert points(study, place, FACTOR) == {}
    assert "At this rate" in said(study, place)
    assert record(study, found)["factors"]["efficiency"] is None
