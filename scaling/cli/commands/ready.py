"""`scaling ready`: checks requirements on a free-threaded build."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from scaling.base.console import new_console, say
from scaling.base.errors import UsageError
from scaling.cli.program import DIR, FILE, HERE, Json, command, folder

if TYPE_CHECKING:
    from scaling.builds.ready.resolve import Required

NEXT = "3.15t"  # shown beside 3.14t where it is on this machine
# Files with the requirements of an application, the most exact first, in its folder or above it.
FILES = ("pylock.toml", "uv.lock", "requirements.txt", "pyproject.toml")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadyAsked:
    """Files of requirements, and an application to import."""

    requirements: Annotated[tuple[Path, ...], FILE, Parameter(alias="-r")] = ()
    """requirements.txt, pyproject.toml, pylock.toml or uv.lock."""
    constraints: Annotated[tuple[Path, ...], FILE, Parameter(alias="-c")] = ()
    """A constraints file of pip."""
    app: Annotated[str, Parameter(metavar="MODULE:NAME")] = ""
    """Also import this application. Without -r its requirements are read from files beside it."""
    path: Annotated[Path, DIR] = HERE
    """Folder that the application is imported from."""
    build: bool = False
    """Build packages that have only a source, for at most 10 min each."""

    @property
    def own(self) -> tuple[str, Path] | None:
        """The application's module, and the folder that it is imported from; None without one.

        Raises:
            UsageError: `app` is not `package.module:name`, or there is no such folder.
        """
        from scaling.study.application import study_name

        if not self.app:
            return None
        study_name(self.app)  # raises if it is not package.module:name
        return self.app.partition(":")[0], folder(self.path)

    def required(self, packages: Sequence[str]) -> "Required":
        """The requirements: packages, files, or the file beside the application.

        Raises:
            UsageError: nothing is required.
        """
        from scaling.builds.ready.resolve import Required

        own, files = self.own, self.requirements
        if own and not packages and not files:
            files = (_beside(own[1]),)
        if not (packages or files):
            raise UsageError("name packages, a requirements file with -r, or --app MODULE:NAME")
        return Required(names=packages, files=files, constraints=self.constraints)


@command(30, "ready -r requirements.txt")
def ready(
    packages: Annotated[tuple[str, ...], Parameter(name="PACKAGE")] = (),
    /,
    *,
    asked: ReadyAsked = ReadyAsked(),
    as_json: Json = False,
) -> None:
    """Check that every package installs on 3.14t and leaves the GIL off. Exit code 1 if not.

    Args:
        packages: Requirements, as in requirements.txt.
    """
    from scaling.builds.cpython import parse_build
    from scaling.builds.interpreters import ensure
    from scaling.builds.interpreters.find import survey
    from scaling.builds.ready.examine import examine
    from scaling.report.ready import ready_grid, ready_json
    from scaling.report.render.terminal import table
    from scaling.study.app_options import FREE

    required, own = asked.required(packages), asked.own
    console, errors = new_console(), new_console(stderr=True)
    note = partial(say, errors)
    found = []
    for each in [ensure([FREE], say=note)[FREE], *survey([parse_build(NEXT)])[:1]]:
        with _bar(errors, each.build) as shown:
            examined = examine(
                required, each, build=asked.build, application=own, say=note, progress=shown
            )
            found.append(examined)
    if as_json:
        say(console, ready_json(found))
    else:
        console.print(table(ready_grid(found), console))
    raise SystemExit(1 if found[0].blocking else 0)


def _beside(source: Path) -> Path:
    """The file with the requirements of an application in this folder."""
    for place in (source, source.parent):
        for name in FILES:
            if (place / name).is_file():
                return place / name
    raise UsageError(
        f"--path {source}: there is no {', '.join(FILES)} in this folder or the one above. Name "
        f"the requirements of the application: -r FILE"
    )


@contextmanager
def _bar(console: Console, name: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress as a bar on a terminal; elsewhere the printed lines are enough."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)
