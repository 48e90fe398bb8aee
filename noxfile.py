"""The project's commands: `nox -l` lists them, `nox -s scale-3.14t` runs the study on that build.

Sessions do not ask nox for an interpreter, because nox only uses installed ones;
`scaling.builds.for_nox` finds, downloads or builds them. This file runs on Python 3.10 or newer
with nox's own dependencies.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from scaling.builds import for_nox  # noqa: E402

nox.needs_version = ">=2026.8.10"
nox.options.error_on_missing_interpreters = True
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "tests"]

TESTED = ("3.14", "3.14t")
FEWEST_TO_COMPARE = 2
REFERENCE = Path("results", "reference.toml")
"""The studies of `nox -s reference`, the most valuable batches first."""
ANALYSIS_ON_3_14T = "tests/analysis/test_scaling_works_on_every_build.py"
"""The analysis is tested on one build; the other shows that it can be imported and used there."""
TEST_FOLDERS = {"3.14": ["tests"], "3.14t": ["tests/workers", ANALYSIS_ON_3_14T]}
"""Marks say which tests are of one build (tests/conftest.py), as those of load generators are."""
BESIDE_OTHERS, ALONE = "not measures and not thorough", "measures and not thorough"
HERE = {
    "app": "Measure your own application in threads and in processes",
    "ready": "Check which packages install on 3.14t and leave the GIL off",
    "doctor": "Report what on this machine disturbs measurements",
    "report": "Write page, plots and tables of a study again",
}
"""Commands of `scaling` for whoever has installed nothing but nox."""
PER_CORE = 2
"""So many tests at a time: some wait for a child while others compute. More of them take longer:
each process collects all tests first, which takes 4 s of CPU time and more."""
WITH_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}
"""Each process would compile all that it imports: pytest its tests, and a hundred of ours."""
MARK = "pytest.mark.measures"


def say(line: str) -> None:
    """Print a line without buffering, so that it also appears at once in a pipe."""
    print(line, flush=True)


@contextmanager
def explained(session: nox.Session) -> Iterator[None]:
    """End the session with the message of a `ScalingError` instead of its traceback."""
    try:
        yield
    except for_nox.ScalingError as error:
        session.error(str(error))


def python_for(session: nox.Session, builds: Sequence[str], group: str) -> dict[str, str]:
    """For each of `builds`, the Python of its environment with the pins of `group`."""
    with explained(session):
        return for_nox.pythons(builds, group, say)


def analysis_python(session: nox.Session, builds: Sequence[str], *, pgo: bool) -> str:
    """The Python that runs a study of `builds`: the first that has wheels for pandas."""
    with explained(session):
        return for_nox.analysis_python(builds, say, pgo=pgo)


def asks_for_pgo(session: nox.Session) -> bool:
    """Whether the user wants interpreters built with PGO."""
    return "--pgo" in session.posargs or os.environ.get("SCALING_PGO") == "1"


def run_study(
    session: nox.Session,
    builds: Sequence[str],
    arguments: Sequence[str],
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a study of `builds`; options after -- come last, so they take precedence."""
    options = [option for option in session.posargs if option != "--pgo"]
    pgo = asks_for_pgo(session)
    python = analysis_python(session, builds, pgo=pgo)
    measure(session, [python, "-m", "scaling", "run", *arguments, *options], pgo, variables)


