"""A plot over a parameter compares cells that differ in that parameter, and in nothing else."""

import re
from dataclasses import replace
from typing import Any

import pytest

from scaling.report.render.draw import Picture
from scaling.report.view.plots import PLOTS
from tests.support.studies import FakeStudy, Variants

ONE_N = FakeStudy(workers=(1,), blocks=1, ticks=4)
(SWEEP,) = (plot for plot in PLOTS if plot.name == "sweep")


def swept(variants: Variants, **changes: Any) -> dict[str, Picture]:
    study = replace(ONE_N, variants=variants, **changes).study
    return dict(SWEEP.drawn(SWEEP, study))


def values_of(picture: Picture) -> set[str]:
    """The values of the parameter, of one curve."""
    (curve,) = picture.description.split(": ")[1:]
    return {each.rstrip(",.") for each in re.findall(r" at ([\w,]+)", curve)}


def test_one_parameter_is_one_sweep() -> None:
    tasks = (30, 200, 1000)
    (found,) = swept(
        {"spawn": [{"tasks": n, "join": "wait"} for n in tasks], "compute": [{}]}
    ).items()
    name, picture = found
    assert name.split() == ["spawn", "by", "tasks"]
    assert values_of(picture) == {"30", "200", "1000"}


def test_words_are_values_too() -> None:
    rungs = ("lock", "nothing", "global")
    (picture,) = swept({"spawn": [{"join": rung} for rung in rungs]}).values()
    assert values_of(picture) == set(rungs)


def test_of_two_parameters_each_is_swept_at_every_value_of_the_other() -> None:
    ns, joins = (10, 100, 1000), ("wait", "list", "queue")
    found = swept({"gather": [{"fan_out": n, "join": join} for n in ns for join in joins]})
    assert sorted(found) == sorted(
        [f"gather join={join} by fan_out" for join in joins]
        + [f"gather fan_out={n:,} by join" for n in ns]
    )


def test_cells_that_differ_in_two_parameters_are_no_sweep() -> None:
    both = zip((10, 100, 1000), ("wait", "list", "queue"), strict=True)
    assert swept({"gather": [{"fan_out": n, "join": join} for n, join in both]}) == {}


def test_sizings_are_not_mixed() -> None:
    variants = {"echo": [{"connections": n} for n in (8, 64, 512)]}
    found = swept(variants, sizings=("weak", "strong"))
    assert len(found) == 2
    assert all(values_of(picture) == {"8", "64", "512"} for picture in found.values())


@pytest.mark.parametrize("workloads", [("echo", "compute"), ("compute",)])
def test_a_study_without_a_sweep_has_no_such_plot(workloads: tuple[str, ...]) -> None:
    assert swept({name: [{}] for name in workloads}) == {}
