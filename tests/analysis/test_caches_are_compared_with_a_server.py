"""One cache of all threads over processes with a server: each cache, with the CPU time of all."""

import pytest

from scaling.journal.record import RunLine, ServiceUse
from scaling.report.tables import comparison, models
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
        "compute": [
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


def test_each_cache_of_threads_is_over_the_strongest_processes_with_a_server() -> None:
    found = STUDY.results.ratios.where(OVER_SERVER, THROUGHPUT)
    assert {(each.of.parameters["cache"], each.of.workers) for each in found} == {
        (cache, n) for cache in ("dict", "lru_cache") for n in (1, 2)
    }
    for each in found:
        assert (each.of.arm, each.of.model) == ("3.14t", "threads")
        assert each.of.parameters["miss_us"] == each.over.parameters["miss_us"] == 5.0
        assert (each.over.parameters["cache"], each.over.arm) == ("valkey", "3.14")
        assert (each.over.model, each.over.workers) == ("forked", each.of.workers)
        assert each.point == pytest.approx(8.0, rel=0.05)


def test_cpu_time_is_that_of_all_parts() -> None:
    frame = STUDY.frame.set_index(["parameters", "arm", "model", "workers"])
    found = STUDY.results.ratios.where(OVER_SERVER, CPU_OF_ALL)
    assert found
    assert all(each.verdict.word == "less" for each in found)
    for _, run in frame.iterrows():
        assert run["stack_cpu_s_per_op"] >= run["cpu_s_per_op"]
    beside = frame[frame["cache_cpu_s_per_op"].notna()]
    total = beside["cpu_s_per_op"] + PER_OPERATION_S
    assert beside["stack_cpu_s_per_op"].to_numpy() == pytest.approx(total.to_numpy())
    inside = frame[frame["cache_cpu_s_per_op"].isna()]
    assert (inside["stack_cpu_s_per_op"] == inside["cpu_s_per_op"]).all()
    assert beside["gain_bound"].notna().all()  # the server takes of the cores, too
    assert inside["gain_bound"].isna().all()


def test_table_and_answer_name_the_caches() -> None:
    tables, said = [], []
    for compared in STUDY.results.compared:
        tables += models.SERVERS.grids(compared)
        said += [each.question for each in models.SERVERS.findings(compared)]
        assert not comparison.OTHERS.grids(compared)
    assert len(tables) == 2
    assert [row[1] for row in tables[0].rows] == ["dict\n3.14t\nthreads"] * 2
    assert [row[2] for row in tables[0].rows] == ["valkey\n3.14\nforked"] * 2
    assert any(text.startswith("lru_cache of 2 threads on 3.14t over valkey") for text in said)


def test_a_server_of_a_users_own_has_no_total() -> None:
    def installed(run: RunLine) -> RunLine:
        return with_(run, services={"valkey": ServiceUse()})

    variants = {"compute": [{"cache": "valkey"}]}
    frame = FakeStudy(variants=variants, workers=(1,), blocks=1, change=installed).frame
    assert frame[["stack_cpu_s_per_op", "cache_cpu_s_per_op", "cache_bytes"]].isna().all(axis=None)
