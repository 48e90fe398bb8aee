"""Studies of the full stack show what each part needs for a request."""

import pytest

from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine, ServiceUse
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy

PER_REQUEST_S = {"nginx": 2e-3, "pgbouncer": 1e-3, "postgres": 3e-3}
LIGHT, HEAVY = "starlette/loops", "flask/gunicorn-gthread"

# What a generator saw of some closed loop.
LOAD = (
    FakeServedStudy(
        configurations=[("3.14", "processes")], workers=[1], rates=[0], blocks=1, window_s=2.0
    )
    .runs[0]
    .load
)


def with_services(run: RunLine) -> RunLine:
    """The run with services that use CPU time in proportion to the requests, without a proxy for
    the light stack.
    """
    assert run.record
    ticks = [worker.ticks for worker in run.record.workers]
    requests = sum(each.operations[-1] - each.operations[0] for each in ticks)
    used = dict(PER_REQUEST_S)
    if run.cell.parameters["stack"] == LIGHT:
        del used["nginx"]
    services = {name: ServiceUse(window_cpu_s=each * requests) for name, each in used.items()}
    return with_(run, services=services, load=LOAD)


STUDY = FakeStudy(
    variants={
        "web": [
            {"stack": LIGHT, "proxy": "none", "pooler": "pgbouncer"},
            {"stack": HEAVY, "proxy": "nginx", "pooler": "pgbouncer"},
        ]
    },
    arms=("3.14",),
    models=("processes",),
    workers=(1, 2),
    blocks=6,
    ticks=4,
    change=with_services,
)


def per_request_s(study: Study, stack: str, part: str) -> float | None:
    (cell,) = (
        at
        for at, each in enumerate(study.cells["cell"])
        if each.parameters["stack"] == stack and each.workers == 2
    )
    row = study.estimate(cell, f"{part}_cpu_s_per_op".lstrip("_"))
    return float(row["point"]) if row else None


@pytest.mark.parametrize(("stack", "around_s"), [(LIGHT, 4e-3), (HEAVY, 6e-3)])
def test_the_parts_add_up_to_the_total(stack: str, around_s: float) -> None:
    study = STUDY.study
    application = per_request_s(study, stack, "")
    parts = ("proxy", "pooler", "database")
    found = {part: per_request_s(study, stack, part) for part in parts}
    assert found["proxy"] == (pytest.approx(2e-3, rel=0.05) if stack == HEAVY else None)
    assert found["pooler"] == pytest.approx(1e-3, rel=0.05)
    assert found["database"] == pytest.approx(3e-3, rel=0.05)
    total = per_request_s(study, stack, "stack")
    assert application is not None
    assert total == pytest.approx(application + around_s, rel=0.05)
