"""Faults and memory under load take time of their own, which is said before anything is run."""

import pytest

from scaling.base.console import new_console
from scaling.cli.app_steps import AppSteps
from scaling.run.prepare import ChildNeeds
from scaling.study.application import AppAsked


@pytest.mark.parametrize(
    ("interface", "full", "soak_s", "said"),
    [
        ("asgi", False, None, []),
        (
            "asgi",
            True,
            600.0,
            [
                "then 3 faults in threads, processes and forked: about 1 min 12 s",
                "then memory under load: 3 runs of 10 min 00 s, with threads, processes and forked",
            ],
        ),
        ("wsgi", True, None, ["then 3 faults in threads and processes: about 48 s"]),
    ],
)
def test_what_comes_after_the_study_is_said(
    interface: str, full: bool, soak_s: float | None, said: list[str]
) -> None:
    steps = AppSteps(
        asked=AppAsked(application="shop:app", full=full),
        needs=ChildNeeds(),
        flags={},
        requests=(),
        console=new_console(),
        errors=new_console(stderr=True),
        interface=interface,
        soak_s=soak_s,
    )
    assert list(steps.afterwards()) == said
