"""The project's commands: `nox -l` lists them, `nox -s scale-3.14t` runs the study on that build.

No session asks nox for an interpreter, since nox can only take what is there; the package
`scaling.builds.interpreters` finds, downloads or builds it. This file runs on Python 3.10 or newer
with nox's own dependencies.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from scaling.base.errors import ScalingError  # noqa: E402
from scaling.builds import environments, interpreters, uv_tool  # noqa: E402

nox.needs_version = ">=2026.8.10"
nox.options.error_on_missing_interpreters = True
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "tests"]

TESTED = ("3.14", "3.14t")
ANALYSIS = ("3.14", "3.14t", "3.15", "3.13")
"""Where the analysis can run if the build under study has no pandas, the likeliest first."""
FEWEST_TO_COMPARE = 2
PARTS_OF_THE_TESTS = {
    "tests": ["-m", "not measures", "--numprocesses", "auto", "--dist", "loadfile"],
    "tests that measure": ["-m", "measures"],
}
"""What measures has the machine to itself; all else is run before it, a file on each core."""
QUOTING = ("README.md", "results/README.md")
PUBLISHED = "results/published"


def say(line: str) -> None:
    """Print a line at once, also where the output is a pipe."""
    print(line, flush=True)


@contextmanager
def explained(session: nox.Session) -> Iterator[None]:
    """End the session with the message of a `ScalingError` instead of its traceback."""
    try:
        yield
    except ScalingError as error:
        session.error(str(error))


def python_for(session: nox.Session, builds: Sequence[str], group: str) -> dict[str, str]:
    """The Python of an environment with the pins of `group`, for each of `builds`."""
    with explained(session):
        found = interpreters.ensure(builds, say=say)
        return {
            name: str(environments.ensure(one, group=group, say=say).python)
            for name, one in found.items()
        }


def analysis_python(session: nox.Session, builds: Sequence[str], *, pgo: bool) -> str:
    """The Python that runs a study of `builds`: the first one's that has wheels for pandas."""
    with explained(session):
        own = interpreters.ensure(builds, pgo=pgo, say=say)
        for name, one in own.items():
            say(f"{name}: CPython {one.version}, {one.origin}, {one.flags}")
        others = interpreters.survey([interpreters.parse_build(name) for name in ANALYSIS])
        made = environments.ensure_any([*own.values(), *others], group="study", say=say)
        if made is None:
            one = interpreters.ensure(["3.14"], say=say)["3.14"]
            made = environments.ensure(one, group="study", say=say)
        return str(made.python)


def asks_for_pgo(session: nox.Session) -> bool:
    """Whether only interpreters built with PGO will do."""
    return "--pgo" in session.posargs or os.environ.get("SCALING_PGO") == "1"


def run_study(session: nox.Session, builds: Sequence[str], arguments: Sequence[str]) -> None:
    """Run a study of `builds`; options after -- come last and win."""
    options = [option for option in session.posargs if option != "--pgo"]
    pgo = asks_for_pgo(session)
    python = analysis_python(session, builds, pgo=pgo)
    command = [python, "-m", "scaling", "run", *arguments, *options]
    # Ctrl-C is for the study, which ends its child and says how far it has come; nox would kill it
    # after half a second.
    session.run(
        *command,
        env={"SCALING_PGO": "1" if pgo else "0"},
        external=True,
        interrupt_timeout=20,
        terminate_timeout=10,
    )


def scale(build: str) -> Callable[[nox.Session], None]:
    """The session that runs the study on `build`."""

    def session_of(session: nox.Session) -> None:
        output = f"results/scale-{build}"
        named = any(option.startswith("--arm") for option in session.posargs)
        arm = [] if named else ["--arm", build]  # it may be 3.14t+gil
        run_study(session, [build], [*arm, "--preset", "smoke", "--output", output])

    session_of.__doc__ = (
        f"Measure and plot how asyncio scales on {build} (options of `scaling run` after --)."
    )
    return session_of


for version in interpreters.VERSIONS:
    nox.session(name=f"scale-{version}", python=False, default=False)(scale(version))


def run_all(session: nox.Session, commands: Mapping[str, Sequence[str]]) -> None:
    """Run every one of `commands`, also after one that fails, and name those that failed."""
    failed = []
    for name, command in commands.items():
        try:
            session.run(*command, external=True)
        except nox.command.CommandFailed:
            failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session(python=False, default=False)
def compare(session: nox.Session) -> None:
    """Compare GIL and no GIL, threads, processes, interpreters in one go (options after --)."""
    run_study(session, TESTED, ["--study", "compare", "--output", "results/compare"])


@nox.session(python=False, default=False)
def versions(session: nox.Session) -> None:
    """Compare what one event loop costs on every Python here, 3.12 on (options after --)."""
    with explained(session):
        builds = interpreters.present(pgo=asks_for_pgo(session))
    if len(builds) < FEWEST_TO_COMPARE:
        session.error(
            f"there is nothing to compare: {', '.join(builds) or 'no Python'} on PATH, "
            "in uv's store or in pyenv. Get one with: uv python install 3.13"
        )
    named = any(option.startswith("--arm") for option in session.posargs)
    arms = [] if named else ["--arm", ",".join(builds)]
    run_study(session, builds, [*arms, "--study", "versions", "--output", "results/versions"])


