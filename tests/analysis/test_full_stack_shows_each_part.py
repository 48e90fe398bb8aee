"""Studies of the full stack show what each part needs for a request."""

import pytest

from scaling.analysis.tables.study import Study
from scaling.journal.record import RunLine, ServiceUse
from scaling.report.csv import summary
from scaling.report.page import tables_markdown
from scaling.report.view.plots import drawings
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


def test_tables_have_a_column_for_each_part() -> None:
    rows = summary(STUDY.study)
    parts = [
        name
        for name in map(str, rows)
        if "cpu" in name and not name.endswith(("_low", "_high", "_n"))
    ]
    assert len(parts) == 5, "application, proxy, pooler, database, and all together"
    text = tables_markdown(STUDY.study)
    for stack in (LIGHT, HEAVY):
        assert stack in text


def test_the_plot_has_the_parts_of_each_stack_the_least_first() -> None:
    (plot,) = drawings(STUDY.study, "cpu-by-part")
    light, heavy = plot.description.index(LIGHT), plot.description.index(HEAVY)
    assert light < heavy
    for part in ("application", "proxy", "pooler", "database"):
        assert part in plot.description[heavy:]
    assert "proxy 2" not in plot.description[light:heavy]


def test_a_study_without_stacks_has_nothing_of_it() -> None:
    plain = FakeStudy(blocks=1).study
    assert not list(drawings(plain, "cpu-by-part"))
    assert not set(plain.estimates["measure"]) & {"proxy_cpu_s_per_op", "stack_cpu_s_per_op"}
