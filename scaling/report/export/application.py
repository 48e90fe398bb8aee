"""The answer of `scaling app` as one JSON object: `configurations` and `ship`."""

import json
import math
from typing import Any

import msgspec

from scaling.analysis.results import StudyResults
from scaling.analysis.served.ship import CopiedOnWrite, Factors, Figures, Shipped
from scaling.analysis.statistics.estimate import Estimate
from scaling.journal.beside import read_check, read_faults, read_soak
from scaling.journal.record import Cell
from scaling.report.deploy.commands import deploy_json
from scaling.report.tables.soak import soak_json
from scaling.study.caveats import caveats

# Keys of a configuration; each has its bounds beside it, as `…_low` and `…_high`.
MEASURES = {
    "throughput_per_s": "throughput_per_s",
    "p50_ms": "p50_ms",
    "p99_ms": "p99_ms",
    "cpu_ms_per_request": "cpu_ms_per_request",
    "memory_mib": "memory_mib",
    "memory_before_load_mib": "idle_mib",
    "memory_mib_per_extra_worker": "extra_mib",
    "throughput_per_s_per_core": "per_core",
    "throughput_per_s_per_gib": "per_gib",
    "start_s": "start_s",
}


def application_json(results: StudyResults) -> str:
    """The object; without a valid run, both of its lists are empty."""
    found = results.application
    document: dict[str, Any] = {
        "study": results.study.name,
        "caveats": caveats(results.study),
        "configurations": [],
        "ship": {},
    }
    if found is not None:
        document["workers"] = found.workers
        document["rate_per_s"] = _number(found.rate_per_s)
        document["configurations"] = [_configuration(each) for each in found.figures]
        document["ship"] = {_aim(each): _shipped(each) for each in found.shipped}
        document["forked_memory"] = _copied(found.copied_on_write)
        document["factors"] = {each.whole.figure: _factors(each) for each in found.factors}
    document["deploy"] = deploy_json(results)
    folder = results.path.parent if results.path else None
    document["check"] = msgspec.to_builtins(read_check(folder)) if folder else None
    document["faults"] = msgspec.to_builtins(read_faults(folder)) if folder else []
    document["soak"] = soak_json(read_soak(folder)) if folder else []
    return json.dumps(document, indent=2)


def _aim(each: Shipped) -> str:
    return each.measure if each.aim == "capacity" else each.aim


def _configuration(each: Figures) -> dict[str, Any]:
    cell = each.cell
    return {
        "arm": cell.arm,
        "model": cell.model,
        "server": each.server,
        "loop": each.loop,
        "workers": cell.workers,
        **{
            key: value
            for name, attribute in MEASURES.items()
            for key, value in _with_bounds(name, getattr(each, attribute)).items()
        },
        "errors": each.errors,
    }


def _shipped(each: Shipped) -> dict[str, Any]:
    chosen = each.cell
    return {
        "configuration": _named(chosen) if chosen else None,
        "measure": each.measure,
        "of": _named(each.ratio.of),
        "over": _named(each.ratio.over),
        "ratio": _number(each.ratio.point),
        "interval": [_number(each.ratio.low), _number(each.ratio.high)],
        "blocks": each.ratio.n,
        "verdict": each.ratio.verdict.word,
        "why": each.ratio.verdict.why,
        "in_turn": not each.ratio.why_apart,
        "why_not_in_turn": each.ratio.why_apart or None,
    }


def _factors(each: Factors) -> dict[str, Any]:
    return {
        key: value
        for name in ("whole", "build", "sharing")
        for key, value in _with_bounds(name, getattr(each, name)).items()
    }


def _copied(found: CopiedOnWrite | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "configuration": _named(found.forked.cell),
        "before_load_mib": _number(found.forked.idle_mib.point),
        "after_load_mib": _number(found.forked.memory_mib.point),
        "workers": found.workers,
        "least_mib": _number(found.least_mib),
        "most_mib": _number(found.most_mib),
    }


def _named(cell: Cell) -> dict[str, Any]:
    return {
        "arm": cell.arm,
        "model": cell.model,
        "workers": cell.workers,
    }


def _with_bounds(name: str, value: Estimate) -> dict[str, float | None]:
    return {
        name: _number(value.point),
        f"{name}_low": _number(value.low),
        f"{name}_high": _number(value.high),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
