"""What each cell loses, as one JSON object: `scaling explain --json`."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scaling.analysis.attribution.cells import Attribution, Loss
from scaling.analysis.attribution.terms import TERMS
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.estimate import Estimate
from scaling.analysis.table.stacks import NS_PER_S
from scaling.journal.profile import read_profiles
from scaling.report.tables.loss_sentences import sentences
from scaling.study.caveats import caveats


def explained_json(results: StudyResults) -> str:
    """The object: the study's name, its `cells`, each a loss, and the functions of its `profile`.

    What is not known is null.
    """
    document = {
        "study": results.study.name,
        "caveats": caveats(results.study),
        "cells": [_cell(each) for each in results.attributions],
        "profile": list(_functions(results.path)),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _functions(path: Path | None) -> Iterator[dict[str, Any]]:
    """Every function named in the profiles beside the journal, and the sums of the others."""
    for profile in read_profiles(path.parent) if path else ():
        for part in profile.parts:
            for each in [*part.functions, *([part.rest] if part.rest else [])]:
                cell = {"cell": profile.text, "workers": profile.cell.workers}
                yield cell | msgspec.structs.asdict(each)


def _cell(each: Attribution) -> dict[str, Any]:
    key = each.runs.curves[0].key
    losses = {loss.term.name: loss for loss in each.losses}
    terms = {term.name: _terms(losses.get(term.name)) for term in TERMS}
    factors = {term.name: _factor(losses.get(term.name)) for term in TERMS}
    return {
        "cell": each.name,
        "workload": key.workload,
        "parameters": dict(key.parameters),
        "sizing": key.sizing,
        "loop": each.runs.loop,
        "arm": each.of.arm,
        "model": each.of.model,
        "workers": each.workers,
        "blocks": each.blocks,
        "terms_ns": terms | {"total": _terms(each.whole)},
        "factors": None if each.is_rated else factors | {"efficiency": _factor(each.whole)},
        "largest": each.largest.term.name if each.largest else None,
        "machine_ns": _in_ns(each.shared.machine) if each.shared else None,
        "sharing_ns": _in_ns(each.shared.sharing) if each.shared else None,
        "waits": each.waits,
        "one_term": each.one_term,
        "sentence": " ".join(sentences(each)),
    }


def _terms(loss: Loss | None) -> dict[str, Any] | None:
    if loss is None or not loss.at_n.n:
        return None
    shown = {"at_1": loss.at_one, "at_n": loss.at_n, "loss": loss.loss}
    return {name: _in_ns(value) for name, value in shown.items()}


def _factor(loss: Loss | None) -> dict[str, float | None] | None:
    return _bounds(loss.factor) if loss is not None and loss.factor.n else None


def _in_ns(value: Estimate) -> dict[str, float | None]:
    return _bounds(value.scaled(NS_PER_S, "ns"))


def _bounds(value: Estimate) -> dict[str, float | None]:
    """The value with its interval; below six blocks there is none."""
    known = value.coverage is not None
    bounds = {"low": value.low if known else math.nan, "high": value.high if known else math.nan}
    every = {"value": value.point} | bounds
    return {name: each if math.isfinite(each) else None for name, each in every.items()}
