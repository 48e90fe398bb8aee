"""A claim holds, or does not, only where an interval and the tests of all claims prove it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scaling
from scaling.analysis.claims.judging import JudgedClaim, judge, table
from scaling.analysis.statistics.estimate import median
from scaling.report.claims import markdown
from scaling.study.questions import THROUGHPUT
from tests.support.claims import CELL, claim, claims
from tests.support.claims import judged as judged_by
from tests.support.runs import throttled, with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, arm, threads

COMPUTE = {"echo": [{"payload_bytes": 1024}], "compute": [{"iterations": 1000}]}
LOOPS = ("asyncio", "uvloop")  # 1 and 1.35 times as fast


MADE = threads(loops=LOOPS)
"""A speed-up of 1.8 at N = 2, and uvloop 1.35 times as fast as asyncio."""
NOISY = threads(noise=0.1, sizings=("weak", "strong"))
FLAT = {("3.14t", "threads", 1): 1.0, ("3.14t", "threads", 2): 1.02}
VOID = threads(variants=COMPUTE, speeds=FLAT)


def judged(study: FakeStudy, *tables: str) -> JudgedClaim:
    """The first of some claims, checked with one study."""
    return judged_by(study.journal, *tables)


@pytest.mark.parametrize(
    ("rule", "word", "reason"),
    [
        ("at_least = 1.5", "holds", "is above 1.50"),
        ("at_least = 2.0", "does not hold", "is below 2.00"),
        ("at_least = 1.8", "inconclusive", "has 1.80 inside"),
        ("at_most = 2.0", "holds", "is below 2.00"),
        ("at_most = 1.5", "does not hold", "is above 1.50"),
        ("at_most = 1.8", "inconclusive", "has 1.80 inside"),
        ("between = [1.6, 2]", "holds", "is between 1.60 and 2.00"),
        ("between = [1.9, 2.1]", "does not hold", "is below 1.90"),
        ("between = [1.2, 1.6]", "does not hold", "is above 1.60"),
        ("between = [1.8, 2.1]", "inconclusive", "has 1.80 inside"),
        ("between = [1.5, 1.8]", "inconclusive", "has 1.80 inside"),
    ],
)
def test_bounds(rule: str, word: str, reason: str) -> None:
    found = judged(MADE, claim(rule))
    interval = "its interval" if word == "inconclusive" else "its whole interval"
    assert (found.word, found.reason) == (word, f"{interval} {reason}")
    (ours,) = found.ours
    assert ours.estimate.point == pytest.approx(1.8, rel=0.01)
    assert found.study == "made"


def test_a_bound_is_reported_in_a_unit_that_can_be_read() -> None:
    found = judged(MADE, claim("at_least = 420e-9", measure="s_per_op"))
    assert found.reason == "its whole interval is above 420 ns"


ABOVE, WITHIN = "its whole interval is above 1.02", "its whole interval is within 2 % of 1"


@pytest.mark.parametrize(
    ("rule", "over", "word", "reason"),
    [
        ("same", "asyncio", "does not hold", ABOVE),
        ("same", "uvloop", "holds", WITHIN),
        ("more", "asyncio", "holds", ABOVE),
        ("more", "uvloop", "does not hold", WITHIN),
        ("less", "asyncio", "does not hold", ABOVE),
        ("less", "uvloop", "does not hold", WITHIN),
    ],
)
def test_the_same_is_what_lies_inside_the_margin(
    rule: str, over: str, word: str, reason: str
) -> None:
    of, other = f"{CELL} loop=uvloop", f"over.loop={over}"
    found = judged(MADE, claim(f"{rule} = true", cell=of, measure=THROUGHPUT, over=other))
    assert (found.word, found.reason) == (word, reason)


def test_what_may_or_may_not_be_the_same_is_inconclusive() -> None:
    told = claim("same = true", measure=THROUGHPUT, over="over.sizing=strong")
    found = judged(NOISY, told)
    assert found.word == "inconclusive"
    assert found.reason == "its interval is not clear of 1 by 2 %"


def test_the_margin_is_the_studys_own() -> None:
    """A difference of 5 % is one, unless the study says that it is none."""
    speeds = {("3.14t", "threads", 2): 1.0, ("3.14", "threads", 2): 1.05}
    asked: dict[str, Any] = {"speeds": speeds, "arms": ("3.14", "3.14t"), "workers": (2,)}
    other = CELL.replace("3.14t", "3.14")
    told = claim("same = true", cell=other, measure=THROUGHPUT, over="over.arm=3.14t")
    assert judged(threads(**asked), told).word == "does not hold"
    assert judged(threads(aa_pairs=True, noise=0.01, **asked), told).word == ("does not hold"), (
        "whatever its noise is"
    )
    found = judged(threads(margin=0.1, **asked), told)
    assert (found.word, found.ours[0].margin.share) == ("holds", 0.1)


@pytest.mark.parametrize(
    ("rule", "others", "word"),
    [
        ("more = true", ["loop=asyncio", "workers=1"], "holds"),
        ("more = true", ["loop=uvloop", "workers=1"], "does not hold"),
        ("at_least = 1.3", ["loop=asyncio", "workers=1"], "holds"),
        ("at_least = 1.5", ["workers=1", "loop=asyncio"], "does not hold"),
        ("between = [1.3, 2]", ["loop=asyncio", "workers=1"], "holds"),
        ("between = [1.3, 1.6]", ["loop=asyncio", "workers=1"], "does not hold"),
    ],
)
def test_a_rule_is_to_hold_of_each_figure(rule: str, others: list[str], word: str) -> None:
    """uvloop does 1.35 times what asyncio does, and with 2 workers 1.8 times what it does alone."""
    over = [f"over.{each}" for each in others]
    found = judged(MADE, claim(rule, cell=f"{CELL} loop=uvloop", measure=THROUGHPUT, over=over))
    assert found.word == word
    assert len(found.ours) == len(others)
    assert all(", over " in figure.what for figure in found.ours)


def test_one_figure_that_is_not_proven_makes_a_claim_inconclusive() -> None:
    over = ["over.workers=1", "over.sizing=strong"]
    found = judged(NOISY, claim("more = true", measure=THROUGHPUT, over=over))
    assert found.word == "inconclusive"
    alone = claim("more = true", measure=THROUGHPUT, over=over[0])
    assert judged(NOISY, alone).word == "holds"


def test_below_six_blocks_there_is_no_verdict() -> None:
    few = threads(blocks=5)
    for rule in ("at_least = 1.5", "at_most = 1.5", "between = [1, 3]"):
        found = judged(few, claim(rule))
        assert (found.word, found.reason) == ("inconclusive", "5 blocks; an interval takes 6")
        assert found.ours


def test_without_a_valid_run_nothing_is_shown() -> None:
    found = judged(threads(change=throttled), claim("at_least = 1.5"))
    assert (found.word, found.reason) == ("inconclusive", "no valid run")
    assert "ours: –, speed-up of echo" in markdown([found])


def test_a_void_study_is_inconclusive() -> None:
    found = judged(VOID, claim("at_least = 1.5"))
    assert found.word == "inconclusive"
    assert found.reason == "the study is void: its controls fail"
    assert found.doubt == "void"


@pytest.mark.slow
def test_all_claims_are_one_family() -> None:
    """What is proven by itself need not be among forty."""
    made = threads(noise=0.02)
    ratio = scaling.figure(
        made.journal, "speedup", {"workload": "echo", "arm": "3.14t", "workers": 2}
    ).estimate
    bound = ratio.low / 1.02 - 1e-9  # the interval is just above the noise
    alone = judged(made, claim(f"at_least = {bound}"))
    assert alone.word == "holds"
    doubtful = [claim("at_least = 1.8", name=f"other-{n}") for n in range(40)]
    among = judged(made, claim(f"at_least = {bound}"), *doubtful)
    assert among.word == "inconclusive"
    assert among.reason == (
        "not significant after Benjamini–Hochberg correction over 41 hypotheses (5 %)"
    )
    assert "after Benjamini–Hochberg correction over the tests of all claims" in markdown([among])


def test_of_several_studies_the_one_with_most_blocks_decides() -> None:
    studies = [threads(name=str(n), blocks=n).journal for n in (6, 9, 7)]
    (found,) = judge(studies, claims(claim("at_least = 1.5")))
    assert (found.study, found.ours[0].estimate.n) == ("9", 9)


def test_a_valid_study_with_fewer_blocks_decides_before_a_void_one() -> None:
    void, sound = replace(VOID, blocks=9), threads(blocks=6, name="sound")
    (found,) = judge([void.journal, sound.journal], claims(claim("at_least = 1.5")))
    assert (found.study, found.word) == ("sound", "holds")


def test_a_ratio_is_what_figure_says() -> None:
    found = judged(MADE, claim("at_least = 1.5", measure=THROUGHPUT, over="over.workers=1"))
    cell = {"workload": "echo", "arm": "3.14t", "workers": 2}
    figure = scaling.figure(MADE.journal, "throughput_per_s", cell, over={"workers": 1})
    np.testing.assert_array_equal(found.ours[0].values, figure.values)
    assert found.ours[0].estimate == median(figure.values, "×")


def test_what_else_builds_differ_in_is_reported() -> None:
    clang = with_(arm("3.14t"), description__python__compiler="Clang 19")
    other = FakeStudy(
        arms=("3.14", "3.14t"),
        workers=(2,),
        blocks=6,
        ticks=4,
        head={"arms": {"3.14": arm("3.14"), "3.14t": clang}},
    )
    free = judged(other, claim("at_least = 1", measure=THROUGHPUT))
    over = judged(other, claim("at_least = 1", measure=THROUGHPUT, over="over.arm=3.14"))
    assert (free.builds_differ, over.builds_differ) == ("", "compiler")
    assert "builds: they also differ in compiler" in markdown([over])
    assert "builds:" not in markdown([free])


def test_a_notebook_gets_a_table() -> None:
    both = ["over.workers=1", "over.loop=uvloop"]
    every = claims(
        claim("at_least = 1.5"),
        claim("more = true", name="row", measure=THROUGHPUT, over=both),
        claim("at_least = 1.5", name="more", cell=CELL.replace("s=2", "s=64")),
    )
    found = table(judge([MADE.journal], every))
    assert found["name"].tolist() == ["twice", "row", "row", "more"]
    assert found["word"].tolist()[0] == "holds"
    assert found["ours"].notna().tolist() == [True, True, True, False]
    first = found.iloc[0]
    assert first["low"] <= first["ours"] <= first["high"]
    assert (first["n"], first["unit"], first["study"]) == (8, "×", "made")


@pytest.mark.parametrize(
    ("rule", "of", "word"),
    [
        ("at_most = 0.5", "processes", "holds"),
        ("at_least = 2", "processes", "does not hold"),
        ("at_least = 0.0001", "processes", "inconclusive"),
        ("at_least = 2", "threads", "holds"),
        ("at_most = 10000", "threads", "inconclusive"),
    ],
)
def test_latencies_that_are_bounds_prove_one_side_only(rule: str, of: str, word: str) -> None:
    """Threads fall behind: their P99 would be higher in a longer window."""
    speeds = {("3.14", "threads"): 200.0, ("3.14", "processes"): 1_000.0}
    behind = FakeServedStudy(
        configurations=list(speeds), answers_per_s=speeds, workers=[1], rates=[600.0], blocks=8
    )
    other = {"threads": "processes", "processes": "threads"}[of]
    cell = f"workload=serve arm=3.14 model={of} workers=1"
    made = claim(rule, cell=cell, measure="latency_p99_s", over=f"over.model={other}")
    found = judged(behind, made)
    assert found.word == word
    assert (word == "inconclusive") == ("are bounds" in found.reason)
