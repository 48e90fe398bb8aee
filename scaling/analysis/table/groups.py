"""How the runs of a frame are grouped: into cells, curves and studies."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scaling.analysis.arrays import Flags
from scaling.analysis.validity.served import LATE
from scaling.base.errors import UsageError
from scaling.study.load import open_loop_rate

CURVE = ("study", "workload", "parameters", "sizing", "loop", "arm", "model")
CELL = (*CURVE, "workers")
P99_LEAVES_OUT = 0.01  # of the requests, the slowest


@dataclass(frozen=True, slots=True)
class Key:
    """What the runs of one curve have in common: their values in the columns of `CURVE`."""

    study: str
    workload: str
    parameters: str
    sizing: str
    loop: str
    arm: str
    model: str


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

    The server fell behind, or declined more requests than a P99 leaves out: these are in no latency
    (none in a frame of an earlier version).
    """
    behind = fell_behind(frame)
    if "load_declined" not in frame:
        return behind
    due = frame["offered_per_s"] * frame["window_s"]
    declines = (frame["load_declined"] > P99_LEAVES_OUT * due).to_numpy(np.bool_)
    return np.asarray(behind | declines)


def sent_late(frame: pd.DataFrame) -> Flags:
    """In which runs the load generator was late, so that their latencies are upper bounds."""
    return np.array([LATE in reasons for reasons in frame["reasons"]], np.bool_)


def in_open_loop(frame: pd.DataFrame) -> Flags:
    """Which runs a load generator loaded at a rate, so that their throughput is the schedule's."""
    if "offered_per_s" not in frame:  # one of an earlier version, or a part of one
        return np.zeros(len(frame), np.bool_)
    loaded = frame["offered_per_s"].notna().to_numpy()
    if not loaded.any():
        return loaded
    places, texts = pd.factorize(frame["parameters"])
    has_rate = [open_loop_rate(json.loads(str(text))) is not None for text in texts]
    return np.asarray(np.array(has_rate, np.bool_)[places] & loaded)
