"""An application that cannot be measured is found in a short trial on each build.

What it is, is found out where it will run; what cannot be loaded needs no trial.
"""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scaling.base.errors import UsageError
from scaling.journal.record import Cell, Failure, GilStates, RunLine
from scaling.run import application_trial
from scaling.run.application_trial import interface_of, problem_of, trial_cells
from tests.support.children import environment
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy


@pytest.fixture(scope="module")
def sound() -> RunLine:
    (run,) = FakeServedStudy(
        configurations=(("3.14t", "threads"),), workers=(1,), rates=(0.0,), blocks=1, window_s=0.3
    ).runs
    return run


def failed(sound: RunLine, error: str, **changes: Any) -> RunLine:
    failure = Failure(phase="import", error=error)
    return with_(
        sound, outcome="failed", record__outcome="failed", record__failure=failure, **changes
    )


def test_a_sound_application_has_no_problem_and_the_gil_is_that_of_its_build(
    sound: RunLine,
) -> None:
    assert problem_of(sound) == ""
    gil = GilStates(started=True, imported=True, opened=True, closed=True)
    assert problem_of(with_(sound, cell__arm="3.14", record__process__gil=gil)) == ""


def test_a_failure_has_the_last_words_of_the_application(sound: RunLine) -> None:
    words = "shop has no 'ap'; did you mean app?"
    assert problem_of(failed(sound, f"ApplicationError: {words}")) == words
    stderr = "starting\nno database at db:5432\n"
    said = problem_of(failed(sound, "RuntimeError: startup failed", stderr=stderr))
    assert said == "RuntimeError: startup failed\nits last words: no database at db:5432"
    crashed = with_(sound, outcome="crashed", record=None, load=None, signal=11)
    assert "ended by signal 11" in problem_of(crashed)


def test_an_import_that_turns_the_gil_on_is_named(sound: RunLine) -> None:
    gil = GilStates(started=False, imported=True, closed=True, enabled_by="psycopg2._psycopg")
    said = problem_of(with_(sound, record__process__gil=gil))
    assert "importing psycopg2._psycopg turns the GIL on" in said
    assert "asyncpg" in said


def test_answers_that_are_errors_are_counted(sound: RunLine) -> None:
    samples = ["KeyError: 3"]
    assert sound.record
    workers = [with_(each, error_samples=samples) for each in sound.record.workers]
    errors = with_(
        sound,
        load__completed=10,
        load__errors={"status 500": 90},
        record__workers=workers,
        stderr="Oops\n",
    )
    assert problem_of(errors).startswith("90 % of the requests failed (status 500, KeyError: 3)")
    few = with_(sound, load__completed=90, load__errors={"status 500": 10})
    assert problem_of(few) == ""  # the study counts them


def test_each_build_is_tried_once_with_one_worker() -> None:
    threads, *others = (("3.14t", "threads"), ("3.14", "processes"), ("3.14", "forked"))
    cells = [
        Cell(
            workload="app",
            loop="uvloop",
            arm=arm,
            model=model,
            workers=workers,
            parameters={"rate_per_s": rate, "server": "loops"},
        )
        for arm, model in (threads, *others, ("3.14+mimalloc", "processes"))
        for workers in (1, 2, 4)
        for rate in (0.0, 400.0)
    ]
    tried = [(each.arm, each.model, each.workers) for each in trial_cells(cells)]
    assert tried == [(*threads, 1), ("3.14", "processes", 1)]


# --- loaded --------------------------------------------------------------------------------------

ASGI = "async def app(scope, receive, send): ...\n"
WSGI = "def app(environ, start_response): ...\n"


def found(folder: Path, application: str, module: str, **asked: Any) -> str:
    (folder / "shop.py").write_text(module)
    parameters = {"application": application, "factory": False, "interface": "auto", "budgets": ""}
    cell: Any = SimpleNamespace(arm="3.14t", parameters=parameters | asked)
    arm: Any = SimpleNamespace(program=sys.executable, environment=environment(folder))
    ready: Any = SimpleNamespace(plan=SimpleNamespace(cells=[cell]), arms={"3.14t": arm})
    return interface_of(ready)


@pytest.mark.parametrize(("module", "interface"), [(ASGI, "asgi"), (WSGI, "wsgi")])
def test_its_interface_is_found_whatever_it_prints(
    module: str, interface: str, tmp_path: Path
) -> None:
    printed = "print('hello')\nimport os\nos.write(1, b'\\xff\\n')"
    assert found(tmp_path, "shop:app", module + printed) == interface


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import nothere", "No module named 'nothere' .*\nAdd the package that has nothere with"),
        ("raise ValueError('no key')", "shop cannot be imported: ValueError: no key"),
        ("async def apt(scope, receive, send): ...", "did you mean apt"),
        ("def app(): ...", "add --factory"),
    ],
)
def test_why_it_cannot_be_loaded_is_said(tmp_path: Path, module: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"shop:app on 3.14t: .*{why}"):
        found(tmp_path, "shop:app", module)


@pytest.mark.slow
def test_an_import_that_never_ends_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application_trial, "FIND_OUT_S", 1.0)
    with pytest.raises(UsageError, match="importing it took more than 1 s"):
        found(tmp_path, "shop:app", "import time\ntime.sleep(600)")
