"""After whole blocks come blocks of the headline groups alone; all of them are chosen beforehand.

What is printed before a study says how well its headline ratios will be known.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scaling.analysis.forecast import PUBLISHED, announced, forecast, half_width
from scaling.analysis.statistics.intervals import both_ends
from scaling.analysis.tables.study import read
from scaling.journal.record import Description, WorkloadFacts
from scaling.run.time_left import SHARE
from scaling.study.app_options import AppAsked
from scaling.study.application import application_study
from scaling.study.file import study_from
from scaling.study.plan.budget import (
    ENOUGH_HEADLINE,
    FEWEST_WHOLE,
    MOST_BLOCKS,
    RESERVE,
    blocks_in,
    fitted,
)
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.table import cost_of
from scaling.study.presets import FEWEST_FOR_INTERVAL
from scaling.study.questions import OVER_PROCESSES, THROUGHPUT
from tests.support.descriptions import ECHO
from tests.support.driving import Measured, driven
from tests.support.plans import ECHO_FILE, TWO_CORES, flagged, planned
from tests.support.published import FOLDERS, study_of
from tests.support.studies import one, where

MINUTE_S = 60
TURNING = replace(ECHO, alone=None)


def made(blocks: int, headline_blocks: int, facts: WorkloadFacts = TURNING) -> Plan:
    """Threads and processes at two Ns: the group of N = 2 has the headline."""
    text = f"headline_blocks = {headline_blocks}\nblocks = {blocks}\n{ECHO_FILE}"
    return planned(
        text,
        workloads={"echo": facts},
        model=("threads,processes",),
        workers=("1,2",),
        seconds=1.0,
    )


def test_blocks_of_headline_groups_alone_come_after_whole_ones() -> None:
    plan = made(3, 4)
    headline = plan.headline_slots
    (group,) = [group for group in plan.groups if headline[0] in group.slots]
    assert {cell.workers for cell, _ in headline} == {2}
    (elsewhere,) = set(group.slots) - set(headline)  # a pair with a run beside one worker
    assert (elsewhere.cell.workers, elsewhere.repeat) == (1, 1)
    expected = [len(plan.slots)] * 3 + [len(headline)] * 4
    assert [len(plan.block(n)) for n in range(7)] == expected
    assert len(plan.runs) == sum(expected)
    for block in range(3, 7):
        assert {run.slot for run in plan.block(block)} == {*headline}
        assert plan.together(plan.block(block)) == [tuple(plan.block(block))]
    assert plan.study.document["headline_blocks"] == 4
    whole = planned(workers=("1,2",))
    assert "headline_blocks" not in whole.study.document  # and fingerprints are as before
    assert whole.headline_slots == ()  # no ratio of it is in turn
    few, more = cost_of(made(3, 1)), cost_of(plan)
    assert more.total_s - few.total_s == pytest.approx(3 * more.headline_s)
    assert few.total_s == pytest.approx(3 * few.block_s + few.headline_s)
    assert 0 < few.headline_s < few.block_s
    assert abs((1 - RESERVE) * (1 + SHARE) - 1) < 0.005  # enough for disturbed runs


def test_workers_that_are_too_many_for_turns_do_not_become_the_headline() -> None:
    options: Any = {"model": ("threads,processes",), "workers": ("1,2,16",), "seconds": 1.0}
    plan = planned(ECHO_FILE, workloads={"echo": TURNING}, **options)
    assert {cell.workers for cell, _ in plan.headline_slots} == {2}


def test_cells_that_never_take_turns_have_blocks_of_their_headline_too() -> None:
    plan = made(3, 4, replace(ECHO, alone="its service answers while it is stopped"))
    assert all(group.alone for group in plan.groups)
    ends = [(cell.model, cell.workers, repeat) for cell, repeat in plan.headline_slots]
    assert ends == [("threads", 2, 0), ("processes", 2, 0)]
    assert len(plan.block(3)) == 2


# --- how many ---------------------------------------------------------------------------------


@given(st.floats(10, 1e5), st.floats(1, 500), st.floats(0, 1))
def test_blocks_fit_and_the_headline_has_no_fewer(time_s: float, each_s: float, of: float) -> None:
    blocks = blocks_in(time_s, each_s, of * each_s)
    assert sum(blocks) <= MOST_BLOCKS
    needed_s = blocks.whole * each_s + blocks.headline * of * each_s
    assert needed_s <= time_s * (1 + 1e-9) or blocks == (FEWEST_WHOLE, 0)
    more = blocks_in(2 * time_s, each_s, of * each_s)
    assert more.whole >= blocks.whole
    assert sum(more) >= sum(blocks)


def app_plan(here: Description, *, mixed: int | None = None, **options: Any) -> Plan:
    """The plan of `scaling app` on two cores."""
    file = application_study(AppAsked(application="shop.main:app", mixed=mixed))
    study = study_from(
        flagged(study=file.values["name"], **options), running_build="3.14t", file=file
    )
    make = partial(make_plan, descriptions=dict.fromkeys(study.arms, here), topology=TWO_CORES)
    return make(study) if study.time_s is None else fitted(study, study.time_s, TWO_CORES, make)


def test_an_application_has_twelve_blocks_of_its_headline_in_ten_minutes(
    described_here: Description,
) -> None:
    usual, in_ten = app_plan(described_here), app_plan(described_here, time="10min")
    for plan, most_s in ((usual, 11 * MINUTE_S), (in_ten, (1 - RESERVE) * 10 * MINUTE_S)):
        assert plan.study.every_block >= ENOUGH_HEADLINE == 12
        assert cost_of(plan).total_s <= most_s
        (group,) = [each for each in plan.groups if plan.headline_slots[0] in each.slots]
        assert {cell.parameters["rate_per_s"] for cell, _ in group.slots} == {0.0}
    assert usual.study.blocks >= FEWEST_FOR_INTERVAL  # all else has its words, too
    assert in_ten.fitted == (
        "fitted to 10 min 00 s: 3 blocks and 9 of the headline groups alone, no N left out"
    )


def test_a_model_that_does_not_fit_the_time_is_named(described_here: Description) -> None:
    in_ten = app_plan(described_here, mixed=2, time="10min")
    assert in_ten.fitted is not None
    assert in_ten.fitted.endswith(
        "N = 4 left out, and so mixed-forked:2 and mixed:2: more time is needed"
    )
    in_an_hour = app_plan(described_here, mixed=2, time="1h")
    assert "mixed:2" in {cell.model for cell in in_an_hour.cells}


# --- how well it will be known ----------------------------------------------------------------


@pytest.mark.parametrize("blocks", [6, 12, 40])
def test_half_an_interval_is_as_wide_as_simulated_ones_are(blocks: int) -> None:
    rng = np.random.default_rng(1)
    low, high = both_ends(rng.normal(0, 0.03, (blocks, 2_000)), (0.95,))
    simulated = float(np.mean(high - low)) / 2
    assert half_width(0.03, blocks) == pytest.approx(simulated, rel=0.1)


def test_what_is_known_beforehand_is_printed(tmp_path: Path) -> None:
    """By the scatter of published studies, or of an earlier one in the folder."""
    plan = made(8, 6)
    (line,) = forecast(plan, tmp_path / "none")
    words = "2 threads over 2 processes: about ±{:.1f} % after 14 blocks, by the scatter of {}"
    width = 100 * half_width(PUBLISHED["echo"], 14)
    assert line == words.format(width, "published studies")
    assert list(announced(plan, tmp_path))[-1] == line
    assert list(forecast(made(3, 2), tmp_path)) == []  # too few for an interval
    mine = "[[workloads]]\nname = 'mine'"
    unknown = planned(mine, workloads={"mine": TURNING}, model=("threads,processes",), blocks=8)
    assert unknown.headline_slots
    assert list(forecast(unknown, tmp_path)) == []
    driven(plan, tmp_path, Measured(noise=0.1))
    ratios = where(read(tmp_path).ratios, question=OVER_PROCESSES)
    width = 100 * half_width(one(ratios, measure=THROUGHPUT, workers=2)["scatter"], 14)
    assert list(forecast(plan, tmp_path)) == [words.format(width, f"studies in {tmp_path}")]


@pytest.mark.thorough
def test_the_scatter_of_published_studies_is_that_of_their_tables() -> None:
    found: dict[str, list[float]] = {}
    for folder in FOLDERS:
        ratios = study_of(folder).ratios
        asked = where(ratios, question=OVER_PROCESSES, measure=THROUGHPUT, headline=True)
        for row in asked[asked["n"] >= FEWEST_FOR_INTERVAL].to_dict("records"):
            found.setdefault(str(row["workload"]), []).append(row["scatter"])
    for workload, scatter in PUBLISHED.items():
        assert float(np.median(found[workload])) == pytest.approx(scatter, abs=0.0006)
