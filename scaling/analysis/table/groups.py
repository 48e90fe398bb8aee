"""How the runs of a frame are grouped: into cells, curves and studies."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags
from scaling.analysis.validity.served import LATE
from scaling.base.errors import UsageError
from scaling.base.vocabulary import MODELS, SIZINGS
from scaling.journal.record import Cell, Parameters, StudyLine
from scaling.study.load import open_loop_rate

CURVE = ("study", "workload", "parameters", "sizing", "loop", "arm", "model")
CELL = (*CURVE, "workers")
P99_LEAVES_OUT = 0.01  # of the requests, the slowest


def curve_cell(
    workload: object, parameters: object, sizing: object, loop: object, arm: object, model: object
) -> Cell:
    """What the runs of one curve have in common, from their values in `CURVE`: a cell without N."""
    return Cell(
        workload=str(workload),
        parameters=Parameters.read(str(parameters)),
        sizing=str(sizing),
        loop=str(loop),
        arm=str(arm),
        model=str(model),
        workers=0,
    )


def originals(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs of a frame without the second ones of A/A pairs."""
    return frame[~frame["twin"]]


def require_one_study(frame: pd.DataFrame) -> None:
    """Make sure that a frame's blocks are those of one study, so that they pair what they hold.

    Raises:
        UsageError: it holds more than one.
    """
    names = list(map(str, frame["study"].unique()))
    if len(names) > 1:
        raise UsageError(
            f"these are the runs of {len(names)} studies ({', '.join(names)}), whose blocks do not "
            f"pair: take one study at a time, or `scaling compare` for one against another"
        )


def fell_behind(frame: pd.DataFrame) -> Flags:
    """In which runs the server fell behind, so that their latencies are lower bounds."""
    return np.array(["saturated" in reasons for reasons in frame["reasons"]], np.bool_)


def p99_is_bound(frame: pd.DataFrame) -> Flags:
    """In which runs the P99 is a lower bound of that of all requests.

    The server fell behind, or declined more requests than a P99 leaves out: these have no latency.
    """
    due = frame["offered_per_s"] * frame["window_s"]
    declines = (frame["load_declined"] > P99_LEAVES_OUT * due).to_numpy(np.bool_)
    return np.asarray(fell_behind(frame) | declines)


def sent_late(frame: pd.DataFrame) -> Flags:
    """In which runs the load generator was late, so that their latencies are upper bounds."""
    return np.array([LATE in reasons for reasons in frame["reasons"]], np.bool_)


def in_open_loop(frame: pd.DataFrame) -> Flags:
    """Which runs a load generator loaded at a rate, so that their throughput is the schedule's."""
    loaded = frame["offered_per_s"].notna().to_numpy()
    if not loaded.any():
        return loaded
    places, texts = pd.factorize(frame["parameters"])
    has_rate = [open_loop_rate(Parameters.read(str(text))) is not None for text in texts]
    return np.asarray(np.array(has_rate, np.bool_)[places] & loaded)


def in_order(study: StudyLine) -> Callable[[Cell], tuple[object, ...]]:
    """The order in which cells are shown: workloads and arms as the study names them, parameters by
    value, N ascending.
    """
    workloads, arms = list(study.workloads), list(study.arms)

    def rank(cell: Cell) -> tuple[object, ...]:
        return (
            _place(cell.workload, workloads),
            _by_value(cell.parameters),
            _place(cell.sizing, SIZINGS),
            Parameters.of(cell.parameters).text,
            cell.loop,
            _place(cell.arm, arms),
            _place(cell.model, MODELS),
            cell.workers,
        )

    return rank


def _place(name: str, order: Iterable[str]) -> tuple[int, str]:
    """Where a name stands in an order; unknown names after the known ones, by alphabet."""
    known = list(order)
    return (known.index(name), "") if name in known else (len(known), name)


def _by_value(parameters: Mapping[str, object]) -> tuple[tuple[str, float, str], ...]:
    """Parameters so that they sort by value: 256 before 1024, words by alphabet."""
    return tuple(
        (name, float(value), "")
        if isinstance(value, int | float)
        else (name, float("inf"), str(value))
        for name, value in parameters.items()
    )
