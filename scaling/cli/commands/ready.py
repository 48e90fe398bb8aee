"""`scaling ready`: whether what an application requires can be used on a free-threaded build."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import HERE, Json, command, folder

NEXT = "3.15t"  # shown beside 3.14t where it is on this machine
# Files that say what an application requires, the most exact first; beside it or one folder up.
FILES = ("pylock.toml", "uv.lock", "requirements.txt", "pyproject.toml")


@command(30, "ready -r requirements.txt")
def ready(
    packages: Annotated[
        tuple[str, ...], Parameter(name="PACKAGE", help="Requirements, as for pip.")
    ] = (),
    /,
    *,
    requirements: Annotated[
        tuple[Path, ...],
        Parameter(
            alias="-r",
            help="requirements.txt, pyproject.toml, pylock.toml or uv.lock.",
            metavar="FILE",
        ),
    ] = (),
    constraints: Annotated[
        tuple[Path, ...],
        Parameter(alias="-c", help="A constraints file, as for pip.", metavar="FILE"),
    ] = (),
    application: Annotated[
        str,
        Parameter(
            name="--app",
            help="Also import this application; without -r, the files beside it are read.",
            metavar="MODULE:NAME",
        ),
    ] = "",
    path: Annotated[
        Path, Parameter(help="Folder that the application is imported from.", metavar="DIR")
    ] = HERE,
    build: Annotated[
        bool, Parameter(help="Build what has only a source, at most 10 min each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check that every package installs on 3.14t and leaves the GIL off. Exit code 1 if not."""
    from scaling.builds.cpython import parse_build
    from scaling.builds.interpreters import ensure
    from scaling.builds.interpreters.find import survey
    from scaling.builds.ready.examine import examine
    from scaling.builds.ready.resolve import Required
    from scaling.report.ready import ready_grid, ready_json
    from scaling.report.render.terminal import table
    from scaling.study.app_options import FREE
    from scaling.study.application import study_name

    own = None
    if application:
        study_name(application)  # raises where it is no application
        own = application.partition(":")[0], folder(path)
    files = requirements or ((_beside(own[1]),) if own and not packages else ())
    if not (packages or files):
        raise UsageError("name packages, a file of requirements with -r, or --app MODULE:NAME")
    required = Required(names=packages, files=files, constraints=constraints)
    errors = new_console(stderr=True)
    note = partial(say, errors)
    interpreters = [ensure([FREE], say=note)[FREE], *survey([parse_build(NEXT)])[:1]]
    found = []
    for each in interpreters:
        with _bar(errors, each.build) as progress:
            one = examine(required, each, build=build, application=own, say=note, progress=progress)
            found.append(one)
    if as_json:
        say(new_console(), ready_json(found))
    else:
        console = new_console()
        console.print(table(ready_grid(found), console))
    raise SystemExit(1 if found[0].blocking else 0)


def _beside(source: Path) -> Path:
    """The file that says what an application in this folder requires."""
    for place in (source, source.parent):
        for name in FILES:
            if (place / name).is_file():
                return place / name
    raise UsageError(
        f"--path {source}: no {', '.join(FILES)} there or one folder up. Name what the "
        f"application requires: -r FILE"
    )


@contextmanager
def _bar(console: Console, name: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how many are done, and of how many: on a terminal. Elsewhere the lines say enough."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)
