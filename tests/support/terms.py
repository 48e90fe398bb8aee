"""Gives fake runs readings of where their workers' time went."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from scaling.analysis.table.time_terms import OTHER_THREADS, TERMS, WHOLE

type Terms = Mapping[str, float]  # ns per operation; those that are not named are 0
type TermsOf = Callable[[str, str, int], Terms]  # arm, model, N

IDEAL: Terms = {"user": 20_000.0, "system": 8_000.0, "collector": 500.0, "idle": 1_500.0}
NS = 1e-9


def plus(**more: float) -> Terms:
    """The ideal, and some terms larger."""
    return {**IDEAL, **{name: IDEAL.get(name, 0.0) + ns for name, ns in more.items()}}


def frame_with_terms(frame: pd.DataFrame, terms_of: TermsOf, *, noise: float) -> pd.DataFrame:
    """The frame with readings; throughput is what they say.

    Noise is of a run: all of its terms are longer or shorter by one factor.
    """
    draws = np.random.default_rng(7)
    frame = frame.copy()
    rows = []
    for run in frame.itertuples():
        terms = dict(terms_of(str(run.arm), str(run.model), int(str(run.workers))))
        factor = NS * float(np.exp(draws.normal(0, noise)))
        row = {term.column: factor * terms.get(term.name, 0.0) for term in TERMS}
        whole = float(np.nansum(list(row.values())))
        others = {OTHER_THREADS.column: factor * terms.get(OTHER_THREADS.name, 0.0)}
        rows.append(row | others | {WHOLE.column: whole if terms else np.nan})
    for term in (*TERMS, OTHER_THREADS, WHOLE):
        frame[term.column] = [row[term.column] for row in rows]
    waits = {"futex": 0.3, "epoll_wait": 0.1, "running": 0.6}
    frame["waits"] = pd.Series([waits] * len(frame), frame.index)
    from_terms = frame["workers"] / frame[WHOLE.column]
    frame["throughput_per_s"] = from_terms.fillna(frame["throughput_per_s"])
    return frame
