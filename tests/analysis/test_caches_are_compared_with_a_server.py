"""One cache of all threads over processes with a server: each cache, with the CPU time of all."""

import pandas as pd
import pytest

from scaling.journal.record import RunLine, ServiceUse
from scaling.study.questions import CPU_OF_ALL, OVER_SERVER, THROUGHPUT
from tests.support.runs import with_
from tests.support.studies import FakeStudy

SPEEDS = {
    (arm, model, n): speed * n
    for arm, model, speed in (
        ("3.14t", "threads", 1.0),
        ("3.14", "threads", 0.5),
        ("3.14", "processes", 0.1),
        ("3.14", "forked", 0.125),
        ("3.14t", "processes", 0.05),
        ("3.14t", "forked", 0.05),
    )
    for n in (1, 2)
}
PER_OPERATION_S = 1e-3  # of the server


def with_server(run: RunLine) -> RunLine:
    """The run beside a server that uses CPU time in proportion, where its cache is one."""
    if run.cell.parameters.get("cache") != "valkey":
        return run
    assert run.record
    ticks = [worker.ticks for worker in run.record.workers]
    operations = sum(each.operations[-1] - each.operations[0] for each in ticks)
    return with_(run, services={"valkey": ServiceUse(window_cpu_s=PER_OPERATION_S * operations)})


STUDY = FakeStudy(
    variants={
        "cached": [
            {"cache": "dict", "miss_us": 5.0},
            {"cache": "lru_cache", "miss_us": 5.0},
            {"cache": "lru_cache", "miss_us": 50.0},
            {"cache": "valkey", "miss_us": 5.0},
        ]
    },
    arms=("3.14", "3.14t"),
    models=("threads", "processes", "forked"),
    workers=(1, 2),
    blocks=6,
    ticks=4,
    speeds=SPEEDS,
    change=with_server,
)


def over_server(measure: str) -> pd.DataFrame:
    ratios = STUDY.study.ratios
    return ratios[(ratios["question"] == OVER_SERVER) & (ratios["measure"] == measure)]


def test_each_cache_of_threads_is_over_the_strongest_processes_with_a_server() -> None:
    rows = over_server(THROUGHPUT)
    cells = STUDY.study.cells["cell"]
    pairs = list(zip(cells[rows["of"]], cells[rows["over"]], strict=True))
    assert {(of.parameters["cache"], of.workers) for of, _ in pairs} == {
        (cache, n) for cache in ("dict", "lru_cache") for n in (1, 2)
    }
    for of, over in pairs:
        assert (of.arm, of.model) == ("3.14t", "threads")
        assert of.parameters["miss_us"] == over.parameters["miss_us"] == 5.0
        assert (over.parameters["cache"], over.arm) == ("valkey", "3.14")
        assert (over.model, over.workers) == ("forked", of.workers)
    assert rows["ratio"].tolist() == pytest.approx([8.0] * len(rows), rel=0.05)


def test_cpu_time_is_that_of_all_parts() -> None:
    frame = STUDY.frame.set_index(["parameters", "arm", "model", "workers"])
    assert set(over_server(CPU_OF_ALL)["word"]) == {"less"}
    for _, run in frame.iterrows():
        assert run["stack_cpu_s_per_op"] >= run["cpu_s_per_op"]
    beside = frame[frame["cache_cpu_s_per_op"].notna()]
    total = beside["cpu_s_per_op"] + PER_OPERATION_S
    assert beside["stack_cpu_s_per_op"].to_numpy() == pytest.approx(total.to_numpy())
    inside = frame[frame["cache_cpu_s_per_op"].isna()]
    assert (inside["stack_cpu_s_per_op"] == inside["cpu_s_per_op"]).all()
    assert beside["gain_bound"].notna().all()  # the server takes of the cores, too
    assert inside["gain_bound"].isna().all()
