"""The program that the commands are registered with, and the options that several of them take.

A command about a study takes `Asked` as its first parameter and is decorated with `@takes_asked`,
which shows typer one option for each flag that `scaling.study` declares, and a few of our own. It
imports what it needs when it is called: `scaling --help` does not wait for pandas.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scaling.base.errors import UsageError
from scaling.base.version import __version__
from scaling.study.definition import OPTIONS, WHAT, Option, Options

if TYPE_CHECKING:
    from scaling.run.measure import ChildNeeds


app = typer.Typer(
    name="scaling",
    help="Measure how asyncio scales over N event loops: threads on free-threaded Python, "
    "processes, sub-interpreters.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Results = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="Folder of a study, or its journal.")
]
Texts = list[str] | None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"scaling {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options of the program itself."""


# ------------------------------------------------------------------------------ options of a study

YOURS = "Your own workload, and interpreters"
STUDY = (
    "A study file, a folder with a measured study, or the name of one that `scaling study` lists."
)
WORKLOAD = "Workloads: echo,scrape, or your own as package.module:Name."
SET = "A parameter of a workload: echo.payload_bytes=256,1024."
PATH = "A folder that your own workload is imported from."
WITH = "A requirement that your own workload needs, as for pip."
OF_HOST = "Of a .har file: the host to send for (that of its page, or the one with most requests)."
PGO = "Only use interpreters built with PGO (to publish figures)."


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says: of the study, and of what has to be prepared for it."""

    options: Options
    path: tuple[Path, ...] = ()
    requirements: tuple[str, ...] = ()
    pgo: bool = False

    @property
    def wanted(self) -> "ChildNeeds":
        """What has to be prepared.

        Raises:
            UsageError: a folder is not there.
        """
        from scaling.run.measure import ChildNeeds

        paths = [str(folder(path)) for path in self.path]
        return ChildNeeds(paths=paths, requirements=self.requirements, pgo=self.pgo)


def folder(path: Path) -> Path:
    """A folder that a child imports from, in full.

    Raises:
        UsageError: it is not there.
    """
    if not path.is_dir():
        raise UsageError(f"--path {path}: there is no such folder")
    return path.resolve()


def requirements_file(path: Path) -> Path:
    """A file of requirements, in full.

    Raises:
        UsageError: it is not there.
    """
    if not path.is_file():
        raise UsageError(f"--with-requirements {path}: there is no such file")
    return path.resolve()


def _parameters() -> Iterator[inspect.Parameter]:
    """Every option as typer wants to see it, in the order of `--help`."""
    text = str | None
    study, workload, set_ = (
        typer.Option(help=about, metavar=metavar, rich_help_panel=WHAT)
        for about, metavar in ((STUDY, "STUDY"), (WORKLOAD, "NAME,…"), (SET, "W.P=V,…"))
    )
    yield parameter("study", Annotated[text, study])
    yield parameter("workload", Annotated[Texts, workload])
    for option in OPTIONS.values():
        if option.flag:
            yield _declared(option)
    yield parameter("set", Annotated[Texts, set_])
    for name, flag, kind, metavar, about in (
        ("path", "--path", list[Path] | None, "DIR", PATH),
        ("with_", "--with", Texts, "REQUIREMENT", WITH),
        ("pgo", "--pgo", bool, None, PGO),
    ):
        shown = typer.Option(flag, help=about, metavar=metavar, rich_help_panel=YOURS)
        yield parameter(name, Annotated[kind, shown], default=False if kind is bool else None)


def _declared(option: Option) -> inspect.Parameter:
    flag, kind = option.flag, option.kind
    switch = not kind.metavar
    shown = typer.Option(
        f"{flag}/--no-{flag.removeprefix('--')}" if switch else flag,
        help=option.help,
        metavar=kind.metavar or None,
        rich_help_panel=option.group,
    )
    of: Any = bool if switch else list[str] if kind.several else str
    return parameter(option.parameter, Annotated[of | None, shown])


def parameter(name: str, annotation: Any, default: object = None) -> inspect.Parameter:
    """An option as typer reads it off a signature."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def asked_from(given: Mapping[str, Any]) -> Asked:
    """What the values of all these parameters ask for, by name; None where nothing was given."""
    flags = dict(given)
    path, with_, pgo = (flags.pop(name) for name in ("path", "with_", "pgo"))
    workload, set_ = (flags.pop(name) or () for name in ("workload", "set"))
    return Asked(
        options=Options(workload=workload, set=set_, **flags),
        path=tuple(path or ()),
        requirements=tuple(with_ or ()),
        pgo=pgo,
    )


def arguments_of(asked: Asked) -> list[str]:
    """The arguments that ask for the same."""
    options = asked.options
    given: dict[str, Any] = {"--workload": options.workload, "--set": options.set}
    given |= {OPTIONS[key].flag: value for key, value in options.flags.items()}
    given |= {"--path": asked.path, "--with": asked.requirements}
    arguments = [f"--study={options.study}"] if options.study else []
    arguments += ["--pgo"] * asked.pgo
    for flag, value in given.items():
        if isinstance(value, bool):
            arguments.append(flag if value else f"--no-{flag.removeprefix('--')}")
        else:
            values = value if isinstance(value, tuple) else (value,)
            arguments += [f"{flag}={each}" for each in values]
    return arguments


def takes_asked(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options in place of its first parameter, before its own."""
    return with_options(command, list(_parameters()), asked_from)


def takes_flags(*keys: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command some of the options of a study, by key, in place of its first parameter.

    It gets a dict of what was given, as `scaling.study.definition.Options` takes it.
    """
    shared = [_declared(OPTIONS[key]) for key in keys]
    return lambda command: with_options(command, shared, dict, after=True)


def with_options(
    command: Callable[..., None],
    shared: Sequence[inspect.Parameter],
    read: Callable[[dict[str, Any]], object],
    *,
    after: bool = False,
) -> Callable[..., None]:
    """The command with the shared options before (or after) its own; its first parameter has what
    `read` makes of their values.
    """
    _, *own = inspect.signature(command, eval_str=True).parameters.values()

    @functools.wraps(command)
    def called(**given: Any) -> None:
        command(read({each.name: given.pop(each.name) for each in shared}), **given)

    keyword_only = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    every = [*keyword_only, *shared] if after else [*shared, *keyword_only]
    signature = inspect.Signature(every)
    called.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks for first
    return called
