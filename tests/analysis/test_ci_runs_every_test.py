"""CI runs every session with tests, and there a test that lacks something fails."""

import inspect
import re
from types import SimpleNamespace
from typing import Any

import nox.registry
import pytest

import noxfile
from tests.support import programs
from tests.support.builds import ON_3_14T, is_of_no_build
from tests.support.children import ROOT

NOT_IN_CI = {
    **dict.fromkeys(("quick", "tests-3.14", "tests-3.14t"), "a part of the session tests"),
    "benchmarks": "it has figures for whoever reads them",
    **dict.fromkeys(("quotes", "claims"), "it writes what tests compare"),
}


def test_every_session_with_tests_is_run_there() -> None:
    sessions = nox.registry.get().items()
    sources = {name: inspect.getsource(session.func) for name, session in sessions}
    own = re.compile(r'"pytest"|"tests\.|\brun_tests\(')
    with_tests = {name for name, source in sources.items() if own.search(source)}
    assert with_tests > NOT_IN_CI.keys()

    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (named,) = re.findall(r"for session in (.*);", ci)
    assert f"export {programs.REQUIRE}=1" in ci
    run = set(named.split())
    for name in ("checks", "weekly"):
        text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
        assert f'{programs.REQUIRE}: "1"' in text
        run |= set(re.findall(r"nox -s ([\w.-]+)", text))
    assert with_tests - NOT_IN_CI.keys() <= run


@pytest.mark.parametrize("required", [True, False])
def test_what_a_machine_lacks_fails_a_test_where_it_is_required(
    required: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *_ = programs.MACHINE
    monkeypatch.setattr(programs, "why_not", lambda _: "not here")
    monkeypatch.setenv(programs.REQUIRE, "1" if required else "")
    mark = pytest.mark.needs(name).mark
    item: Any = SimpleNamespace(iter_markers=lambda _: [mark])
    expected = pytest.fail.Exception if required else pytest.skip.Exception
    with pytest.raises(expected, match=f"needs {name}: not here"):
        programs.require(item)


def test_tests_of_3_14t_are_where_it_looks_for_them() -> None:
    """Others are refused when tests are collected."""
    assert list(ON_3_14T) == noxfile.TEST_FOLDERS["3.14t"]
    workers, analysis = ROOT / "tests/workers/test_a.py", ROOT / "tests/analysis/test_a.py"
    assert is_of_no_build(analysis, {"free_threaded", "slow"})
    assert not is_of_no_build(workers, {"free_threaded", "slow"})
    assert not is_of_no_build(analysis, {"one_build"})
    assert is_of_no_build(workers, {"free_threaded", "one_build"})
