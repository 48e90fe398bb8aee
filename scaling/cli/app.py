"""`scaling app`: your own application as N event loops in threads, or as N processes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.cli import program
from scaling.cli.program import OF_HOST, Texts, folder, requirements_file, takes_flags

if TYPE_CHECKING:
    from scaling.journal.beside import AppCheck

YOURS, LOAD, SHOWN = "The application", "How it is loaded", "What is shown"
EFFORT = (
    *("workers", "slo", "preset", "blocks", "window_s", "time_s", "seed"),
    "alternate",
)

# Variables of these names are the study's own.
RESERVED = "SCALING_"


def _option(*flags: str, text: str, metavar: str | None = None, group: str = YOURS) -> Any:
    return typer.Option(*flags, help=text, metavar=metavar, rich_help_panel=group)


@program.app.command(
    epilog="Example: scaling app shop.main:app --path src --requests requests.jsonl"
)
@takes_flags(*EFFORT)
def app(
    flags: dict[str, Any],
    application: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="The application: shop.main:app.")
    ],
    factory: Annotated[
        bool,
        _option("--factory", text="NAME is a function that makes the application, for each loop."),
    ] = False,
    path: Annotated[
        Path, _option("--path", metavar="DIR", text="Folder that the application is imported from.")
    ] = Path(),
    with_: Annotated[
        Texts, _option("--with", metavar="REQUIREMENT", text="What it needs, as for pip.")
    ] = None,
    with_requirements: Annotated[
        list[Path] | None,
        _option("--with-requirements", metavar="FILE", text="A requirements file, as for pip."),
    ] = None,
    python_gil: Annotated[
        Path | None,
        _option("--python-gil", metavar="PYTHON", text="Python of an environment with the GIL."),
    ] = None,
    python_ft: Annotated[
        Path | None,
        _option("--python-ft", metavar="PYTHON", text="Python of a free-threaded environment."),
    ] = None,
    env: Annotated[
        Texts, _option("--env", metavar="NAME=VALUE", text="An environment variable for it.")
    ] = None,
    interface: Annotated[
        str, _option("--interface", metavar="NAME", text="auto, asgi, aiohttp or wsgi.")
    ] = "auto",
    lifespan: Annotated[
        str, _option("--lifespan", metavar="on|off", text="Whether ASGI lifespans are run.")
    ] = "auto",
    health: Annotated[
        str, _option("--health", metavar="/PATH", text="A path that answers once it is ready.")
    ] = "",
    budget: Annotated[
        Texts,
        _option(
            "--budget",
            metavar="NAME=N",
            text="A limit to divide among workers: db=20. They read a share as SCALING_BUDGET_DB.",
        ),
    ] = None,
    requests: Annotated[
        Path | None,
        _option(
            "--requests",
            metavar="FILE",
            text='Requests, one JSON object a line: {"method": "POST", "path": "/a", "json": {}}. '
            "Other keys: headers, body, status, weight. Or a browser's .har file, or openapi: "
            "the GET paths of its own schema. By default GET / alone.",
            group=LOAD,
        ),
    ] = None,
    host: Annotated[str, _option("--host", metavar="HOST", text=OF_HOST, group=LOAD)] = "",
    rate: Annotated[
        Texts,
        _option(
            "--rate",
            metavar="N,…",
            text="Rates besides the peak: requests/s, 50% of the peak (the default), or grid.",
            group=LOAD,
        ),
    ] = None,
    connections: Annotated[
        int | None,
        _option("--connections", metavar="N", text="Connections per worker.", group=LOAD),
    ] = None,
    pool: Annotated[
        Texts,
        _option(
            "--pool",
            metavar="N,…",
            text="Threads in each loop's pool, for work that blocks (asyncio.to_thread, endpoints "
            "that are not coroutines): compares sizes, as in 1,4,40.",
            group=LOAD,
        ),
    ] = None,
    command: Annotated[
        str,
        _option(
            "--command",
            metavar="TEXT",
            text="Also measure this command, with {port} and {workers} in it.",
            group=LOAD,
        ),
    ] = "",
    full: Annotated[
        bool,
        _option(
            "--full",
            text="Add a grid of rates, asyncio, and what allocator, build and GIL each do.",
            group=LOAD,
        ),
    ] = False,
    check: Annotated[
        bool | None,
        _option(
            "--check/--no-check",
            text="Only check its answers on several loops and in processes (exit code 1 if wrong), "
            "or measure it unchecked. By default it is checked, then measured.",
            group=LOAD,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        _option(
            "--memory",
            metavar="AMOUNT",
            text="Print how many workers fit into this: 2GiB.",
            group=SHOWN,
        ),
    ] = None,
    tolerate: Annotated[
        str | None,
        _option(
            "--tolerate",
            metavar="SHARE",
            text="Most throughput that threads may lose over processes, 5%: exit code 0 if they "
            "lose no more, 1 if they do, 3 if that is open.",
            group=SHOWN,
        ),
    ] = None,
    json: Annotated[
        bool, _option("--json", text="Print the answer as one JSON object.", group=SHOWN)
    ] = False,
    write: Annotated[
        Path | None,
        _option(
            "--write",
            metavar="serve.py",
            text="Also write a program that serves it as N loops in threads.",
            group=SHOWN,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        _option(
            "--output",
            metavar="DIR",
            text="Folder for journal, tables, plots and page.",
            group=SHOWN,
        ),
    ] = None,
) -> None:
    """Measure your own application: threads without the GIL, or processes? About ten minutes."""
    from scaling.base.typed import bytes_in, share_from_0_to_1, values_in
    from scaling.cli.app_steps import AppSteps
    from scaling.report.gate import tolerated
    from scaling.report.output import finish
    from scaling.report.view.application import fitting
    from scaling.report.view.deploy import require_new, write_program
    from scaling.run.app_requests import read_requests_file
    from scaling.run.measure import ChildNeeds
    from scaling.run.openapi import OPENAPI
    from scaling.study.application import AppAsked
    from scaling.study.definition import ApplicationNote

    if check and full:
        raise UsageError("--check measures nothing: leave out --full")
    if write:
        require_new(write)
    bytes_ = bytes_in(memory, "--memory") if memory else None
    tolerable = share_from_0_to_1(tolerate, "--tolerate") if tolerate else None
    variables = _variables(env or ())
    errors = new_console(stderr=True)
    file = None if requests == Path(OPENAPI) else requests
    sent, sent_note = read_requests_file(file, partial(say, errors), host) if file else ([], None)
    pythons = _pythons(python_gil, python_ft)
    asked = AppAsked(
        application=application,
        factory=factory,
        interface=interface,
        lifespan=lifespan,
        health=health,
        budgets=values_in(budget or (), "--budget"),
        connections=connections,
        pools=values_in(pool or (), "--pool"),
        rates=values_in(rate or (), "--rate"),
        command=command,
        full=full,
        note=ApplicationNote.of(sent_note, variables),
    )
    if pythons:
        gil, free = pythons
        asked = replace(asked, builds=(gil, free))
    steps = AppSteps(
        asked=asked,
        needs=ChildNeeds(
            paths=[str(folder(path))],
            requirements=tuple(with_ or ()),
            requirement_files=[str(requirements_file(each)) for each in with_requirements or ()],
            pythons=pythons,
            variables=variables,
        ),
        flags=flags,
        requests=sent,
        console=errors if json else new_console(),
        errors=errors,
    ).known()
    if requests == Path(OPENAPI):
        steps = steps.with_schema()
    if write and steps.interface:  # else it cannot be loaded, which is reported below
        write_program(write, steps.interface, application, factory=factory)
    if check:
        _finish_check(steps.check(), output, as_json=json)
    measured = steps.measure(output, checked=check is None)
    study = finish(measured, steps.console, json_to=new_console() if json else None)
    if bytes_:
        say(steps.console, fitting(study, bytes_))
    if tolerable is not None:
        raise SystemExit(tolerated(study, tolerable, steps.console))


def _finish_check(found: "AppCheck", output: Path | None, *, as_json: bool) -> NoReturn:
    """Print the result of a check, write it into the folder `output`, and exit."""
    import msgspec

    from scaling.journal.beside import write_check
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
