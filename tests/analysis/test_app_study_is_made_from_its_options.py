"""`scaling app` makes a study of an application; what cannot be is said before anything is made."""

import hashlib
import json
import stat
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scaling.base.errors import UsageError
from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import SCHEMA, Machine, ParameterFacts, StudyLine
from scaling.run.app_requests import read_requests_file
from scaling.study.app_options import AppAsked
from scaling.study.application import application_study
from scaling.study.application_note import ApplicationNote
from scaling.study.definition import Study, declared
from scaling.study.file import study_from
from scaling.study.settle import sweep
from tests.support.cli import Command
from tests.support.plans import flagged

BOTH = ("processes", "forked")
WRONG = {
    "application": (["shop.main"], "expected package.module:name"),
    "path": (["shop:app", "--path", "nowhere"], "no such folder"),
    "lifespan": (["shop:app", "--lifespan", "of"], "Did you mean 'off'?"),
    "no rate": (["shop:app", "--rate", "0"], "expected requests/s above 0"),
    "slo": (["shop:app", "--slo", "p99"], "--slo"),
    "budget": (["shop:app", "--budget", "db"], "as in db=20"),
    "pool": (["shop:app", "--pool", "4,0"], "--pool: expected threads from 1 to 1,000, got 0"),
    "no pool": (["shop:app", "--pool", "4", "--interface", "wsgi"], "served without loops"),
    "pool of all": (["shop:app", "--pool", "4", "--full"], "measure the sizes alone"),
    "health": (["shop:app", "--health", "ready"], "expected a path, such as /ready"),
    "command": (["shop:app", "--command", "uvicorn shop:app"], "has no {port}"),
    "memory": (["shop:app", "--memory", "much"], "such as 2GiB"),
    "mixed": (["shop:app", "--mixed", "1"], "--mixed: expected threads from 2 to 256, got 1"),
    "full check": (["shop:app", "--check", "--full"], "--check measures nothing"),
    "variable": (["shop:app", "--env", "NAME"], "expected NAME=VALUE"),
    "own variable": (["shop:app", "--env", "PYTHONMALLOC=malloc"], "the study sets such variables"),
    "requests": (["shop:app", "--requests", "none.jsonl"], "none.jsonl: No such file"),
    "request": (["shop:app", "--requests", "wrong.jsonl"], "wrong.jsonl, line 2: unknown key"),
    "one python": (["shop:app", "--python-gil", sys.executable], "give both"),
    "python": (["shop:app", "--python-gil", "no", "--python-ft", "no"], "does not run as Python"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_said_in_a_line_or_two(
    case: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "wrong.jsonl").write_text('{"path": "/"}\n{"pth": "/"}\n')
    arguments, said = WRONG[case]
    done = command("app", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def study(asked: AppAsked, **flags: Any) -> Study:
    file = application_study(asked)
    options = flagged(study=file.values["name"], **flags)
    return study_from(options, running_build="3.14", file=file)


def test_threads_are_compared_with_fresh_and_forked_processes() -> None:
    made = study(AppAsked(application="shop.main:app"))
    assert made.name == "app-shop.main"
    threads, processes = (("3.14t",), ("threads",)), (("3.14", "3.14+mimalloc"), BOTH)
    peak, at_rate = ([0.0], ()), (["50%"], (2,))
    assert [
        ((each.arms, each.models), (each.parameters["rate_per_s"], each.workers))
        for each in made.workloads
    ] == list(product([threads, processes], [peak, at_rate]))
    assert (made.blocks, made.headline_blocks) == (6, 6)
    assert (made.workers, made.controls) == ((1, 2), False)


@pytest.mark.parametrize("interface", ["auto", "wsgi"])
def test_mixed_adds_processes_with_threads_at_the_n_of_two_of_them(interface: str) -> None:
    made = study(AppAsked(application="shop.main:app", interface=interface, mixed=3))
    assert made.workers == (1, 2, 6)
    peak, at_rate = made.workloads[-2:]
    for entry in (peak, at_rate):
        assert (entry.arms, entry.models) == (("3.14t",), ("mixed:3", "mixed-forked:3"))
    assert peak.parameters == made.workloads[0].parameters
    assert {each.workers for each in made.workloads} == {(), (6,)}


def test_full_adds_the_grid_the_ladder_and_asyncio() -> None:
    made = study(AppAsked(application="shop.main:app", full=True))
    assert made.workloads[0].parameters["rate_per_s"] == [0.0, "50%", "grid"]
    assert "3.14t+gil" in made.arms
    others = [each for each in made.workloads if "grid" not in each.parameters["rate_per_s"]]
    assert {each.loops for each in others} == {(), ("asyncio",)}
    assert len(made.workloads) - len(others) == 2  # what could be shipped, and nothing else


def test_a_users_command_is_measured_on_both_builds() -> None:
    text = "granian shop:app --port {port} --workers {workers}"
    *_, beside = study(AppAsked(application="shop:app", command=text)).workloads
    assert (beside.parameters["server"], beside.parameters["command"]) == ("command", text)
    assert (beside.arms, beside.models) == (("3.14", "3.14t"), ("processes",))


def test_wsgi_is_served_by_threads_without_loops() -> None:
    made = study(AppAsked(application="shop:app", interface="wsgi"))
    assert made.loops == ("asyncio",)
    assert [
        (each.parameters["server"], each.models, each.arms) for each in made.workloads[::2]
    ] == [
        ("gunicorn-gthread", ("threads",), ("3.14t", "3.14")),
        ("gunicorn-gthread", BOTH, ("3.14", "3.14+mimalloc")),
    ]


def test_a_server_may_be_called_what_1_0_called_it() -> None:
    facts = ParameterFacts(type="str", default="loops", choices=["loops", "gunicorn-gthread"])
    assert sweep(facts, ["gunicorn", "loops"], "server") == ("gunicorn-gthread", "loops")


def test_requests_and_variables_are_part_of_what_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text('{"path": "/a"}\n\n{"path": "/b", "json": "a\u2028b"}\n', encoding="utf-8")
    requests, sent = read_requests_file(file)
    as_json = {"headers": {"content-type": "application/json"}, "body": '"a\\u2028b"'}
    assert requests == [{"path": "/a", "line": 1}, {"path": "/b", **as_json, "line": 3}]
    note = ApplicationNote(requests=sent, environment=("SECRET",), environment_digest="0123abcd")
    document = study(AppAsked(application="shop:app", note=note)).document["application"]
    assert document["requests"] == {"count": 2, "sha256": sent.sha256}
    file.write_text('{"path": "/a"}\n')
    assert read_requests_file(file)[1].sha256 != sent.sha256
    assert json.loads(json.dumps(document)) == document | {"environment": ["SECRET"]}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What follows is done on the machine of this name."""
    return lambda name: monkeypatch.setenv("SCALING_STATE", str(tmp_path / name))


def of_variables(**variables: str) -> ApplicationNote:
    return ApplicationNote.of(None, variables)


def test_values_of_variables_cannot_be_guessed_from_what_is_published(
    machine: Callable[[str], None], tmp_path: Path
) -> None:
    machine("here")
    published = msgspec.json.encode(of_variables(PIN="1234")).decode()
    kept = tmp_path / "here" / "digest-key"
    key = bytes.fromhex(kept.read_text())
    assert len(key) == 32
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert key.hex() not in published
    machine("that of who guesses")  # with the right value, but without the key
    digests = [of_variables(PIN="1234").environment_digest]
    digests += [hashlib.sha256(text).hexdigest() for text in (b"PIN=1234", b"1234")]
    assert not any(digest[:8] in published for digest in digests)


def test_a_changed_value_makes_another_study_and_an_equal_one_does_not(
    machine: Callable[[str], None],
) -> None:
    machine("here")
    first, same, other = (of_variables(PIN=pin) for pin in ("1234", "1234", "1235"))
    assert identity_with(first).fingerprint == identity_with(same).fingerprint
    assert identity_with(first).differences(identity_with(same)) == ()
    (said,) = identity_with(other).differences(identity_with(first))
    assert said == "the study (values of --env)"
    (said,) = identity_with(of_variables(PIN="1234", HOST="")).differences(identity_with(first))
    assert said == "the study (environment)"


@pytest.mark.parametrize("digest", ["", "0123abcd"])
def test_values_with_digests_of_different_keys_are_not_called_different(
    machine: Callable[[str], None], digest: str
) -> None:
    machine("here")
    here = of_variables(PIN="1234")
    machine("there")
    there = of_variables(PIN="1234")
    if digest:  # one of version 1.0, which had no key
        there = ApplicationNote(environment=("PIN",), environment_digest=digest)
    (said,) = identity_with(here).differences(identity_with(there))
    assert said == "the study (perhaps values of --env: their digests have different keys)"


def identity_with(note: ApplicationNote) -> Identity:
    """The identity of the study of one application, on one machine."""
    document = study(AppAsked(application="shop:app", note=note)).document
    machine = Machine(id="0" * 32)
    return identity_of(StudyLine(schema=SCHEMA, name="shop", study=document, machine=machine))


def test_a_budget_is_a_name_and_a_number() -> None:
    made = study(AppAsked(application="shop:app", budgets=("db=20", "cache=8")))
    assert made.workloads[0].parameters["budgets"] == "db=20,cache=8"
    with pytest.raises(UsageError, match="db=0"):
        declared(AppAsked)["budgets"].kind.check(["db=0"], "--budget")
