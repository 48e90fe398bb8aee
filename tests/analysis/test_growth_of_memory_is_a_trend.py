"""Memory under a long load is a trend with an interval, on page, in JSON and in the answer."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.served.course import growth
from scaling.base.errors import UsageError
from scaling.base.typed import seconds_in
from scaling.journal.beside import SOAK_FILE, SoakRecord
from scaling.report.application import application_json
from scaling.report.page.render import page
from scaling.report.terminal.app_answer import app_lines
from tests.support.served_studies import FakeAppStudy

PARTS = 20


def run(memory_mib: Sequence[float | None], **fields: Any) -> SoakRecord:
    asked = {"arm": "3.14t", "model": "threads", "server": "serve.py", "workers": 2}
    load = {"rate_per_s": 400.0, "duration_s": 600.0, "parts": PARTS, "requests": 240_000}
    return SoakRecord(**{**asked, **load, "errors": 0, "memory_mib": memory_mib, **fields})


def noisy(per_part: float, seed: int) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, 0.3, PARTS)
    memory: list[float] = (60 + per_part * np.arange(PARTS) + noise).tolist()
    return memory


def test_a_leak_is_found_with_its_rate() -> None:
    found = growth(run(noisy(0.5, seed=1)))  # a part is 30 s: 60 MiB an hour
    assert found.point == pytest.approx(60, rel=0.05)
    assert found.low > 0


def test_intervals_hold_no_growth_as_often_as_they_say() -> None:
    found = [growth(run(noisy(0, seed))) for seed in range(200)]
    held = sum(each.low <= 0 <= each.high for each in found)
    assert held / len(found) > 0.90


def test_what_fills_at_first_is_no_growth() -> None:
    assert growth(run([10.0, *[60.0] * (PARTS - 1)])).point == 0


def test_a_run_that_ended_early_has_no_trend_that_is_not_there() -> None:
    assert growth(run([60.0])).n == 0
    assert growth(run([60.0, 61.0, 70.0])).bounds == ""


def test_a_part_that_could_not_be_read_moves_no_other() -> None:
    memory: list[float | None] = [*noisy(0.5, seed=1)]
    memory[7] = memory[15] = None
    assert growth(run(memory)).point == pytest.approx(60, rel=0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_page_json_and_answer_have_it(tmp_path: Path) -> None:
    results = StudyResults.of(FakeAppStudy(blocks=2).read(tmp_path))
    limit = "stopped at the memory limit of 512 MiB"
    leaking = run([60.0, 300.0, 520.0], model="processes", requests=None, errors=None, ended=limit)
    SOAK_FILE.write(tmp_path, [run(noisy(0.5, seed=1)), leaking])
    assert SOAK_FILE.read(tmp_path)[1] == leaking
    assert limit in page(results)
    grows, stopped = json.loads(application_json(results))["soak"]
    assert grows["growth_mib_per_h_low"] > 0
    assert (stopped["ended"], stopped["requests"]) == (limit, None)
    lines = app_lines(results)
    shown = " ".join(" ".join(lines).split())
    assert "MiB after 1 min and 10 min at 400/s (growth per hour): threads 60" in shown
    assert f"processes {limit}" in shown
    rows = [line for line in lines if line.startswith(("3.14t threads", "3.14 ", "3.14+mimalloc "))]
    assert len(rows) >= 3, "threads and what they are compared with have a row each"
    assert any(row.startswith("3.14t threads") for row in rows)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10min", 600), ("1.5 h", 5_400)])
def test_durations_are_read_with_their_unit(text: str, seconds: float) -> None:
    assert seconds_in(text, "--soak") == seconds


@pytest.mark.parametrize("text", ["10", "0s", "-1min", "ten minutes", "5 days"])
def test_a_duration_needs_a_unit(text: str) -> None:
    with pytest.raises(UsageError, match="--soak: expected a duration such as"):
        seconds_in(text, "--soak")
