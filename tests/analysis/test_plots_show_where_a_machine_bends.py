"""Slower cores and further NUMA nodes are drawn where workers can no longer do without them."""

import pytest
from matplotlib.figure import Figure

from scaling.journal.record import Machine
from scaling.report.plots.borders import Bend, bends, draw_bends


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (Machine(id="a", physical_cores=2), []),
        (Machine(id="a"), []),
        (Machine(id="a", physical_cores=8, numa_nodes=1, efficiency_cpus=0), []),
        (Machine(id="a", physical_cores=14, efficiency_cpus=8), [Bend(6, "E-cores")]),
        (Machine(id="a", physical_cores=64, numa_nodes=2), [Bend(32, "> 1 NUMA node")]),
        (
            Machine(id="a", physical_cores=24, efficiency_cpus=16, numa_nodes=2),
            [Bend(8, "E-cores"), Bend(12, "> 1 NUMA node")],
        ),
        (
            Machine(id="a", physical_cores=16, efficiency_cpus=8, numa_nodes=2),
            [Bend(8, "E-cores, > 1 NUMA node")],
        ),
        # Nothing but slower cores: they are the machine's only kind.
        (Machine(id="a", physical_cores=4, efficiency_cpus=4), []),
    ],
)
def test_a_machine_says_where_it_bends(machine: Machine, expected: list[Bend]) -> None:
    assert bends(machine) == expected


@pytest.mark.parametrize(("largest", "drawn"), [(4, []), (6, []), (8, [6.5])])
def test_a_bend_is_drawn_only_where_the_curve_goes_beyond_it(
    largest: int, drawn: list[float]
) -> None:
    axes = Figure().subplots()
    axes.set_xticks([1, 2, largest])
    axes.set_xlim(0.6, largest + 0.5)
    draw_bends(axes, [Bend(6, "E-cores")])
    lines = [line for line in axes.get_lines() if line.get_gid() == "bend-E-cores"]
    assert [line.get_xdata()[0] for line in lines] == drawn  # type: ignore[index]
    assert [text.get_text() for text in axes.texts] == ["E-cores"] * len(drawn)
