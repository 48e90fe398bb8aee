"""The noxfile and all that it imports run on Python 3.10 with nox's own dependencies."""

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import nox
import nox.registry
import pytest

import noxfile
from scaling.base.errors import UsageError
from scaling.builds import interpreters
from scaling.builds.cpython import VERSIONS

ROOT = Path(__file__).parents[2]

# nox brings these; `uv` is asked for only where it is there.
ALLOWED = {"nox", "filelock", "packaging", "platformdirs", "uv", "scaling"}
NEWER_THAN_3_10 = {"tomllib", "annotationlib", "compression"}


def imported(tree: ast.Module) -> set[str]:
    """Dotted names of everything that is imported, inside functions too, but for types alone or
    for whoever asks for `scaling.load`.
    """
    later = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
    ]
    left_out = {id(inner) for node in later for inner in ast.walk(node)}
    names = set()
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imported_by_nox() -> list[Path]:
    """The noxfile and all of ours that it imports, and that those import: packages first."""
    found = [ROOT / "noxfile.py"]
    for file in found:  # grows meanwhile
        for name in sorted(imported(ast.parse(file.read_text()))):
            parts = name.split(".") if name.startswith("scaling") else []
            places = [ROOT.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
            candidates = [
                each for at in places for each in (at / "__init__.py", at.with_suffix(".py"))
            ]
            found += [each for each in candidates if each.is_file() and each not in found]
    return found


def test_its_files_are_read_by_3_10_and_import_only_what_nox_brings() -> None:
    files = imported_by_nox()
    names = {str(path.relative_to(ROOT)) for path in files}
    ours = {each for each in imported(ast.parse(files[0].read_text())) if "scaling" in each}
    assert ours == {"scaling.builds.for_nox"}
    assert {"scaling/builds/environments.py", "scaling/builds/interpreters/build.py"} <= names
    for path in files:
        tree = ast.parse(path.read_text(), feature_version=(3, 10))
        annotated = any(
            isinstance(each, (ast.AnnAssign, ast.FunctionDef)) for each in ast.walk(tree)
        )
        assert not annotated or "__future__.annotations" in imported(tree), path
        for name in imported(tree):
            top = name.partition(".")[0]
            assert top in ALLOWED or top in sys.stdlib_module_names, (path, name)
            assert top not in NEWER_THAN_3_10, (path, name)


def test_every_version_has_a_session_and_each_is_explained_in_a_line() -> None:
    found = nox.registry.get()
    named = "compare versions reference doctor report lint quick benchmarks thorough faults pins"
    assert {*(f"scale-{version}" for version in VERSIONS), *named.split(), "build"} <= set(found)
    assert {"tests", "tests-3.14", "tests-3.14t"} <= set(found)
    for name, session in found.items():
        line = (session.__doc__ or "").partition("\n")[0]
        assert line.endswith("."), name
        assert len(f"- {name} -> {line}") <= 100, name
        assert session.python is False, "no session asks nox for an interpreter"


class Session:
    """As much of a nox session as ours use."""

    def __init__(self, *posargs: str, failing: str = "") -> None:
        self.posargs = list(posargs)
        self.failing = failing
        self.commands: list[str] = []
        self.environment: dict[str, str] = {}

    def run(
        self,
        *command: str,
        env: dict[str, str] | None = None,
        external: bool = False,
        **patience_s: float,
    ) -> None:
        assert external
        self.patience_s = patience_s
        self.commands.append(" ".join(command))
        self.environment |= env or {}
        if self.failing and self.failing in command:
            raise nox.command.CommandFailed

    def error(self, message: str) -> None:
        raise SystemExit(message)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], bool]:
    """The builds that were asked for, and whether with PGO; none is made."""
    asked: dict[tuple[str, ...], bool] = {}

    def analysis_python(session: object, builds: Sequence[str], *, pgo: bool) -> str:
        asked[tuple(builds)] = pgo
        return "python"

    monkeypatch.setattr(noxfile, "analysis_python", analysis_python)
    for name in ("SCALING_PGO", "SCALING_INTERPRETERS"):
        monkeypatch.delenv(name, raising=False)
    return asked


def test_a_study_runs_on_its_build_and_takes_options(built: dict[tuple[str, ...], bool]) -> None:
    session = Session("--seconds", "1", "--pgo", "--preset", "default")
    noxfile.scale("3.13t")(session)  # type: ignore[arg-type]
    (command,) = session.commands
    assert command == (
        "python -m scaling run --arm 3.13t --preset smoke --output results/scale-3.13t"
        " --seconds 1 --preset default"
    )
    assert built == {("3.13t",): True}
    assert session.environment == {"SCALING_PGO": "1"}
    # A study that Ctrl-C stops ends its child and says how far it has come: that takes a moment.
    assert all(seconds >= 5 for seconds in session.patience_s.values())
    assert set(session.patience_s) == {"interrupt_timeout", "terminate_timeout"}
    named = Session("--arm=3.14t+gil")  # takes the place of the build
    noxfile.scale("3.14t")(named)  # type: ignore[arg-type]
    assert named.commands[0].count("--arm") == 1


@pytest.mark.usefixtures("built")
def test_versions_are_all_that_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    here = ["3.12", "3.13t", "3.14"]
    monkeypatch.setattr(interpreters, "available", lambda builds, *, pgo, say: here)
    session = Session("--blocks", "8")
    noxfile.versions(session)
    (command,) = session.commands
    assert command == (
        "python -m scaling run --arm 3.12,3.13t,3.14 --study versions --output results/versions"
        " --blocks 8"
    )
    assert session.environment["SCALING_INTERPRETERS"] == "built,found,uv"
    named = Session("--arm", "3.12,3.14")
    noxfile.versions(named)
    assert named.commands[0].count("--arm") == 1
    here[:] = ["3.14"]
    with pytest.raises(SystemExit, match=r"nothing to compare: there is 3\.14 only"):
        noxfile.versions(Session())


def test_the_tests_run_on_both_builds_even_when_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = {"3.14": "python3.14", "3.14t": "python3.14t"}
    monkeypatch.setattr(noxfile, "python_for", lambda session, builds, group: pythons)
    session = Session("-k", "x", failing="python3.14")
    with pytest.raises(SystemExit, match=r"failed: tests on 3\.14$"):
        noxfile.run_tests(session, ["3.14", "3.14t"])  # type: ignore[arg-type]
    assert session.commands == ["python3.14 -m pytest -k x", "python3.14t -m pytest -k x"]
    thorough = Session("-k", "x")  # a command without tests would fail
    noxfile.thorough(thorough)
    assert thorough.commands == ["python3.14 -m pytest -m thorough -k x"]


def test_every_test_is_in_a_part() -> None:
    found = set(noxfile.measuring(["tests"]))
    every = [*(ROOT / "tests").rglob("*.py")]
    marked = {str(file.relative_to(ROOT)) for file in every if noxfile.MARK in file.read_text()}
    assert found == marked
    assert found
    named = [path for folders in noxfile.TEST_FOLDERS.values() for path in folders]
    assert all((ROOT / path).exists() for path in named)
    mark = noxfile.MARK.replace("measures", "free_threaded")
    for file in every:  # what one build leaves out, the other runs
        path = file.relative_to(ROOT)
        if path.name.startswith("test_") and mark in file.read_text():
            assert any(path.is_relative_to(other) for other in noxfile.TEST_FOLDERS["3.14t"])


def test_expected_errors_are_printed_without_a_traceback() -> None:
    with pytest.raises(SystemExit, match="no such build"), noxfile.explained(Session()):  # type: ignore[arg-type]
        raise UsageError("no such build")