def measure(
    session: nox.Session,
    command: Sequence[str],
    pgo: bool,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a command that measures, with these variables in its environment."""
    # On Ctrl-C the study ends its child and prints its progress; nox by default would kill it after
    # half a second.
    session.run(
        *command,
        env={"SCALING_PGO": "1" if pgo else "0", **(variables or {})},
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


for version in for_nox.VERSIONS:
    nox.session(name=f"scale-{version}", python=False, default=False)(scale(version))


def run_all(session: nox.Session, commands: Mapping[str, Sequence[str]]) -> None:
    """Run all `commands`, also after one fails; print how long each took and which failed."""
    failed = []
    took_s = {}
    for name, command in commands.items():
        began = time.monotonic()
        try:
            session.run(*command, env=WITH_BYTECODE, external=True)
        except nox.command.CommandFailed:
            failed.append(name)
        took_s[name] = time.monotonic() - began
    say("took " + ", ".join(f"{seconds:.0f} s: {name}" for name, seconds in took_s.items()))
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session(python=False, default=False)
def compare(session: nox.Session) -> None:
    """Compare both builds, and threads with processes and interpreters (options after --)."""
    run_study(session, TESTED, ["--study", "compare", "--output", "results/compare"])


@nox.session(python=False, default=False)
def versions(session: nox.Session) -> None:
    """Compare every Python from 3.12 to 3.15, free-threaded or not (options after --)."""
    named = any(option.startswith("--arm") for option in session.posargs)
    arms = [] if named else every_version(session, pgo=asks_for_pgo(session))
    arguments = [*arms, "--study", "versions", "--output", "results/versions"]
    run_study(session, TESTED, arguments, for_nox.source_first())


def every_version(session: nox.Session, *, pgo: bool) -> list[str]:
    """The options for arms of all Pythons that can be had; the session ends where there is one."""
    with explained(session):
        builds = for_nox.available(say, pgo=pgo)
    if len(builds) < FEWEST_TO_COMPARE:
        session.error(f"nothing to compare: there is {', '.join(builds) or 'no Python'} only")
    return ["--arm", ",".join(builds)]


@nox.session(python=False, default=False)
def reference(session: nox.Session) -> None:
    """Measure and publish the reference studies, with PGO (after --: --list, --help)."""
    asked, studies = reference_studies(session.posargs)
    if asked.list:
        for each in studies:
            say(f"batch {each['batch']}  {each['minutes']:3} min  {each['name']}")
        say(f"{sum(each['minutes'] for each in studies) / 60:.1f} h with one worker and two")
        return
    python = analysis_python(session, TESTED, pgo=False)  # each study makes the builds it needs
    failed = []
    for each in studies:
        try:
            measure_and_publish(session, python, each, asked)
        except nox.command.CommandFailed:
            failed.append(each["name"])
    if failed:
        session.error(f"not published: {', '.join(failed)}. The same command tries again")


def reference_studies(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[dict[str, Any]]]:
    """The options of `nox -s reference`, and the studies of `REFERENCE` that they ask for.

    Raises:
        SystemExit: with code 2 for an unknown option, and where no study is asked for.
    """
    parser = argparse.ArgumentParser(prog="nox -s reference --", allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="print the studies, measure nothing")
    parser.add_argument("--only", metavar="NAME", nargs="+", default=["*"], help="scale outside-*")
    parser.add_argument("--batch", metavar="N", nargs="+", type=int, help="only these batches")
    parser.add_argument("--workers", metavar="N,…", help="for studies without their own: 1,2,cores")
    parser.add_argument("--machine", metavar="NAME", default="this-machine", help="in the results")
    parser.add_argument("--no-pgo", action="store_true", help="measure builds without PGO")
    asked = parser.parse_args(arguments)
    listed = sorted(nox.project.load_toml(REFERENCE)["studies"], key=lambda each: each["batch"])
    names = {each["name"] for each in listed}
    for pattern in asked.only:
        if not fnmatch.filter(names, pattern):
            parser.error(f"--only {pattern}: no such study; --list prints all")
    studies = [
        each
        for each in listed
        if any(fnmatch.fnmatchcase(each["name"], pattern) for pattern in asked.only)
        and (asked.batch is None or each["batch"] in asked.batch)
    ]
    if not studies:
        parser.error("no study is in such a batch; --list prints all")
    return asked, studies


def measure_and_publish(
    session: nox.Session, python: str, study: Mapping[str, Any], asked: argparse.Namespace
) -> None:
    """Measure a study, or resume it, and publish it, unless it is published for this machine.

    Raises:
        CommandFailed: it cannot be measured or published; `scaling` has said why.
    """
    name = study["name"]
    folder = Path("results", "published", asked.machine, name)
    if folder.exists():
        say(f"{name}: published before, in {folder}")
        return
    output = Path("results", "reference", asked.machine, name)
    pgo = study.get("pgo", True) and not asked.no_pgo
    options, variables = ["--output", str(output)], {}
    if study.get("every_version"):
        options += every_version(session, pgo=pgo)
        variables = for_nox.source_first()
    if asked.workers and not study.get("own_workers"):
        options += ["--workers", asked.workers]
    scaling = [python, "-m", "scaling"]
    measure(session, [*scaling, *shlex.split(study["command"]), *options], pgo, variables)
    # A study that could not be resumed, such as one with other builds, was begun anew in NAME-2.
    begun = [output, *output.parent.glob(f"{name}-[0-9]*")]
    newest = max(begun, key=lambda each: (each / "journal.jsonl").stat().st_mtime)
    session.run(*scaling, "publish", str(newest), str(folder), external=True)


def command(name: str, what: str) -> Callable[[nox.Session], None]:
    """The session that runs `scaling NAME` in the folder from which nox was called."""

    def session_of(session: nox.Session) -> None:
        python = analysis_python(session, ["3.14t"], pgo=False)
        with session.chdir(session.invoked_from):
            words = [python, "-m", "scaling", name, *session.posargs]
            measure(session, words, asks_for_pgo(session), {"PYTHONPATH": str(ROOT)})

    session_of.__doc__ = f"{what} (its options after --)."
    return session_of


for name, what in HERE.items():
    nox.session(name=name, python=False, default=False)(command(name, what))


@nox.session(python=False, default=False)
def quotes(session: nox.Session) -> None:
    """Update the pages: figures from published results, reference parts, all studies on one."""
    python = python_for(session, ["3.14"], "tests")["3.14"]
    session.run(python, "-m", "tests.support.pages", external=True)


@nox.session(python=False, default=False)
def claims(session: nox.Session) -> None:
    """Check published claims against the published results; write a page for each machine."""
    python = python_for(session, ["3.14"], "tests")["3.14"]
    session.run(python, "-m", "tests.support.claims", external=True)


def run_tests(session: nox.Session, builds: Sequence[str]) -> None:
    """Run the tests on each of `builds`. With options of pytest: once, with these options alone."""
    pythons = python_for(session, builds, "tests")

    def tests(part: str, options: Callable[[str], Sequence[str]]) -> dict[str, list[str]]:
        return {
            f"{part} on {build}": [python, "-m", "pytest", *options(build)]
            for build, python in pythons.items()
        }

    if session.posargs:
        commands = tests("tests", lambda _: session.posargs)
    else:
        commands = tests("tests", beside_others) | tests("tests that measure", alone)
    run_all(session, commands)


def beside_others(build: str) -> list[str]:
    """The options of pytest for tests that run several at a time."""
    return [*TEST_FOLDERS[build], "-m", BESIDE_OTHERS, *in_parallel(PER_CORE)]


def alone(build: str) -> list[str]:
    """The options for tests that measure memory or time: one at a time, after all others."""
    return [*measuring(TEST_FOLDERS[build]), "-m", ALONE]


def in_parallel(per_core: int) -> list[str]:
    """The options for so many tests at a time on each core."""
    return ["--numprocesses", str(per_core * (os.cpu_count() or 1)), "--dist", "worksteal"]


def measuring(folders: Sequence[str]) -> list[str]:
    """The files in these folders with a test that measures: to collect all others takes 10 s."""
    return [
        str(file.relative_to(ROOT))
        for name in folders
        for file in sorted((ROOT / name).rglob("test_*.py"))
        if MARK in file.read_text(encoding="utf-8")
    ]


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests on 3.14, those of the workers also on 3.14t (options of pytest after --)."""
    run_tests(session, TESTED)


@nox.session(name="tests-3.14", python=False, default=False)
def tests_with_gil(session: nox.Session) -> None:
    """Run the tests on 3.14 only."""
    run_tests(session, ["3.14"])


@nox.session(name="tests-3.14t", python=False, default=False)
def tests_free_threaded(session: nox.Session) -> None:
    """Run the tests on 3.14t only."""
    run_tests(session, ["3.14t"])


@nox.session(python=False, default=False)
def quick(session: nox.Session) -> None:
    """Run the fast tests on 3.14 and check style and imports: less than a minute."""
    python = python_for(session, ["3.14"], "lint")["3.14"]
    marks = "not measures and not slow and not thorough"
    # They wait for nothing, so that more of them than cores at a time would take longer.
    fast = ("-m", marks, *in_parallel(1), "--durations", "5")
    checks = lint_commands(python)
    commands = {name: checks[name] for name in ("style", "formatting", "imports")}
    run_all(session, {**commands, "tests": [python, "-m", "pytest", "-q", *fast, *session.posargs]})


@nox.session(python=False, default=False)
def thorough(session: nox.Session) -> None:
    """Run the tests that show in full what others show in part: every built-in study, say.

    Those that need threads without a GIL run on 3.14t, one at a time, and all others on 3.14. With
    options of pytest: once, on 3.14.
    """
    beside = in_parallel(PER_CORE)
    free_threaded = ("-m", "thorough and free_threaded", *TEST_FOLDERS["3.14t"])
    measure = ("-m", "thorough and measures", *measuring(["tests"]))
    commands = {
        "thorough tests": ("3.14", "-m", "thorough and not measures", *beside),
        "thorough tests that measure": ("3.14", *measure),
        "thorough tests on 3.14t": ("3.14t", *free_threaded),
    }
    if session.posargs:
        commands = {"thorough tests": ("3.14", "-m", "thorough", *session.posargs)}
    pythons = python_for(session, TESTED, "tests")
    run_all(
        session,
        {
            name: [pythons[build], "-m", "pytest", *options]
            for name, (build, *options) in commands.items()
        },
    )


def lint_commands(python: str) -> dict[str, list[str]]:
    """Each check of style and types, by its name."""
    lint_imports = str(Path(python).with_name("lint-imports"))
    return {
        "style": [python, "-m", "ruff", "check"],
        "formatting": [python, "-m", "ruff", "format", "--check"],
        "imports": [lint_imports, "--no-cache", "--no-logo"],
        "types": [python, "-m", "mypy"],
    }


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Check style, formatting, imports and types (ruff, import-linter, mypy --strict)."""
    run_all(session, lint_commands(python_for(session, ["3.14"], "lint")["3.14"]))


@nox.session(python=False, default=False)
def notebooks(session: nox.Session) -> None:
    """Execute the notebooks and compare with their stored output (-- --write replaces it)."""
    python = python_for(session, ["3.14"], "notebooks")["3.14"]
    command = [python, "notebooks/execute.py", *session.posargs]
    session.run(*command, env={"PYTHONPATH": str(ROOT)}, external=True)


@nox.session(python=False, default=False)
def benchmarks(session: nox.Session) -> None:
    """Measure the overhead of the instrument itself on 3.14 and 3.14t."""
    pythons = python_for(session, TESTED, "tests")
    commands = {
        f"benchmarks on {build}": [python, "-m", "tests.benchmarks", *session.posargs]
        for build, python in pythons.items()
    }
    run_all(session, commands)


@nox.session(python=False, default=False)
def faults(session: nox.Session) -> None:
    """Try every fault: what is lost, doubled or left behind (-- a part of its name).

    Drivers run on 3.14. Faults of the child are tried on 3.14t, too.
    """
    pythons = python_for(session, TESTED, "tests")
    session.run(pythons["3.14"], "-m", "tests.faults", *session.posargs, external=True)


@nox.session(name="interpreters", python=False, default=False)
def interpreters_(session: nox.Session) -> None:
    """List the interpreters on this machine that can be studied."""
    with explained(session):
        rows = list(for_nox.here())
    for line in rows:
        say(line)
    if not rows:
        say("none yet: `nox -s scale-3.14t` installs the one that it needs")


@nox.session(python=False, default=False)
def pins(session: nox.Session) -> None:
    """Update the pinned requirements (scaling/builds/pins) from pyproject.toml."""
    for group in (*for_nox.GROUPS_OF_CHILDREN, "study", "tests", "lint", "notebooks"):
        alone = ["--group", f"pyproject.toml:{group}"]
        whole = ["pyproject.toml", *([] if group == "study" else ["--group", group])]
        source = alone if group in for_nox.GROUPS_OF_CHILDREN else whole
        command, environment = for_nox.uv(
            *("pip", "compile", "--quiet", "--upgrade", "--universal"),
            *("--generate-hashes", "--no-emit-index-url", "--no-header", "--python-version=3.12"),
            *(*source, "--output-file", f"scaling/builds/pins/{group}.txt"),
        )
        session.run(*command, env=environment, external=True)


@nox.session(python=False, default=False)
def build(session: nox.Session) -> None:
    """Build the wheel and the source distribution into dist/."""
    with explained(session):
        options = ("--quiet", "--python", sys.executable, "--out-dir", "dist")
        command, environment = for_nox.uv("build", *options)
        session.run(*command, env=environment, external=True)
