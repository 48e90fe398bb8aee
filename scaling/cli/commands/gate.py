"""`scaling gate`: fails if a study proves that scaling is too bad, or worse than before."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from scaling.base.console import new_console
from scaling.cli.program import Json, Results, command, shown
from scaling.study.kinds import MOST, NAMES, Kind, share_between

SHARE = share_between(0, 1)
COUNTS = Kind(of=int, least=1, most=MOST, several=True, metavar="N,…")


def _share(about: str) -> Parameter:
    return shown(SHARE, about)


def _cells(about: str, kind: Kind = NAMES) -> Parameter:
    return shown(kind, about, group="Which cells are checked")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asked:
    """The bounds, and the cells that they are about."""

    max_loss: Annotated[
        float | None, _share("Most throughput lost over the best processes: 5%.")
    ] = None
    min_efficiency: Annotated[
        float | None, _share("Least throughput of N workers as a share of N times one: 0.8.")
    ] = None
    max_regression: Annotated[
        float | None, _share("Most throughput lost compared with OLD: 5%.")
    ] = None
    against: Annotated[
        Path | None, Parameter(help="An earlier study, to show what changed.", metavar="OLD")
    ] = None
    workload: Annotated[tuple[str, ...], _cells("Workloads: echo,scrape (all but controls).")] = ()
    loop: Annotated[tuple[str, ...], _cells("Loops: asyncio,uvloop (all).")] = ()
    arm: Annotated[tuple[str, ...], _cells("Arms: 3.14,3.14t+gil (all).")] = ()
    model: Annotated[tuple[str, ...], _cells("Models: threads,processes (all).")] = ()
    sizing: Annotated[tuple[str, ...], _cells("Sizings: weak,strong (all).")] = ()
    at: Annotated[
        tuple[int, ...],
        _cells(
            "Numbers of workers: 2,4 (for a bound, the largest with a core for each worker).",
            COUNTS,
        ),
    ] = ()
    allow_open: Annotated[bool, Parameter(help="End with 0 also where a bound is open.")] = False
    allow_void: Annotated[
        bool, Parameter(help="Do not fail where the controls of a study fail.")
    ] = False

    @property
    def choice(self) -> dict[str, tuple[object, ...]]:
        """What the chosen cells have, by column; of other columns they may have anything."""
        chosen: dict[str, tuple[object, ...]] = {
            name: getattr(self, name) for name in ("workload", "loop", "arm", "model", "sizing")
        }
        chosen["workers"] = self.at
        return {name: values for name, values in chosen.items() if values}


@command(130, "gate results/now --workload echo --at 2 --max-loss 5%")
def gate(
    results: Results,
    /,
    *,
    asked: Asked = Asked(),
    as_json: Json = False,
    summary: Annotated[
        Path | None,
        Parameter(
            help="Append a Markdown summary to this file ($GITHUB_STEP_SUMMARY).", metavar="FILE.md"
        ),
    ] = None,
) -> None:
    """Check bounds on a study, and show what changed since an earlier one.

    Exit code 0 where every bound is kept, 1 where one is proven to be broken or a study is void,
    3 where one is open.
    """
    from scaling.report.gate import Bounds, gate

    bounds = Bounds(
        min_efficiency=asked.min_efficiency,
        max_loss=asked.max_loss,
        max_regression=asked.max_regression,
        against=asked.against,
    )
    code = gate(
        results,
        bounds,
        asked.choice,
        new_console(stderr=as_json),
        allow_open=asked.allow_open,
        allow_void=asked.allow_void,
        json_to=new_console() if as_json else None,
        summary=summary,
    )
    if code:
        raise SystemExit(code)
