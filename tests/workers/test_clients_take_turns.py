"""Clients of a service that answers at once take turns: they are stopped, it is not."""

import random
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from scaling.journal.record import ServiceUse
from scaling.run import stopping
from scaling.run.alternation import in_turn
from scaling.run.child import Child, Ending, Turn, run_child
from scaling.run.services import Services
from tests.support.children import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.one_build,
    pytest.mark.skipif(not stopping.IS_POSSIBLE, reason=stopping.WHY_NOT),
]

WINDOW_S = 0.5
PARAMETERS: dict[str, Any] = {"pages": 2}

type Done = tuple[Ending, dict[str, ServiceUse]]


@pytest.fixture
def services() -> Iterator[Services]:
    with Services(sys.executable, environment()) as running:
        yield running


def run(services: Services, model: str, turn: Turn | None) -> Done:
    cell = {
        "workload": "scrape",
        "parameters": PARAMETERS,
        "workers": 2,
        "model": model,
        "warmup_s": 0.1,
        "window_s": WINDOW_S,
        "ticks": 8,
        "alternating": turn is not None,
    }
    child = Child(sys.executable, environment())
    with services.during(["site"], PARAMETERS, in_slices=turn is not None) as usage:
        ending = run_child(
            child,
            cell | {"services": usage.urls},
            services_cpu_s=usage.cpu_s,
            watch=usage.watch,
            turn=turn,
        )
    return ending, usage.use()


def test_each_has_a_site_of_its_own_which_is_read_in_slices(services: Services) -> None:
    models = ("threads", "processes")
    done, _ = in_turn([partial(run, services, each) for each in models], WINDOW_S, random.Random(1))
    for ending, used in done:
        assert ending.outcome == "measured", ending.record and ending.record.failure
        assert ending.record
        assert ending.record.in_slices
        for worker in ending.record.workers:
            assert (worker.errors, worker.error_samples) == (0, [])
            assert worker.ticks.operations[-1] > worker.ticks.operations[0]
        site = used["site"]
        assert site.window_cpu_s is not None
        assert site.cpu_s is not None
        assert 0 < site.window_cpu_s < site.cpu_s
        assert site.busy_fraction
        # What was in flight is answered while others have their turn, and no more than that.
        assert ending.out_of_turn_cpu_s is not None
        assert ending.out_of_turn_cpu_s < site.cpu_s
