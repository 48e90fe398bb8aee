"""The options that say what is to be studied: declared once, taken by every command about a study.

`Asked` is the declaration. A command takes it as its only positional parameter and is decorated
with `@takes_asked`, which shows typer one option for each of its fields.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scaling.base.errors import UsageError
from scaling.study.options import Options

if TYPE_CHECKING:
    from scaling.run.prepare import Wanted

Texts = list[str] | None
Says = typer.Option


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a user says of a study; None or False where nothing is said."""

    study: Annotated[str | None, Says(help="A study file, or the name of a built-in study.")] = None
    workload: Annotated[
        Texts, Says(help="Workloads: echo,scrape or your own as package.module:Name.")
    ] = None
    loop: Annotated[Texts, Says(help="Event loops: asyncio,uvloop.")] = None
    workers: Annotated[Texts, Says(help="Numbers of workers: 1,2,4.")] = None
    arm: Annotated[Texts, Says(help="Arms: a build and its settings, such as 3.14,3.14t+gil.")] = (
        None
    )
    model: Annotated[Texts, Says(help="What a worker is: threads, processes, interpreters.")] = None
    sizing: Annotated[Texts, Says(help="Work in flight: weak (per worker), strong (in total).")] = (
        None
    )
    set: Annotated[
        Texts, Says("--set", metavar="W.P=V", help="A parameter: echo.payload_bytes=256,1024.")
    ] = None
    scale: Annotated[
        str | None, Says(metavar="SHARE", help="Amounts of finite workloads times this: 0.01.")
    ] = None
    seconds: Annotated[float | None, Says(help="Length of the window, s.")] = None
    limit: Annotated[
        float | None, Says(help="Longest that a run of a finite workload may take, s (3600).")
    ] = None
    preset: Annotated[str | None, Says(help="smoke (3 blocks), default (8) or rigorous (20).")] = (
        None
    )
    blocks: Annotated[int | None, Says(help="How often every cell is run.")] = None
    precision: Annotated[
        str | None,
        Says(metavar="SHARE", help="Add blocks until headline ratios are known to this: 2%."),
    ] = None
    max_blocks: Annotated[int | None, Says(help="No more blocks than this (40).")] = None
    seed: Annotated[int | None, Says(help="Seed of the order of the runs.")] = None
    controls: Annotated[
        bool | None,
        Says(help="Run the controls (compute, shared), too, where the study has none."),
    ] = None
    twins: Annotated[
        bool | None, Says(help="Run a cell of each workload twice (A/A), to know the noise.")
    ] = None
    pin: Annotated[
        bool | None, Says(help="Give each worker a CPU of its own: cores, then siblings.")
    ] = None
    path: Annotated[
        list[Path] | None, Says(help="A folder that your own workload is imported from.")
    ] = None
    with_: Annotated[Texts, Says("--with", help="A requirement that your own workload needs.")] = (
        None
    )
    pgo: Annotated[
        bool, Says("--pgo", help="Only interpreters built with PGO (to publish figures).")
    ] = False

    @property
    def options(self) -> Options:
        """Those that say what the study is; a list that was not given is empty there."""
        said: dict[str, Any] = {}
        for field in fields(Options):
            value = getattr(self, field.name)
            said[field.name] = tuple(value or ()) if field.default == () else value
        return Options(**said)

    @property
    def wanted(self) -> "Wanted":
        """Those that say what has to be got ready for it.

        Raises:
            UsageError: a folder is not there.
        """
        from scaling.run.prepare import Wanted

        paths = [str(_folder(path)) for path in self.path or ()]
        return Wanted(paths=paths, requirements=self.with_ or (), pgo=self.pgo)


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"--path {path}: there is no such folder")
    return path.resolve()


def takes_asked(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Asked`, in place of its first parameter, before its own."""
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
        )
        for field in fields(Asked)
    ]

    @functools.wraps(command)
    def called(**said: Any) -> None:
        asked = Asked(**{field.name: said.pop(field.name) for field in fields(Asked)})
        command(asked, **said)

    keyword_only = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    signature = inspect.Signature([*shared, *keyword_only])
    called.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks for first
    return called
