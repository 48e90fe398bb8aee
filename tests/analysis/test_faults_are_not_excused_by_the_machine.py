"""Tests of real runs excuse what a machine does to them, and nothing that only our code can do."""

import pandas as pd
import pytest

from tests.support.of_the_machine import is_ours, require_none_is_ours

CAUGHT_ON_A_BUSY_MACHINE = ("mixed-allocator-state", "machine-busy", "not-steady")


@pytest.mark.parametrize(
    ("arm", "reasons"),
    [
        ("3.14", CAUGHT_ON_A_BUSY_MACHINE),
        ("3.14", ("mixed-allocator-state",)),
        ("3.14", ("not-all-busy",)),  # it waited for the GIL
        ("3.14t", ("not-all-busy", "machine-busy", "not-steady")),
        ("3.14t", ("throttled", "clock-stepped")),
    ],
)
def test_what_a_machine_does_is_excused(arm: str, reasons: tuple[str, ...]) -> None:
    assert not is_ours(arm, reasons)


@pytest.mark.parametrize(
    ("arm", "reasons"),
    [
        ("3.14", ("gil-flipped",)),
        ("3.14", ("settings-lost", *CAUGHT_ON_A_BUSY_MACHINE)),
        ("3.14t", ("worker-errors", "machine-busy")),
        ("3.14t", ("not-all-busy",)),  # on a quiet machine
        ("3.14t", CAUGHT_ON_A_BUSY_MACHINE),  # its allocator has no such states
        ("3.14", ("crashed",)),
        ("3.14", ("timed-out",)),
    ],
)
def test_a_fault_of_ours_is_found(arm: str, reasons: tuple[str, ...]) -> None:
    assert is_ours(arm, reasons)
    run = {"workload": "echo", "workers": 2, "loop": "asyncio", "arm": arm, "details": "why"}
    frame = pd.DataFrame([{**run, "valid": False, "reasons": reasons}])
    with pytest.raises(AssertionError, match=f"{arm} +why"):
        require_none_is_ours(frame)
    require_none_is_ours(frame.assign(valid=True))
