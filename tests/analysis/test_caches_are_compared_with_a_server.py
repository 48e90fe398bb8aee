"""One cache of all threads is compared with processes that have a server: each cache by itself."""

import pytest

from scaling.study.questions import OVER_SERVER, THROUGHPUT
from tests.support.studies import FakeStudy, where

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
)


def test_each_cache_of_threads_is_over_the_strongest_processes_with_a_server() -> None:
    rows = where(STUDY.study.ratios, question=OVER_SERVER, measure=THROUGHPUT)
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
