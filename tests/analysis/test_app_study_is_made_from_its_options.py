"""`scaling app` makes a study of an application."""

import hashlib
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from scaling.journal.identity import Identity, identity_of
from scaling.journal.record import SCHEMA, Machine, StudyLine
from scaling.run.app_requests import read_requests_file
from scaling.study.app_options import AppAsked
from scaling.study.application import application_study
from scaling.study.application_note import ApplicationNote
from scaling.study.definition import Study
from scaling.study.file import study_from
from tests.support.plans import flagged


def study(asked: AppAsked, **flags: Any) -> Study:
    file = application_study(asked)
    options = flagged(study=file.values["name"], **flags)
    return study_from(options, running_build="3.14", file=file)


def test_threads_are_compared_with_fresh_and_forked_processes(snapshot: SnapshotAssertion) -> None:
    """What is measured, a line for each entry of the study, and at which Ns; by what is asked."""
    command = "granian shop:app --port {port} --workers {workers}"
    found = {}
    for asked in (
        {},
        {"mixed": 3},
        {"full": True},
        {"command": command},
        {"interface": "wsgi"},
        {"interface": "wsgi", "mixed": 3},
        {"pools": (1, 4)},
        {"budgets": ("db=20", "cache=8")},
    ):
        made = study(AppAsked(application="shop.main:app", **asked))
        assert (made.name, made.controls) == ("app-shop.main", False)
        assert (made.blocks, made.headline_blocks) == (6, 6)
        lines = [
            f"{each.arms} {each.models} {each.loops} {each.workers} {dict(each.parameters)}"
            for each in made.workloads
        ]
        found[str(asked)] = [f"{made.loops} {made.workers}", *lines]
    assert found == snapshot


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


def identity_with(note: ApplicationNote) -> Identity:
    """The identity of the study of one application, on one machine."""
    document = study(AppAsked(application="shop:app", note=note)).document
    machine = Machine(id="0" * 32)
    return identity_of(StudyLine(schema=SCHEMA, name="shop", study=document, machine=machine))
