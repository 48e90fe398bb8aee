"""`scaling app`: your own application as N event loops in threads, or as N processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
    requirements_file,
    shown,
)
from scaling.study.app_options import LOAD, YOURS, AppAsked
from scaling.study.application_note import ApplicationNote
from scaling.study.definition import OPTIONS, Options, declared
from scaling.study.kinds import BYTES, share_between

if TYPE_CHECKING:
    from scaling.cli.app_steps import AppSteps
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
    'Requests, one JSON object a line: {"method": "POST", "path": "/a", "json": {}}. Other keys: '
    "headers, body, status, weight, save, websocket, send, receive. Or a browser's .har file, or "
    "openapi: the GET paths of its own schema. By default GET / alone."
)
OF_CHECK = (
    "Only check its answers on several loops and in processes (exit code 1 if wrong), or measure "
    "it unchecked. By default it is checked, then measured."
)
OF_TOLERATE = (
    "Most throughput that threads may lose over processes, 5%: exit code 0 if they lose no more, "
    "1 if they do, 3 if that is open."
)

# Variables of these names are the study's own.
RESERVED = "SCALING_"


@Parameter(name="*", group=heading(YOURS))
@dataclass(frozen=True, kw_only=True)
class Needed:
    """What the application needs to be imported."""

    path: Annotated[Path, DIR] = HERE
    """Folder that the application is imported from."""
    with_: Annotated[tuple[str, ...], REQUIREMENT] = ()
    """What it needs, as for pip."""
    with_requirements: Annotated[tuple[Path, ...], FILE] = ()
    """A requirements file, as for pip."""
    python_gil: Annotated[Path | None, PYTHON] = None
    """Python of an environment with the GIL."""
    python_ft: Annotated[Path | None, PYTHON] = None
    """Python of a free-threaded environment."""
    env: Annotated[tuple[str, ...], Parameter(metavar="NAME=VALUE")] = ()
    """An environment variable for it."""

    def in_full(self) -> "ChildNeeds":
        """The same, with every path in full.

        Raises:
            UsageError: a file, a folder or an interpreter is not there, or a variable is ours.
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
class Sent:
    """Which requests it gets, and whether its answers are checked."""

    requests: Annotated[Path | None, FILE, Parameter(help=OF_REQUESTS)] = None
    host: Host = ""
    check: Annotated[bool | None, Parameter(help=OF_CHECK, negative="--no-check")] = None


@Parameter(name="*", group=heading(SHOWN))
@dataclass(frozen=True, kw_only=True)
class Printed:
    """What is printed and written."""

    memory: Annotated[float | None, shown(BYTES, group=SHOWN)] = None
    """Print how many workers fit into this: 2GiB."""
    tolerate: Annotated[float | None, shown(share_between(0, 1), OF_TOLERATE, group=SHOWN)] = None
    as_json: Json = False
    write: Annotated[Path | None, Parameter(metavar="serve.py")] = None
    """Also write a program that serves it as N loops in threads."""
    output: Output = None


@command(70, "app shop.main:app --path src --requests requests.jsonl")
def app(
    application: Annotated[str, Parameter(name="MODULE:NAME")],
    /,
    *,
    needed: Needed = Needed(),
    loaded: Loaded = NOTHING,
    sent: Sent = Sent(),
    show: Printed = Printed(),
    effort: Effort = NOTHING,
) -> None:
    """Measure your own application: threads without the GIL, or processes? About ten minutes.

    Args:
        application: The application: shop.main:app.
    """
    from scaling.report.gate import tolerated
    from scaling.report.output import finish
    from scaling.report.view.application import fitting
    from scaling.report.view.deploy import require_new, write_program

    if sent.check and loaded.get("full"):
        raise UsageError("--check measures nothing: leave out --full")
    if show.write:
        require_new(show.write)
    steps = _steps(AppAsked(application=application, **loaded), needed, sent, effort, show)
    if show.write and steps.interface:  # else it cannot be loaded, which is reported below
        factory = steps.asked.factory
        write_program(show.write, steps.interface, application, factory=factory)
    if sent.check:
        _finish_check(steps.check(), show.output, as_json=show.as_json)
    measured = steps.measure(show.output, checked=sent.check is None)
    study = finish(measured, steps.console, json_to=new_console() if show.as_json else None)
    if show.memory:
        say(steps.console, fitting(study, show.memory))
    if show.tolerate is not None:
        raise SystemExit(tolerated(study, show.tolerate, steps.console))


def _steps(
    asked: AppAsked, needed: Needed, sent: Sent, effort: Mapping[str, Any], show: Printed
) -> "AppSteps":
    """The steps, with what only the application itself knows: its interface, its own schema."""
    from scaling.cli.app_steps import AppSteps
    from scaling.run.app_requests import read_requests_file
    from scaling.run.openapi import OPENAPI

    errors = new_console(stderr=True)
    needs = needed.in_full()
    of_schema = sent.requests == Path(OPENAPI)
    requests: Sequence[Mapping[str, Any]] = ()
    note = None
    if sent.requests and not of_schema:
        requests, note = read_requests_file(sent.requests, partial(say, errors), sent.host)
    asked = replace(asked, note=ApplicationNote.of(note, needs.variables))
    if needs.pythons:
        gil, free = needs.pythons
        asked = replace(asked, builds=(gil, free))
    steps = AppSteps(
        asked=asked,
        needs=needs,
        options=Options(said=effort),
        requests=requests,
        console=errors if show.as_json else new_console(),
        errors=errors,
    ).known()
    return steps.with_schema() if of_schema else steps


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
            raise UsageError(f"--env {name}: the study sets such variables: leave it out")
        found[name] = value
    return found


def _pythons(gil: Path | None, free: Path | None) -> dict[str, Path]:
    """The given interpreters by their builds, that with the GIL first; empty if none are given."""
    from scaling.builds.cpython import inspect

    if gil is None and free is None:
        return {}
    if gil is None or free is None:
        raise UsageError("--python-gil and --python-ft: give both, or neither")
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
            f"--python-gil is {found[0].version} and --python-ft is {found[1].version}: the ratio "
            f"of two versions is not that of two builds. Give the same version of both"
        )
    # Not the file behind the link: a link is what makes an environment one.
    return {found[0].build: gil.absolute(), found[1].build: free.absolute()}
