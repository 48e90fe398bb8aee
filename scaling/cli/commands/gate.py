"""`scaling gate`: fails if a study proves that scaling is too bad, or worse than before."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from scaling.base.console import new_console
from scaling.cli.program import Json, Results, command, of_kind
from scaling.study.kinds import MOST, NAMES, Kind, share_between

SHARE = share_between(0, 1)
COUNTS = Kind(of=int, least=1, most=MOST, several=True, metavar="N,…")

CELLS = "Which cells are checked"

Share = Annotated[float | None, of_kind(SHARE)]
Names = Annotated[tuple[str, ...], of_kind(NAMES, group=CELLS)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class GateAsked:
    """The bounds, and the cells to check."""

    max_loss: Share = None
    """Most throughput lost over the best processes: 5%."""
    min_efficiency: Share = None
    """Least throughput of N workers as a share of N times one: 0.8."""
    max_regression: Share = None
    """Most throughput lost compared with OLD: 5%."""
    against: Annotated[Path | None, Parameter(metavar="OLD")] = None
    """An earlier study, to show what changed."""
    workload: Names = ()
    """Workloads: echo,scrape (all but controls)."""
    loop: Names = ()
    """Loops: asyncio,uvloop (all)."""
    arm: Names = ()
    """Arms: 3.14,3.14t+gil (all)."""
    model: Names = ()
    """Models: threads,processes (all)."""
    sizing: Names = ()
    """Sizings: weak,strong (all)."""
    at: Annotated[tuple[int, ...], of_kind(COUNTS, group=CELLS)] = ()
    """Numbers of workers: 2,4 (for a bound, the largest with a core for each worker)."""
    allow_open: bool = False
    """Exit with 0 if a bound is open."""
    allow_void: bool = False
    """Do not fail if the controls of a study fail."""

    @property
    def choice(self) -> dict[str, tuple[object, ...]]:
        """The values that the chosen cells may have, by column; other columns may have any."""
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
    asked: GateAsked = GateAsked(),
    as_json: Json = False,
    summary: Annotated[Path | None, Parameter(metavar="FILE.md")] = None,
) -> None:
    """Check bounds on a study, and show what changed since an earlier one.

    Exit code 0 where every bound is kept, 1 where one is proven to be broken or a study is void,
    3 where one is open.

    Args:
        summary: Append a Markdown summary to this file ($GITHUB_STEP_SUMMARY).
    """
    from scaling.report.gate import USELESS, gate

    bounds = {name: getattr(asked, name) for name in USELESS}
    code = gate(
        results,
        {name: bound for name, bound in bounds.items() if bound is not None},
        asked.choice,
        new_console(stderr=as_json),
        against=asked.against,
        allow_open=asked.allow_open,
        allow_void=asked.allow_void,
        json_to=new_console() if as_json else None,
        summary=summary,
    )
    if code:
        raise SystemExit(code)
