"""`scaling gate --against OLD` lists what is better, worse and the same, and counts the rest.

With `--details` it lists what is inconclusive, too, and what decides it.
"""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaling.analysis.gate_bounds import choice_of
from scaling.analysis.statistics.hypotheses import OF_HODGES_LEHMANN, POWER, blocks_to_decide
from scaling.analysis.statistics.verdict import judge, unpaired_hypothesis
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine
from tests.support.gates import gated
from tests.support.runs import crashed
from tests.support.served_studies import FakeAppStudy, FakeServedStudy
from tests.support.studies import FakeStudy, threads

CELL = "echo · weak · asyncio · 3.14t · threads · N = "
EXACT = {"noise": 0.003, "ticks": 20}
NOISY = {"noise": 0.03, "ticks": 20, "aa_pairs": True}
OLD = threads(**EXACT)

type Compared = Callable[..., tuple[int, str]]


@pytest.fixture
def compared(tmp_path: Path) -> Compared:
    """Gives exit code and words of the gate of one study against another."""

    def against(now: FakeStudy, then: FakeStudy = OLD, **asked: Any) -> tuple[int, str]:
        return gated(tmp_path, now, against=then, **asked)

    return against


def verdicts(text: str) -> dict[str, list[str]]:
    """The words of the lines of each figure, from the top."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if match := re.match(r"(\S.*?)  +[^A-Z\s]+ → \S+ +.*? {2}(\w+)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


def test_each_figure_has_a_verdict(compared: Compared) -> None:
    code, text = compared(threads(0.8, seed=2, **EXACT))
    assert code == 0, "without a bound it informs"
    assert "no bound was stated" in text
    assert f"{CELL}1" in text
    assert f"{CELL}2" in text
    assert verdicts(text) == {
        "round trips/s": ["worse"] * 2,
        "CPU µs/op": ["worse"] * 2,
        "PSS MiB": ["same"] * 2,
    }
    assert "Since OLD, of 6 figures: 4 worse, 2 same." in text


def test_more_is_better_of_throughput_and_less_of_cpu_time(compared: Compared) -> None:
    found = verdicts(compared(threads(1.3, seed=2, **EXACT))[1])
    assert found["round trips/s"] == found["CPU µs/op"] == ["better"] * 2


def test_what_is_inconclusive_says_how_long_a_run_decides_it(compared: Compared) -> None:
    _, text = compared(threads(0.96, seed=2, **NOISY), threads(**NOISY), details=True)
    undecided = [line for line in text.splitlines() if "inconclusive  " in line]
    assert undecided
    for line in undecided:
        blocks = re.search(r"inconclusive +(?:over )?([\d,]+) blocks(?:, \d+ (?:min|h))?", line)
        assert blocks, line
        assert int(blocks[1].replace(",", "")) > 8
    assert "a verdict has a chance of 80 %" in text


def test_what_is_inconclusive_is_counted(compared: Compared, tmp_path: Path) -> None:
    new = threads(0.97, seed=2, **NOISY)
    summary = tmp_path / "summary.md"
    _, text = compared(new, threads(**NOISY), width=80, summary=summary)
    _, whole = compared(new, threads(**NOISY), width=80, details=True)
    listed, all_of_them = (
        [word for words in verdicts(shown).values() for word in words] for shown in (text, whole)
    )
    assert "same" in listed
    assert "inconclusive" in all_of_them
    assert listed == [word for word in all_of_them if word != "inconclusive"]
    count = all_of_them.count("inconclusive")
    assert f"{count} inconclusive. --details lists all of them." in " ".join(text.split())
    assert "--details" not in whole
    assert "to decide" not in text.lower()
    assert "| inconclusive" not in summary.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 80


def test_many_cells_of_one_study_alone_are_counted(compared: Compared) -> None:
    new = threads(seed=2, workers=(1, 2, 3, 4, 5, 6), **EXACT)
    assert "Not in OLD, and not compared with it: 4 cells." in compared(new)[1]
    assert f"{CELL}6." in " ".join(compared(new, details=True)[1].split())


@pytest.mark.parametrize(
    ("ratio", "margin", "scatter"), [(0.93, 0.02, 0.03), (1.1, 0.05, 0.06), (1.0, 0.03, 0.04)]
)
def test_so_many_blocks_decide_it_as_often_as_forecast(
    ratio: float, margin: float, scatter: float
) -> None:
    """The rule of all verdicts, on made runs whose scatter is known."""
    rng = np.random.default_rng(17)
    long, base = (np.exp(rng.normal(m, scatter, 100_000)) for m in (math.log(ratio), 0.0))
    of_both = math.hypot(*(float(np.std(np.log(each))) for each in (long, base)))
    blocks = int(blocks_to_decide(of_both, ratio, margin, e=OF_HODGES_LEHMANN))
    decided = 0
    for _ in range(200):
        ours, theirs = (np.exp(rng.normal(m, scatter, blocks)) for m in (math.log(ratio), 0.0))
        (found,) = judge([unpaired_hypothesis(ours, theirs, margin)])
        decided += found.verdict.word != "inconclusive"
    assert POWER - 0.1 < decided / 200 < 0.96


def test_no_number_of_blocks_decides_a_ratio_at_the_margin() -> None:
    assert blocks_to_decide(0.1, 1.02, 0.02) > 1e6
    assert blocks_to_decide(0.1, 1.0, 0.0) == math.inf
    assert math.isnan(blocks_to_decide(math.nan, 0.5, 0.02))
    for ratio, margin in itertools.product((1.1, 1.5, 30.0), (0.02, 0.3, 2.0)):
        needed = blocks_to_decide(0.1, ratio, margin)
        assert needed == pytest.approx(blocks_to_decide(0.1, 1 / ratio, margin))
        assert math.isfinite(needed)


def test_below_six_blocks_the_forecast_is_six_or_more(compared: Compared) -> None:
    old, new = (threads(blocks=3, seed=seed, **EXACT) for seed in (1, 2))
    _, text = compared(new, old, details=True)
    blocks = re.findall(r"inconclusive +(\d+) blocks", text)
    assert blocks
    assert min(map(int, blocks)) >= 6


def test_a_void_study_changes_nothing(compared: Compared) -> None:
    flat = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
    void = threads(variants={"compute": [{}], "echo": [{"payload_bytes": 1024}]}, speeds=flat)
    _, text = compared(threads(0.5, **EXACT), void, details=True)
    assert {word for words in verdicts(text).values() for word in words} == {"inconclusive"}
    assert "OLD is void" in text


def test_what_crashes_now_is_named(compared: Compared) -> None:
    def crash(run: RunLine) -> RunLine:
        return crashed(run) if run.cell.workers == 2 else run

    assert f"No valid run in RESULTS: {CELL}2." in compared(threads(change=crash))[1]


def test_the_cells_can_be_chosen(compared: Compared) -> None:
    new = threads(seed=2, **EXACT)
    _, text = compared(new, wanted=choice_of({}, ["2"]), details=True)
    assert f"{CELL}2" in text
    assert f"{CELL}1" not in text
    with pytest.raises(UsageError, match="--loop uvloop: not in this study, which has asyncio"):
        compared(new, wanted=choice_of({"loop": ["uvloop"]}, None))


def test_the_summary_has_the_same_table(compared: Compared, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    compared(threads(0.8, seed=2, **EXACT), summary=summary)
    written = summary.read_text(encoding="utf-8")
    rows = [line for line in written.splitlines() if line.startswith(f"| {CELL}")]
    assert [row.strip(" |").split(" | ")[4] for row in rows] == ["worse", "worse", "same"] * 2
    assert "4 worse, 2 same" in written


def test_an_application_is_compared_at_its_peak_and_at_its_rates(compared: Compared) -> None:
    new = FakeAppStudy(seed=3, answers_per_s={("3.14t", "threads"): 1_300.0})
    code, text = compared(new, FakeAppStudy(), wanted=choice_of({"arm": ["3.14t"]}, None))
    assert code == 0
    found = verdicts(text)
    assert found["requests/s"] == ["better", "better"]
    assert found["CPU µs/op"] == ["better"] * 4
    assert found["P99 ms"] == ["better", "better"]
    assert found["PSS MiB"] == ["same"] * 4


def test_a_study_of_a_schedule_alone_is_compared(compared: Compared) -> None:
    """Its throughput cannot be checked, but its latency has a verdict."""
    old, new = (FakeAppStudy(seed=seed, rates=(400.0,)) for seed in (1, 2))
    code, text = compared(new, old, details=True)
    assert code == 0
    assert "requests/s" not in verdicts(text)
    assert "P99 ms" in verdicts(text)


def at_objective(speed: float, *rates: float, seed: int = 1) -> FakeServedStudy:
    """One worker that answers `speed` requests/s, at a grid of rates; P99 is to be below 20 ms."""
    return FakeServedStudy(
        configurations=(("3.14t", "threads"),),
        answers_per_s={("3.14t", "threads"): speed},
        workers=(1,),
        rates=rates,
        blocks=8,
        seed=seed,
        options={"slo": ["p99<20ms"]},
    )


def test_capacities_at_an_objective_are_compared(compared: Compared) -> None:
    rates = (400.0, 700.0, 900.0, 1_200.0, 1_600.0)
    old, new = at_objective(1_000.0, *rates), at_objective(1_300.0, *rates, seed=2)
    _, text = compared(new, old)
    assert "serve · weak · asyncio · 3.14t · threads · N = 1 · p99<20ms" in text
    assert verdicts(text)["capacity/s"] == ["better"]


def test_a_capacity_beyond_the_rates_proves_nothing(compared: Compared) -> None:
    rates = (200.0, 400.0)
    old, new = at_objective(1_000.0, *rates), at_objective(1_300.0, *rates, seed=2)
    _, text = compared(new, old, details=True)
    (line,) = (line for line in text.splitlines() if "capacity/s" in line)
    assert "≥ 400 → ≥ 400" in line
    assert "inconclusive  a capacity lies outside the rates" in line


def test_p99_of_a_server_that_fell_behind_is_a_bound_and_proves_nothing(compared: Compared) -> None:
    old, new = at_objective(1_000.0, 1_600.0), at_objective(1_300.0, 1_600.0, seed=2)
    _, text = compared(new, old, details=True)
    (line,) = (line for line in text.splitlines() if "P99 ms" in line)
    assert re.search(r"≥ [\d,]+ → ≥ [\d,]+ +– +inconclusive +a server fell behind", line)
