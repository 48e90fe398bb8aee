"""The child gets the work in flight over all workers: it grows under weak sizing only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.machine.topology import Topology
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from tests.support.descriptions import description
from workers.cell import Cell as ChildCell
from workers.cell import read_cell


def plan(*flags: str, workers: str = "1,2,4", arm: str = "3.14t") -> Plan:
    text = "[[workloads]]\nname = 'echo'\n[[workloads]]\nname = 'compute'"
    options = Options(workers=(workers,), set=flags, sizing=("weak,strong",), arm=(arm,))
    study = study_from(
        options, running_build="3.14t", load_file=lambda name: read_study(text, name)
    )
    return make_plan(study, {arm: description()}, Topology(logical_cpus=2, physical_cores=2))


@given(
    st.lists(st.integers(1, 64), min_size=1, max_size=6, unique=True),
    st.integers(1, 100),
)
def test_weak_grows_with_the_workers_and_strong_stays_at_the_most_that_weak_has(
    workers: list[int], connections: int
) -> None:
    made = plan(f"echo.connections={connections}", workers=",".join(map(str, workers)))
    for cell in made.cells:
        total = made.in_flight(cell)
        if cell.workload == "compute":
            assert total is None
        elif cell.sizing == "weak":
            assert total == connections * cell.workers
        else:
            assert total == connections * max(workers)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=6, unique=True), st.integers(1, 100))
def test_what_the_child_deals_out_is_even_and_sums_to_the_total(
    workers: list[int], connections: int
) -> None:
    made = plan(f"echo.connections={connections}", workers=",".join(map(str, workers)))
    for cell in made.cells:
        child = read_cell(made.document(cell, ticks=20))
        shares = [child.share(index) for index in range(child.workers)]
        known = [share for share in shares if share is not None]
        assert len(known) == (child.workers if cell.workload == "echo" else 0)
        if known:
            assert sum(known) == made.in_flight(cell)
            assert max(known) - min(known) <= 1
            assert min(known) >= 1


def test_the_child_understands_the_document_and_gets_what_was_planned() -> None:
    made = plan("echo.payload_bytes=256", workers="2", arm="3.14t+nogc")
    (cell,) = [cell for cell in made.cells if (cell.workload, cell.sizing) == ("echo", "strong")]
    document = made.document(cell, services={"site": ["http://127.0.0.1:1"]}, ticks=10)
    assert read_cell(document) == ChildCell(
        workload="workers.workloads.echo:Echo",
        parameters={
            "connections": 8,
            "payload_bytes": 256,
            "api": "protocol",
            "work_us": 0.0,
            "tls": False,
        },
        loop="asyncio",
        model="threads",
        workers=2,
        in_flight=16,
        warmup_s=0.3,
        window_s=1.0,
        ticks=10,
        gc=False,
        services={"site": ["http://127.0.0.1:1"]},
    )


def test_flags_are_typed_by_the_description_and_sweep() -> None:
    made = plan("echo.payload_bytes=256,1024", "echo.work_us=10", "echo.tls=true", workers="1")
    swept = [cell.parameters for cell in made.cells if cell.workload == "echo"]
    assert [
        (each["payload_bytes"], each["work_us"], each["tls"], type(each["work_us"]))
        for each in swept[:2]
    ] == [(256, 10.0, True, float), (1024, 10.0, True, float)]


@pytest.mark.parametrize("flags", [("echo.connections=1,4", "echo.connections=1"), ()])
def test_a_cell_that_is_asked_for_twice_is_there_once(flags: tuple[str, ...]) -> None:
    text = "[[workloads]]\nname = 'echo'\n[[workloads]]\nname = 'echo'"
    options = Options(workers=("1,2,2",), set=flags, controls=False)
    study = study_from(
        options, running_build="3.14t", load_file=lambda name: read_study(text, name)
    )
    made = make_plan(study, {"3.14t": description()}, Topology(logical_cpus=2))
    assert len(made.cells) == 2 * (2 if flags else 1)


def test_a_whole_number_in_a_file_is_one_for_a_parameter_that_takes_fractions() -> None:
    text = "[[workloads]]\nname = 'echo'\nparameters = { work_us = 10 }"
    study = study_from(
        Options(workers=("1",), controls=False),
        running_build="3.14t",
        load_file=lambda name: read_study(text, name),
    )
    (cell,) = make_plan(study, {"3.14t": description()}, Topology(logical_cpus=2)).cells
    assert (cell.parameters["work_us"], type(cell.parameters["work_us"])) == (10.0, float)
