"""The laws of a section's curves: sentences for tables, rows for a CSV file."""

import math
from collections.abc import Iterator

import pandas as pd

from scaling.analysis.laws import FEWEST_N, Fit, RegionLaw, region_laws
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.statistics.estimate import Estimate
from scaling.base import formats
from scaling.report.tables.measures import curve_name, estimate_columns, study_columns

SYMBOLS = {"gamma": "γ", "alpha": "α", "beta": "β"}


def law_lines(section: Section) -> list[str]:
    """A sentence for each curve and region with a law, then what is known of those without.

    Nothing is said of a curve that has one N.
    """
    laws = _laws(section)
    lines = _fitted_lines(laws)
    without = [law for law in laws if not law.fit]
    for why in dict.fromkeys(law.why for law in without):
        places = dict.fromkeys(_place(law) for law in without if law.why == why)
        needed = f"a law needs {FEWEST_N} worker counts within one region"
        lines.append(f"Laws {why}: {', '.join(places)}; {needed}.")
    lines += [f"{_curve_and_place(law)}: {_serial(law)}" for law in without if law.serial_fractions]
    return lines


def fitted_lines(section: Section) -> list[str]:
    """A sentence for each curve and region with a law."""
    return _fitted_lines(_laws(section))


def _laws(section: Section) -> list[RegionLaw]:
    curves = (curve for curve in section.curves if len(curve.points) > 1)
    return [law for curve in curves for law in region_laws(curve)]


def _fitted_lines(laws: list[RegionLaw]) -> list[str]:
    return [f"{_curve_and_place(law)}: {_fitted(law.fit, law.weight)}" for law in laws if law.fit]


def _curve_and_place(law: RegionLaw) -> str:
    return f"{curve_name(law.curve)}, {_place(law)}"


def _place(law: RegionLaw) -> str:
    first, last = law.workers[0], law.workers[-1]
    span = f"{first}–{last}" if first < last else f"{first}"
    return f"N = {span} ({law.region or 'region unknown'})"


def _fitted(fit: Fit, weight: float) -> str:
    """As in `USL: γ 30,100/s (…), α 0.02 (…), β 0.001 (…), peak at N = 31.3 (…); …`."""
    lines = [
        f"{SYMBOLS[name]} {_figure(fit.estimate(name), '/s' if name == 'gamma' else '')}"
        for name in fit.law.parameters
    ]
    if "peak" in fit.intervals:
        lines.append(_peak(fit.estimate("peak")))
    text = f"{fit.law.name}: {', '.join(lines)}; AICc weight {weight:.2f}"
    if fit.at_bound:
        names = " and ".join(SYMBOLS[name] for name in fit.at_bound)
        text += f"; {names} at the bound, the limit that was allowed"
    return f"{text}; 95 % intervals by {fit.method}."


def _peak(value: Estimate) -> str:
    """Where throughput is highest; below 1, one worker is best."""
    if value.high <= 1:
        return "highest at N = 1"
    return f"peak at N = {_figure(value)}"


def _serial(law: RegionLaw) -> str:
    each = (f"{_figure(value)} at N = {n}" for n, value in law.serial_fractions.items() if value.n)
    return f"serial fraction (Karp–Flatt) {', '.join(each)}."


def _figure(value: Estimate, unit: str = "") -> str:
    """As `str` of an estimate, with a unit, and ∞ for a peak that is nowhere."""

    def number(figure: float) -> str:
        return "∞" if figure == math.inf else formats.number(figure)

    if value.n < 2 or value.low == value.high:
        return f"{number(value.point)}{unit}"
    return f"{number(value.point)}{unit} ({formats.span(number(value.low), number(value.high))})"


def law_rows(results: StudyResults) -> pd.DataFrame:
    """One row a figure: a law's parameter, or the serial fraction at one N.

    Columns: the curve (study, workload, parameters, sizing, loop, arm, model); `region`, and the
    `points` there from `n_min` to `n_max`; `law`, or `not_fitted` with why; its `aicc_weight`; the
    `figure` (gamma in operations/s, alpha, beta, peak, serial_fraction at `workers`) with its
    `value` (`estimate_columns`) and whether that is `at_bound`; what the study's `controls` say,
    and its `scale`.
    """
    about = study_columns(results)
    rows = [
        _curve(law) | figure | about
        for section in results.sections
        for curve in section.curves
        for law in region_laws(curve)
        for figure in _figures(law)
    ]
    return pd.DataFrame(rows)


def _curve(law: RegionLaw) -> dict[str, object]:
    return {
        **law.curve.names,
        "region": law.region,
        "points": len(law.workers),
        "n_min": law.workers[0],
        "n_max": law.workers[-1],
        "law": law.fit.law.name if law.fit else None,
        "not_fitted": law.why,
        "aicc_weight": law.weight if law.fit else None,
    }


def _figures(law: RegionLaw) -> Iterator[dict[str, object]]:
    if law.fit:
        for name in law.fit.intervals:
            yield _row(name, None, law.fit.estimate(name), name in law.fit.at_bound)
    for n, value in law.serial_fractions.items():
        yield _row("serial_fraction", n, value)
    if not law.fit and not law.serial_fractions:
        yield {"figure": None}


def _row(
    name: str, workers: int | None, value: Estimate, at_bound: bool = False
) -> dict[str, object]:
    return {
        "figure": name,
        "workers": workers,
        **estimate_columns("value", value),
        "at_bound": at_bound,
    }
