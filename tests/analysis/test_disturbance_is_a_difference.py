"""What disturbed a run is the difference between two readings, less the run's own work."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from scaling.journal.record import Disturbance
from scaling.machine import disturbance as module
from scaling.machine.disturbance import MachineTimes, disturbance

OURS, ABOVE = Path("slice/ours"), Path("slice")
BEFORE = MachineTimes(
    total_s=1_000, idle_s=600, steal_s=10, throttled_s={OURS: 5.0, ABOVE: 0.0}, load_1m=0.5
)
# 2 CPUs for 4 s: 8 s in all, of which 2 idle and 1 stolen: 5 were worked.
AFTER = MachineTimes(
    total_s=1_008, idle_s=602, steal_s=11, throttled_s={OURS: 5.25, ABOVE: 0.0}, load_1m=1.5
)


def test_fractions_of_all_cpus() -> None:
    assert disturbance(BEFORE, AFTER, ours_cpu_s=3.0) == Disturbance(
        load_1m=1.5, steal_fraction=1 / 8, throttled_s=0.25, other_cpu_fraction=2 / 8
    )


@pytest.mark.parametrize(("ours_cpu_s", "other"), [(0.0, 5 / 8), (5.0, 0.0), (5.01, 0.0)])
def test_our_own_work_disturbs_nobody(ours_cpu_s: float, other: float) -> None:
    assert disturbance(BEFORE, AFTER, ours_cpu_s).other_cpu_fraction == other


def test_a_group_that_throttles_now_is_not_hidden_by_one_that_throttled_more_before() -> None:
    before = replace(BEFORE, throttled_s={OURS: 0.0, ABOVE: 5.0})
    after = replace(AFTER, throttled_s={OURS: 3.0, ABOVE: 5.0})
    assert disturbance(before, after, 3.0).throttled_s == 3.0


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, {OURS: 5.25}), ({OURS: 5.0}, {}), ({}, {}), ({OURS: 5.0}, {ABOVE: 5.25})],
)
def test_what_cannot_be_read_is_blank(before: dict[Path, float], after: dict[Path, float]) -> None:
    seen = disturbance(
        replace(BEFORE, throttled_s=before), replace(AFTER, throttled_s=after, load_1m=None), 3.0
    )
    assert (seen.throttled_s, seen.load_1m) == (None, None)


def test_machine_times_count_everything_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guest time is part of user time, and a field of its own."""
    worked = {"user": 100.0, "nice": 1.0, "system": 50.0, "irq": 2.0, "softirq": 3.0, "steal": 4.0}
    others = {"idle": 800.0, "iowait": 20.0, "guest": 30.0, "guest_nice": 0.5}
    times = psutil.cpu_times()._replace(**worked, **others)
    monkeypatch.setattr(psutil, "cpu_times", lambda: times)
    now = MachineTimes.now()
    assert (now.total_s, now.idle_s, now.steal_s) == (980.0, 820.0, 4.0)


@pytest.mark.parametrize(
    ("stat", "throttled_s"),
    [
        ("usage_usec 9\nnr_periods 3\nnr_throttled 1\nthrottled_usec 1500000\n", 1.5),
        ("nr_periods 3\nnr_throttled 1\nthrottled_time 2500000000\n", 2.5),
        ("usage_usec 9\n", None),
        ("not a table\n", None),
        (None, None),
    ],
    ids=["v2", "v1", "no-quota", "rubbish", "no-file"],
)
def test_throttling_is_read_from_the_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stat: str | None, throttled_s: float | None
) -> None:
    if stat is not None:
        (tmp_path / "cpu.stat").write_text(stat)
    monkeypatch.setattr(module, "cpu_folders", lambda: [tmp_path])
    counted = {} if throttled_s is None else {tmp_path: throttled_s}
    assert MachineTimes.now().throttled_s == counted


def test_a_clock_step_is_the_difference_between_the_clocks() -> None:
    before = replace(BEFORE, clock_offset_s=1_000.0)
    stepped = disturbance(before, replace(AFTER, clock_offset_s=999.25), 3.0)
    assert stepped.clock_step_s == -0.75
    assert disturbance(before, replace(before, clock_offset_s=1_002.0), 0.0).clock_step_s == 2.0
    assert disturbance(BEFORE, replace(AFTER, clock_offset_s=1.0), 3.0).clock_step_s is None


def test_a_reading_of_both_clocks_that_was_interrupted_is_not_used() -> None:
    """Five readings; while the third is taken something comes between, for as long as 0.3 s."""
    now_ns, readings = 0, 0

    def monotonic() -> int:
        nonlocal now_ns, readings
        now_ns += 100
        readings += 1
        return now_ns

    def wall() -> int:
        nonlocal now_ns
        now_ns += 300_000_000 if readings in (1, 5) else 100
        return now_ns + 7_000_000_000

    assert module.clock_offset_s(wall, monotonic) == pytest.approx(7.0, abs=1e-6)
