"""A plot over a parameter compares cells that differ in that parameter, and in nothing else."""

import re
from dataclasses import replace
from typing import Any

from scaling.report.view.plots import PLOTS
from tests.support.studies import FakeStudy, Variants

ONE_N = FakeStudy(workers=(1,), blocks=1, ticks=4)
(SWEEP,) = (plot for plot in PLOTS if plot.name == "sweep")
NS, JOINS = (10, 100, 1000), ("wait", "list", "queue")


def swept(variants: Variants, **changes: Any) -> dict[str, set[str]]:
    """The plots of such a study, each with the values at which its one curve is shown."""
    study = replace(ONE_N, variants=variants, **changes).study
    found = {}
    for name, picture in SWEEP.drawn(SWEEP, study):
        (curve,) = picture.description.split(": ")[1:]
        found[" ".join(name.split())] = {
            each.rstrip(",.") for each in re.findall(r" at ([\w,]+)", curve)
        }
    return found


def test_one_parameter_is_one_sweep_over_numbers_or_words() -> None:
    tasks = [{"tasks": n, "join": "wait"} for n in (30, 200, 1000)]
    assert swept({"spawn": tasks, "compute": [{}]}) == {"spawn by tasks": {"30", "200", "1000"}}
    joins = [{"join": rung} for rung in JOINS]
    assert swept({"spawn": joins}) == {"spawn by join": set(JOINS)}


def test_of_two_parameters_each_is_swept_at_every_value_of_the_other() -> None:
    found = swept({"gather": [{"fan_out": n, "join": join} for n in NS for join in JOINS]})
    assert sorted(found) == sorted(
        [f"gather · join={join} by fan_out" for join in JOINS]
        + [f"gather · fan_out={n} by join" for n in NS]
    )


def test_cells_that_differ_in_two_parameters_are_no_sweep() -> None:
    both = zip(NS, JOINS, strict=True)
    assert (
        swept({"gather": [{"fan_out": n, "join": join} for n, join in both]})
        == swept({"echo": [{}], "compute": [{}]})
        == {}
    )


def test_sizings_are_not_mixed() -> None:
    variants = {"echo": [{"connections": n} for n in (8, 64, 512)]}
    found = swept(variants, sizings=("weak", "strong"))
    assert list(found.values()) == [{"8", "64", "512"}] * 2
