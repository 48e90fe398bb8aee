"""The former names of `tests.support.served_studies`, for tests that are not changed yet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scaling.analysis.table.load import Journal, read_journal
from scaling.journal.record import Cell, Line, ParameterValue
from tests.support.runs import Change, collecting
from tests.support.served_studies import FakeServedStudy, histogram, timed

__all__ = ["Served", "cells_of", "collecting", "histogram", "journal", "studied", "timed"]


@dataclass(frozen=True)
class Served:
    """Fields of a `FakeServedStudy` by their former names."""

    name: str = "served"
    configurations: Sequence[tuple[str, str]] = (("3.14t", "threads"), ("3.14", "processes"))
    speeds: Mapping[tuple[str, str], float] = field(default_factory=dict)
    workers: Sequence[int] = (1, 2)
    rates: Sequence[float] = (200.0, 400.0, 800.0)
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    blocks: int = 3
    window_s: float = 10.0
    noise: float = 0.01
    connections: int = 16
    generator_cpu_s: float = 15e-6
    server_cpu_s: float | None = None
    slip_s: float = 20e-6
    busy_fraction: float | None = None
    cores: int = 8
    seed: int = 1
    aa_pairs: bool = False

    @property
    def fake(self) -> FakeServedStudy:
        """The study."""
        named = {**vars(self), "logical": self.cores, "speed_noise": self.noise}
        named["answers_per_s"] = named.pop("speeds")
        return FakeServedStudy(**{**named, "noise": 0.015})

    def capacity_per_s(
        self, configuration: tuple[str, str], workers: int, limit_s: float, share: float = 0.99
    ) -> float:
        """The rate at which the percentile `share` of all workers' requests is `limit_s`."""
        return self.fake.capacity_per_s(configuration, workers, limit_s, share)


def journal(served: Served, change: Change | None = None) -> list[Line]:
    """The study line and one run per cell and block, in a seeded random order."""
    return replace(served.fake, change=change).lines


def studied(folder: Path, served: Served, change: Change | None = None) -> Journal:
    """A fake study, written to `folder` and read back."""
    return read_journal(replace(served.fake, change=change).write(folder))


def cells_of(served: Served) -> Iterable[Cell]:
    """One for each configuration, N and rate."""
    return replace(served.fake, aa_pairs=False).every_cell
