"""The runs of an open loop, by what is compared at several rates."""

import json
from typing import NamedTuple

import pandas as pd

from scaling.analysis.comparison.paired import Configuration
from scaling.analysis.table.groups import Key, in_open_loop, originals
from scaling.study.load import RATE, open_loop_rate


class Subject(NamedTuple):
    """What is loaded: a workload with its parameters but for the rate (JSON), on one loop."""

    workload: str
    parameters: str
    sizing: str
    loop: str


def subject_of(key: Key) -> Subject:
    """The subject of a curve."""
    return Subject(key.workload, _without_rate(key.parameters), key.sizing, key.loop)


def open_loop_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that count: valid, the last attempt, no A/A duplicate; in an open loop.

    Three columns are added: `rate`, `subject` and `configuration`.
    """
    runs = originals(frame[frame["valid"] & in_open_loop(frame)])
    read = {text: json.loads(text) for text in map(str, runs["parameters"].unique())}
    rates = {text: open_loop_rate(parameters) for text, parameters in read.items()}
    rest = {text: _without_rate(text) for text in read}
    texts = runs["parameters"].astype(str)
    subjects = zip(runs["workload"], texts, runs["sizing"], runs["loop"], strict=True)
    who = zip(runs["arm"], runs["model"], runs["workers"], strict=True)
    added = {
        "rate": [rates[text] for text in texts],
        "subject": [Subject(str(w), rest[p], str(s), str(lo)) for w, p, s, lo in subjects],
        "configuration": [Configuration(str(arm), str(model), int(n)) for arm, model, n in who],
    }
    runs = runs.assign(**{name: pd.Series(each, runs.index) for name, each in added.items()})
    return runs.drop_duplicates(["subject", "configuration", "rate", "block"], keep="last")


def _without_rate(parameters: str) -> str:
    others = {name: value for name, value in json.loads(parameters).items() if name != RATE}
    return json.dumps(others, sort_keys=True)