@nox.session(python=False, default=False)
def doctor(session: nox.Session) -> None:
    """Say what on this machine will disturb the figures, and what to do about it."""
    python = analysis_python(session, ["3.14t"], pgo=False)
    session.run(python, "-m", "scaling", "doctor", *session.posargs, external=True)


@nox.session(python=False, default=False)
def report(session: nox.Session) -> None:
    """Tell a study on one HTML page (after --: RESULTS, such as results/compare)."""
    python = analysis_python(session, ["3.14t"], pgo=False)
    session.run(python, "-m", "scaling", "report", *session.posargs, external=True)


@nox.session(python=False, default=False)
def quotes(session: nox.Session) -> None:
    """Put every figure in README.md and results/README.md right, from the published results."""
    python = analysis_python(session, ["3.14t"], pgo=False)
    command = [python, "-m", "scaling", "quotes", *QUOTING, "--results", PUBLISHED, "--write"]
    session.run(*command, *session.posargs, external=True)


def run_tests(session: nox.Session, builds: Sequence[str]) -> None:
    """Run the suite on each of `builds`; with options of pytest, in one go and with these."""
    pythons = python_for(session, builds, "tests")
    parts = {"tests": session.posargs} if session.posargs else PARTS_OF_THE_TESTS
    commands = {
        f"{part} on {build}": [python, "-m", "pytest", *options]
        for build, python in pythons.items()
        for part, options in parts.items()
    }
    run_all(session, commands)


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests on both builds, 3.14 and 3.14t (options of pytest after --)."""
    run_tests(session, TESTED)


@nox.session(name="tests-3.14", python=False, default=False)
def tests_with_gil(session: nox.Session) -> None:
    """Run the tests on 3.14 alone."""
    run_tests(session, ["3.14"])


@nox.session(name="tests-3.14t", python=False, default=False)
def tests_free_threaded(session: nox.Session) -> None:
    """Run the tests on 3.14t alone."""
    run_tests(session, ["3.14t"])


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Check style, formatting, imports and types (ruff, import-linter, mypy --strict)."""
    python = python_for(session, ["3.14"], "lint")["3.14"]
    lint_imports = str(Path(python).with_name("lint-imports"))
    commands = {
        "style": [python, "-m", "ruff", "check"],
        "formatting": [python, "-m", "ruff", "format", "--check"],
        "imports": [lint_imports, "--no-cache", "--no-logo"],
        "types": [python, "-m", "mypy"],
    }
    run_all(session, commands)


@nox.session(python=False, default=False)
def notebooks(session: nox.Session) -> None:
    """Execute the notebooks: do they say what is committed? (-- --write stores them anew)."""
    python = python_for(session, ["3.14"], "notebooks")["3.14"]
    command = [python, "notebooks/execute.py", *session.posargs]
    session.run(*command, env={"PYTHONPATH": str(ROOT)}, external=True)


@nox.session(python=False, default=False)
def benchmarks(session: nox.Session) -> None:
    """Measure what the instrument itself costs: ratios, on 3.14 and 3.14t."""
    pythons = python_for(session, TESTED, "tests")
    commands = {
        f"benchmarks on {build}": [python, "-m", "tests.benchmarks", *session.posargs]
        for build, python in pythons.items()
    }
    run_all(session, commands)


@nox.session(name="interpreters", python=False, default=False)
def interpreters_(session: nox.Session) -> None:
    """List the interpreters on this machine that can be studied."""
    with explained(session):
        rows = interpreters.survey()
    for one in rows:
        kind = "free-threaded" if one.free_threaded else "GIL"
        say(
            f"{one.build:6} {one.version:9} {kind:14} {one.origin:6} {one.flags:8} {one.executable}"
        )
    if not rows:
        say("none yet: `nox -s scale-3.14t` gets the one that it needs")


@nox.session(python=False, default=False)
def pins(session: nox.Session) -> None:
    """Compile the pinned requirements anew (scaling/builds/pins) from pyproject.toml."""
    for group in (*environments.OF_CHILDREN, "study", "tests", "lint", "notebooks"):
        alone = ["--group", f"pyproject.toml:{group}"]
        whole = ["pyproject.toml", *([] if group == "study" else ["--group", group])]
        source = alone if group in environments.OF_CHILDREN else whole
        session.run(
            *(uv_tool.binary(), "pip", "compile", "--quiet", "--upgrade", "--universal"),
            *("--generate-hashes", "--no-emit-index-url", "--no-header", "--python-version=3.12"),
            *(*source, "--output-file", f"scaling/builds/pins/{group}.txt"),
            env=uv_tool.environment(),
            external=True,
        )


@nox.session(python=False, default=False)
def build(session: nox.Session) -> None:
    """Build the wheel and the source distribution into dist/."""
    with explained(session):
        command = [uv_tool.binary(), "build", "--quiet", "--python", sys.executable]
        session.run(*command, "--out-dir", "dist", env=uv_tool.environment(), external=True)
