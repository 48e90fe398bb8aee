"""The command line: `scaling plan`, `run`, `plot`, `compare`, `interpreters`, `doctor`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from scaling.errors import ScalingError, UsageError
from scaling.study.options import Options

if TYPE_CHECKING:
    from scaling.prepare import Wanted

app = typer.Typer(
    name="scaling",
    help="How does asyncio scale over N event loops, on free-threaded Python and on the GIL?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Texts = list[str] | None

StudyOption = Annotated[
    str | None, typer.Option(help="A study file, or the name of a built-in study.")
]
WorkloadOption = Annotated[
    Texts, typer.Option(help="Workloads: echo,scrape or your own as package.module:Name.")
]
LoopOption = Annotated[Texts, typer.Option(help="Event loops: asyncio,uvloop.")]
WorkersOption = Annotated[Texts, typer.Option(help="Numbers of workers: 1,2,4.")]
ArmOption = Annotated[
    Texts, typer.Option(help="Arms: a build and its settings, such as 3.14,3.14t+gil.")
]
ModelOption = Annotated[
    Texts, typer.Option(help="What a worker is: threads, processes, interpreters.")
]
SizingOption = Annotated[
    Texts, typer.Option(help="Work in flight: weak (per worker), strong (in total).")
]
SetOption = Annotated[
    Texts,
    typer.Option("--set", metavar="W.P=V", help="A parameter: echo.payload_bytes=256,1024."),
]
SecondsOption = Annotated[float | None, typer.Option(help="Length of the window, s.")]
PresetOption = Annotated[
    str | None, typer.Option(help="smoke (3 blocks), default (8) or rigorous (20).")
]
BlocksOption = Annotated[int | None, typer.Option(help="How often every cell is run.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the order of the runs.")]
ControlsOption = Annotated[
    bool | None,
    typer.Option(help="Run the controls (compute, shared), too, where the study has none."),
]
PinOption = Annotated[
    bool | None, typer.Option(help="Give each worker a CPU of its own: cores, then siblings.")
]
PathOption = Annotated[
    list[Path] | None, typer.Option(help="A folder that your own workload is imported from.")
]
WithOption = Annotated[
    Texts, typer.Option("--with", help="A requirement that your own workload needs.")
]
PgoOption = Annotated[
    bool, typer.Option("--pgo", help="Only interpreters built with PGO (to publish figures).")
]
OutputOption = Annotated[
    Path | None, typer.Option(help="Folder for journal, tables and plots (results/STUDY).")
]
ResultsArgument = Annotated[Path, typer.Argument(help="A study's folder, or its journal.")]


def main() -> None:
    """Run the command line; what a user is told when it goes wrong is a line or two."""
    try:
        app()
    except ScalingError as error:
        print(f"scaling: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:  # somebody piped us into `head`
        sys.stderr.close()
        raise SystemExit(1) from None


def _options(said: dict[str, Any]) -> Options:
    """The study's options among the arguments of a command."""

    def several(name: str) -> tuple[str, ...]:
        return tuple(said[name] or ())

    return Options(
        study=said["study"],
        workload=several("workload"),
        loop=several("loop"),
        workers=several("workers"),
        arm=several("arm"),
        model=several("model"),
        sizing=several("sizing"),
        set=several("set_"),
        seconds=said["seconds"],
        preset=said["preset"],
        blocks=said["blocks"],
        seed=said["seed"],
        controls=said["controls"],
        pin=said["pin"],
    )


def _wanted(said: dict[str, Any]) -> "Wanted":
    from scaling.prepare import Wanted

    paths = [str(_folder(path)) for path in said["path"] or ()]
    return Wanted(paths=paths, requirements=said["with_"] or (), pgo=said["pgo"])


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"--path {path}: there is no such folder")
    return path.resolve()


def _say(text: str) -> None:
    Console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


@app.command()
def plan(
    study: StudyOption = None,
    workload: WorkloadOption = None,
    loop: LoopOption = None,
    workers: WorkersOption = None,
    arm: ArmOption = None,
    model: ModelOption = None,
    sizing: SizingOption = None,
    set_: SetOption = None,
    seconds: SecondsOption = None,
    preset: PresetOption = None,
    blocks: BlocksOption = None,
    seed: SeedOption = None,
    controls: ControlsOption = None,
    pin: PinOption = None,
    path: PathOption = None,
    with_: WithOption = None,
    pgo: PgoOption = False,
) -> None:
    """Print what a study would run, what it cannot run and why, and how long it would take."""
    said = locals()
    from scaling.conduct import prepared
    from scaling.plan.view import PlanView

    with prepared(_options(said), _wanted(said), _say) as ready:
        Console().print(PlanView(ready.plan))


@app.command()
def run(
    study: StudyOption = None,
    workload: WorkloadOption = None,
    loop: LoopOption = None,
    workers: WorkersOption = None,
    arm: ArmOption = None,
    model: ModelOption = None,
    sizing: SizingOption = None,
    set_: SetOption = None,
    seconds: SecondsOption = None,
    preset: PresetOption = None,
    blocks: BlocksOption = None,
    seed: SeedOption = None,
    controls: ControlsOption = None,
    pin: PinOption = None,
    path: PathOption = None,
    with_: WithOption = None,
    pgo: PgoOption = False,
    output: OutputOption = None,
) -> None:
    """Measure a study, or go on with an interrupted one; then print its tables and draw it."""
    said = locals()
    from scaling.conduct import measure, prepared
    from scaling.driver.progress import display
    from scaling.plan.view import one_line
    from scaling.tell import tell

    console = Console()
    with prepared(_options(said), _wanted(said), _say) as ready:
        console.print(one_line(ready.plan), markup=False, highlight=False, soft_wrap=True)
        folder = measure(ready, output, display(console))
    tell(folder, console)


@app.command()
def plot(
    results: ResultsArgument,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the plots (RESULTS/plots).")
    ] = None,
) -> None:
    """Draw a study's plots again, from its journal alone."""
    from scaling.tell import draw

    draw(results, output, Console())


@app.command()
def compare(
    results: Annotated[list[Path], typer.Argument(help="Studies' folders; the first is earliest.")],
    output: Annotated[
        Path | None, typer.Option(help="Folder for tables and plots (beside a single journal).")
    ] = None,
) -> None:
    """Hold arms and models of a study against each other, or later studies against the first."""
    from scaling.compare import compare

    compare(results, output, Console())


@app.command()
def interpreters() -> None:
    """List the interpreters that are there: version, GIL or not, where from, how built."""
    from scaling.interpreters import survey
    from scaling.tables.interpreters import interpreters_table

    Console().print(interpreters_table(survey()))


@app.command()
def doctor() -> None:
    """Look at this machine and say what will disturb the figures, and what to do about it."""
    from scaling.machine.doctor import examine, gravest
    from scaling.machine.doctor_view import report
    from scaling.machine.patient import look

    found = examine(look())
    Console().print(report(found))
    if gravest(found) == "stop":
        raise SystemExit(1)
