"""Draws `turns.svg` from the `turns.json` beside it: `python -m tests.benchmarks.turns_picture`.

Two cells over time, one run after the other and in turn: the rate in each part of their windows,
from the ticks of real runs. `python -m tests.benchmarks.turns_picture --measure` makes these anew,
on the interpreter that it runs on, in ten seconds.
"""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from scaling.journal.record import Record
from tests.benchmarks.alternation import MODELS, WAYS
from tests.support.children import ROOT

PUBLISHED = ROOT / "results" / "published" / "turns"
CELL: Mapping[str, Any] = {"workload": "echo", "loop": "asyncio"}
WINDOW_S = 2.0
PARTS = 20  # of each window
TITLES = {"one by one": "one run after the other", "in turn": "in turn"}

type Part = tuple[float, float, float]  # from and until, s of the block, and operations per second


@dataclass(frozen=True)
class Turns:
    """What is in `turns.json`: of each way, of each model, the parts of its window."""

    python: str
    window_s: float
    ways: Mapping[str, Mapping[str, Sequence[Part]]]

    @classmethod
    def measured(cls) -> Self:
        """Measure a block in each way."""
        ways = {}
        for name, way in WAYS.items():
            records = dict(zip(MODELS, way(CELL, WINDOW_S).records, strict=True))
            first_ns = min(_slices(each)[0][0] for each in records.values())
            ways[name] = {model: parts(each, first_ns) for model, each in records.items()}
        return cls(platform.python_version(), WINDOW_S, ways)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What was measured before."""
        return cls(**json.loads((folder / "turns.json").read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        """Write `turns.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1)
        (folder / "turns.json").write_text(f"{text}\n", encoding="utf-8")

    def ratio(self, way: str) -> float:
        """Threads over processes."""
        threads, processes = (mean_rate(self.ways[way][model]) for model in MODELS)
        return threads / processes


def parts(record: Record, from_ns: int) -> list[Part]:
    """Parts of a window, in s from an instant: each slice, or as many equal parts as asked for."""
    ticks = [each.ticks for each in record.workers]
    slices = _slices(record)
    count = len(slices) if record.in_slices else PARTS
    step = (len(ticks[0].time_ns) - 1) // count
    edges = range(0, count * step + 1, step)
    found = []
    for number, (start, end) in enumerate(pairwise(edges)):
        done = sum(each.operations[end] - each.operations[start] for each in ticks)
        took_s = (ticks[0].time_ns[end] - ticks[0].time_ns[start]) / 1e9
        opened_ns = slices[number][0] if record.in_slices else ticks[0].time_ns[start]
        opened_s = (opened_ns - from_ns) / 1e9
        found.append((round(opened_s, 4), round(opened_s + took_s, 4), round(done / took_s, 1)))
    return found


def _slices(record: Record) -> list[tuple[int, int]]:
    """When each slice of the first worker opened and closed; without any, its window."""
    worker = record.workers[0]
    if worker.slices:
        return list(zip(worker.slices.opened_ns, worker.slices.closed_ns, strict=True))
    return [(worker.ticks.time_ns[0], worker.ticks.time_ns[-1])]


def mean_rate(found: Sequence[Part]) -> float:
    """Operations per second over all parts."""
    done = sum((until_s - from_s) * rate for from_s, until_s, rate in found)
    return done / sum(until_s - from_s for from_s, until_s, _ in found)


def draw(folder: Path, *formats: str) -> list[Path]:
    """Write the picture beside its data, as SVG unless `formats` say otherwise."""
    import matplotlib as mpl  # not needed where it is measured
    from matplotlib.lines import Line2D

    from scaling.report.plots.sheet import Layout, new_sheet
    from scaling.report.plots.style import INK, RC, SPARE

    found = Turns.read(folder)
    colours = dict(zip(MODELS, (SPARE[1], SPARE[4]), strict=True))
    with mpl.rc_context(RC):
        key = [
            Line2D([], [], label=f"2 {model}", color=colour, lw=2.2)
            for model, colour in colours.items()
        ]
        sheet = new_sheet(
            "Two cells over time, one run after the other and in turn",
            "echo on asyncio, 2 workers; round trips per second in each part of the window",
            key,
            caption(found),
            Layout(len(WAYS), 1, panel_in=1.7),
        )
        top = max(rate for way in found.ways.values() for each in way.values() for *_, rate in each)
        last_s = max(
            until for way in found.ways.values() for each in way.values() for _, until, _ in each
        )
        for axes, (name, cells) in zip(sheet.all_panels, found.ways.items(), strict=True):
            for model, each in cells.items():
                for from_s, until_s, rate in each:
                    axes.plot(
                        [from_s, until_s], [rate, rate], color=colours[model], lw=2.2, gid=model
                    )
            title = f"{TITLES[name]}: threads over processes {found.ratio(name):.3f}"
            axes.set_title(title, loc="left", pad=7, color=INK, fontweight="bold")
            axes.set_ylim(0, 1.08 * top)
            axes.set_xlim(-0.01 * last_s, 1.02 * last_s)
            axes.set_ylabel("round trips/s")
        sheet.all_panels[-1].set_xlabel("seconds since the first window opened")
        return sheet.save(folder / "turns", formats or ("svg",))


def caption(found: Turns) -> str:
    """What is seen."""
    return (
        f"One block in each way, windows of {found.window_s:g} s, on two shared CPUs. "
        "Above, a change of the machine happens to one of the two cells. Below, both are "
        "alive, one of them works and the other is stopped, and it happens to both. The time in "
        f"which a cell is stopped is in none of its figures. CPython {found.python}"
    )


def main(arguments: Sequence[str]) -> None:
    """Measure or draw."""
    if "--measure" in arguments:
        Turns.measured().write(PUBLISHED)
    else:
        draw(PUBLISHED)


if __name__ == "__main__":
    main(sys.argv[1:])
