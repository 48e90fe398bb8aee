"""The program that commands are registered with, and the options that several commands take.

A command about a study takes `StudyAsked`, which has the options that `scaling.study.definition`
declares. A command imports what it needs when it is called: `scaling --help` does not wait for
pandas.
"""

import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from cyclopts import (
    App,
    CycloptsError,
    Group,
    Parameter,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
)
from rich.console import Console

from scaling.base.console import say
from scaling.base.errors import UsageError
from scaling.base.gone import gone
from scaling.base.version import __version__
from scaling.study.app_options import LOAD, YOURS
from scaling.study.definition import EFFORT, OF_COMMAND_LINE, OPTIONS, WHAT, Option, Options
from scaling.study.kinds import Kind

if TYPE_CHECKING:
    from scaling.run.prepare import ChildNeeds, Prepared

EXAMPLE = "Example: "


@cache
def heading(name: str) -> Group:
    """The heading of a group of options in `--help`; `HEADINGS` come first, in their order."""
    return Group.create_ordered(name)


HEADINGS = ("Options", YOURS, LOAD, "What is shown", WHAT, EFFORT)
for each in HEADINGS:
    heading(each)

app = App(
    name="scaling",
    help="Measure how asyncio scales over N event loops: threads on free-threaded Python, "
    "processes, sub-interpreters.",
    help_flags=["--help", "-h"],
    help_format="plaintext",
    version=f"scaling {__version__}",
    group_parameters=heading("Options"),
    result_action="return_value",
    default_parameter=Parameter(
        allow_repeating=True, negative=(), negative_iterable=(), show_default=False
    ),
)


def command[**P](place: int, example: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Register a command: its `place` in `scaling --help`, and the arguments of its example.

    The help of a parameter is its line below `Args:` in the command's docstring.
    """

    def register(function: Callable[P, None]) -> Callable[P, None]:
        text, _, _ = (inspect.getdoc(function) or "").partition("\n\nArgs:")
        about = "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))
        epilogue = f"{EXAMPLE}scaling {example}"
        return app.command(function, help=about, sort_key=place, help_epilogue=epilogue)

    return register


def names() -> tuple[str, ...]:
    """The names of all commands, in order."""
    own = [name for name in app if not name.startswith("-")]
    return tuple(sorted(own, key=lambda name: app[name].sort_key))


def explained(error: CycloptsError) -> str:
    """The message for a wrong command line, with what to do, in a line or two."""
    command = " ".join(["scaling", *(error.command_chain or ())])
    typed = getattr(error, "token", None)
    option = typed.keyword or "" if isinstance(error, UnknownOptionError) and typed else ""
    of_command = f"{command.removeprefix('scaling ')} {option}"
    if message := gone(option) or gone(of_command, shown=option):
        return message
    error.verbose = False
    message = str(error)
    if isinstance(error, UnusedCliTokensError):
        message = f"not expected: {shlex.join(error.unused_tokens or [])}."
    return f"{message} For help: {command} --help"


def of_kind(
    kind: Kind, about: str | None = None, flag: str = "", group: str = "Options", **more: Any
) -> Parameter:
    """The cyclopts parameter of an option whose values are of a kind.

    Without `about` the help is the string below the field of a dataclass.
    """

    def read(_of: Any, tokens: Sequence[Token]) -> Any:
        return kind.of_texts([each.value for each in tokens], tokens[0].keyword or flag)

    on, _, off = flag.partition("/")
    if kind.of is not bool:
        more |= {"converter": read, "metavar": kind.metavar}
    elif off:
        more["negative"] = off
    if about:
        more["help"] = about  # `None` would hide the line below the field
    return Parameter(name=on or None, group=heading(group), **more)


def flags(options: Iterable[Option]) -> Any:
    """The type of a parameter that takes these options: a dict of what is given, by key."""
    # If pydantic is imported, cyclopts checks a value against its hint. `kind` has made numbers and
    # tuples of the texts, which no hint of texts fits.
    of = {False: Any, True: list[Any]}
    hints = {
        each.key: Annotated[
            bool if each.kind.of is bool else of[each.kind.several],
            of_kind(each.kind, each.help, each.flag, each.group),
        ]
        for each in options
        if each.flag
    }
    made = TypedDict("Flags", hints, total=False)  # type: ignore[misc]  # of what is declared
    return Annotated[made, Parameter(name="*")]


# ------------------------------------------------------------------------------ options of a study

DIR, FILE, REQUIREMENT, HOST = (
    Parameter(metavar=each) for each in ("DIR", "FILE", "REQUIREMENT", "HOST")
)
OF_HOST = "Host whose requests a .har file gives (that of its page, or of most requests)."
OF_YOURS = "Your own workload, and interpreters"

HERE = Path()
Results = Annotated[Path, Parameter(help="Folder of a study, or its journal.")]
Output = Annotated[
    Path | None, Parameter(help="Folder for journal, tables, plots and page.", metavar="DIR")
]
Json = Annotated[bool, Parameter(name="--json", help="Print one JSON object.")]
Host = Annotated[str, HOST, Parameter(help=OF_HOST)]

if TYPE_CHECKING:
    Flags = Mapping[str, Any]
else:
    first, last = (OF_COMMAND_LINE[key] for key in ("study", "workload")), OF_COMMAND_LINE["set"]
    Flags = flags([*first, *OPTIONS.values(), last])


@Parameter(name="*", group=heading(OF_YOURS))
@dataclass(frozen=True, kw_only=True)
class StudyAsked:
    """A study as asked on the command line, and the environments that it needs."""

    flags: Flags = field(default_factory=dict)
    path: Annotated[tuple[Path, ...], DIR] = ()
    """A folder that your own workload is imported from."""
    with_: Annotated[tuple[str, ...], REQUIREMENT] = ()
    """A requirement of your own workload, as in requirements.txt."""
    pgo: bool = False
    """Only use interpreters built with PGO (to publish figures)."""

    @property
    def options(self) -> Options:
        """The options of the study."""
        return Options.of(self.flags)

    @property
    def wanted(self) -> "ChildNeeds":
        """The needs of the children that are to be prepared.

        Raises:
            UsageError: a folder is not there.
        """
        from scaling.run.prepare import ChildNeeds

        paths = [str(folder(path)) for path in self.path]
        return ChildNeeds(paths=paths, requirements=self.with_, pgo=self.pgo)

    @property
    def of_children(self) -> list[str]:
        """The command-line arguments that ask for the same environments on another host."""
        paths, requirements = ("--path", self.path), ("--with", self.with_)
        named = [f"{flag}={each}" for flag, given in (paths, requirements) for each in given]
        return [*["--pgo"] * self.pgo, *named]


NOTHING_ASKED = StudyAsked()


def measure(study: "Prepared", output: Path | None, console: Console) -> Path:
    """Print what a study is about to run, measure the study, and return its folder.

    Raises:
        UsageError: the folder cannot be used.
    """
    from scaling.analysis.forecast import announced
    from scaling.run import measure
    from scaling.run.progress import display

    for line in announced(study.plan, measure.folder_of(study.plan, output)):
        say(console, line)
    return measure.measure(study, output, display(console))


def folder(path: Path) -> Path:
    """The absolute path of a folder that a child imports from.

    Raises:
        UsageError: there is no such folder.
    """
    if not path.is_dir():
        raise UsageError(f"--path {path}: there is no such folder")
    return path.resolve()


def requirements_file(path: Path) -> Path:
    """The absolute path of a requirements file.

    Raises:
        UsageError: there is no such file.
    """
    if not path.is_file():
        raise UsageError(f"--with-requirements {path}: there is no such file")
    return path.resolve()
