"""`scaling app`: your own application as N event loops in threads, or as N processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

from cyclopts import Parameter

from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.cli.program import (
    DIR,
    FILE,
    HERE,
    REQUIREMENT,
    Host,
    Json,
    Output,
    command,
    flags,
    folder,
    heading,
    of_kind,
    requirements_file,
)
from scaling.study.app_options import LOAD, YOURS, AppAsked
from scaling.study.definition import OPTIONS, Options, declared
from scaling.study.kinds import BYTES, share_between

if TYPE_CHECKING:
    from scaling.journal.check_file import AppCheck
    from scaling.run.prepare import ChildNeeds

    type Loaded = Mapping[str, Any]
    type Effort = Mapping[str, Any]
else:
    Loaded = flags(declared(AppAsked).values())
    EFFORT = ("workers", "slo", "preset", "blocks", "window_s", "time_s", "seed", "alternate")
    Effort = flags(OPTIONS[key] for key in EFFORT)

SHOWN = "What is shown"
NOTHING: Mapping[str, Any] = {}
PYTHON = Parameter(metavar="PYTHON")
OF_REQUESTS = (
    'A file with one request per line: {"method": "POST", "path": "/a", "json": {}}. Other '
    "keys: headers, body, status, weight, save, websocket, send, receive. Or a .har file of a "
    "browser, or the word openapi: the GET paths of the application's own schema. By default GET / "
    "alone."
)
OF_CHECK = (
    "--check only checks the answers on several loops and in processes (exit code 1 if any is "
    "wrong); --no-check measures without a check. By default the check comes first."
)
OF_TOLERATE = (
    "Most throughput that threads may lose against processes: 5%. Exit code 0 if they lose no "
    "more, 1 if they lose more, 3 if the outcome is open."
)

# Variables whose names begin so are the study's own.
RESERVED = "SCALING_"


@Parameter(name="*", group=heading(YOURS))
@dataclass(frozen=True, kw_only=True)
class Needed:
    """Requirements of the import of the application."""

    path: Annotated[Path, DIR] = HERE
    """Folder that the application is imported from."""
    with_: Annotated[tuple[str, ...], REQUIREMENT] = ()
    """A requirement of the application, as in requirements.txt."""
    with_requirements: Annotated[tuple[Path, ...], FILE] = ()
    """A requirements file of the application."""
    python_gil: Annotated[Path | None, PYTHON] = None
    """The Python of your environment with the GIL."""
    python_ft: Annotated[Path | None, PYTHON] = None
    """The Python of your free-threaded environment."""
    env: Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")] = ()
    """An environment variable of the application."""

    def in_full(self) -> "ChildNeeds":
        """The needs of children, with absolute paths.

        Raises:
            UsageError: there is no such file, folder or interpreter, or a variable is reserved.
        """
        from scaling.run.prepare import ChildNeeds

        return ChildNeeds(
            paths=[str(folder(self.path))],
            requirements=self.with_,
            requirement_files=[str(requirements_file(each)) for each in self.with_requirements],
            pythons=_pythons(self.python_gil, self.python_ft),
            variables=_variables(self.env),
        )


@Parameter(name="*", group=heading(LOAD))
@dataclass(frozen=True, kw_only=True)
class Requests:
    """The requests to the application, and whether its answers are checked."""

    requests: Annotated[Path | None, FILE, Parameter(help=OF_REQUESTS)] = None
    host: Host = ""
    check: Annotated[bool | None, Parameter(help=OF_CHECK, negative="--no-check")] = None


@Parameter(name="*", group=heading(SHOWN))
@dataclass(frozen=True, kw_only=True)
class Printed:
    """Output of the command: text and files."""

    memory: Annotated[float | None, of_kind(BYTES, group=SHOWN)] = None
    """Print how many workers fit into this amount of memory: 2GiB."""
    tolerate: Annotated[float | None, of_kind(share_between(0, 1), OF_TOLERATE, group=SHOWN)] = None
    as_json: Json = False
    write: Annotated[Path | None, Parameter(metavar="serve.py")] = None
    """Also write a program that serves the application as N loops in threads."""
    output: Output = None


@command(70, "app shop.main:app --path src --requests requests.jsonl")
def app(
    application: Annotated[str, Parameter(name="MODULE:NAME")],
    /,
    *,
    needed: Needed = Needed(),
    loaded: Loaded = NOTHING,
    sent: Requests = Requests(),
    show: Printed = Printed(),
    effort: Effort = NOTHING,
) -> None:
    """Measure your own application as threads without the GIL and as processes, in 15 minutes.

    Args:
        application: The application: shop.main:app.
    """
    from scaling.cli.app_steps import steps_of
    from scaling.report.gate import tolerated
    from scaling.report.output import finish
    from scaling.report.view.application import fitting
    from scaling.report.view.deploy import require_new, write_program

    if sent.check and loaded.get("full"):
        raise UsageError("--check measures nothing: leave out --full")
    if show.write:
        require_new(show.write)
    console, options = new_console(stderr=show.as_json), Options(said=effort)
    asked = AppAsked(application=application, **loaded)
    steps = steps_of(asked, needed.in_full(), options, sent.requests, sent.host, console)
    if show.write and steps.interface:  # else it cannot be loaded, which is reported below
        write_program(show.write, steps.interface, application, factory=steps.asked.factory)
    if sent.check:
        _finish_check(steps.check(), show.output, as_json=show.as_json)
    measured = steps.measure(show.output, checked=sent.check is None)
    study = finish(measured, console, json_to=new_console() if show.as_json else None)
    if show.memory:
        say(console, fitting(study, show.memory))
    if show.tolerate is not None:
        raise SystemExit(tolerated(study, show.tolerate, console))


def _finish_check(found: "AppCheck", output: Path | None, *, as_json: bool) -> NoReturn:
    """Print the result of a check, write it into the folder `output`, and exit."""
    import msgspec

    from scaling.journal.check_file import write_check
    from scaling.report.check import finding_lines

    lines = [msgspec.json.encode(found).decode()] if as_json else finding_lines(found)
    for line in lines:
        say(new_console(), line)
    if output:
        write_check(output, found)
    raise SystemExit(0 if found.ok else 1)


def _variables(texts: Sequence[str]) -> dict[str, str]:
    """The variables of `--env`, by name."""
    from scaling.builds.arms import SCRUBBED_PREFIXES

    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            raise UsageError(f"--env {name}: expected NAME=VALUE")
        if name.upper().startswith((*SCRUBBED_PREFIXES, RESERVED)):
            raise UsageError(f"--env {name}: the study sets such variables itself: leave it out")
        found[name] = value
    return found


def _pythons(gil: Path | None, free: Path | None) -> dict[str, Path]:
    """The given interpreters by their builds, that with the GIL first; empty if none are given."""
    from scaling.builds.cpython import inspect

    if gil is None and free is None:
        return {}
    if gil is None or free is None:
        raise UsageError("--python-gil and --python-ft: give both or neither")
    try:
        found = inspect(gil), inspect(free)
    except ScalingError as error:
        raise UsageError(str(error)) from None
    if found[0].free_threaded:
        raise UsageError(f"--python-gil {gil}: this Python is free-threaded ({found[0].build})")
    if not found[1].free_threaded:
        raise UsageError(f"--python-ft {free}: this Python has the GIL ({found[1].build})")
    if found[0].version != found[1].version:
        raise UsageError(
            f"--python-gil is {found[0].version} and --python-ft is {found[1].version}: give two "
            f"builds of one version, or their ratio also shows what the version changed"
        )
    # Not the file behind the link: a link is what makes an environment one.
    return {found[0].build: gil.absolute(), found[1].build: free.absolute()}
