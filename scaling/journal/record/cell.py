"""One cell of a study: frozen and hashable, so that it is the key of whatever is known of it."""

import json
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Literal, Self

import msgspec

from scaling.journal.record.description import ParameterValue

type Region = Literal["cores", "smt", "oversubscribed"]

_encoder = msgspec.json.Encoder(order="sorted")
_known: dict[str, "Parameters"] = {}
_measured = attrgetter(
    *("workload", "parameters", "loop", "arm", "model", "workers", "sizing", "pinning", "twin")
)


class Parameters(dict[str, ParameterValue]):
    """The parameters of a workload in the order of their names; never changed once it is made.

    `text` is the same as JSON. Equal parameters are one object: `Parameters.of` returns it.
    """

    __slots__ = ("text",)
    text: str

    @classmethod
    def of(cls, values: Mapping[str, ParameterValue]) -> "Parameters":
        """The parameters with these values."""
        if isinstance(values, cls):
            return values
        text = _encoder.encode(values).decode()
        return _known.get(text) or cls.read(text)

    @classmethod
    def read(cls, text: str) -> "Parameters":
        """The parameters that this JSON has, its keys sorted."""
        known = _known.get(text)
        if known is None:
            known = _known[text] = cls(json.loads(text))
            known.text = text
        return known

    def but(self, **changed: ParameterValue) -> "Parameters":
        """The same with other values of some of them."""
        return Parameters.of({**self, **changed})

    def without(self, *names: str) -> "Parameters":
        """The same without some of them."""
        return Parameters.of({name: self[name] for name in self if name not in names})

    def __reduce__(self) -> tuple[Callable[[str], "Parameters"], tuple[str]]:
        """Copies and what another process sends are the one object, too."""
        return Parameters.read, (self.text,)

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none, since it may change

    def __eq__(self, other: object) -> bool:
        """Whether the two are one: 1 is not 1.0, nor true."""
        if isinstance(other, Parameters):
            return self is other
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


class Cell(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One point of the study. `parameters` are all of the workload's (`Parameters`).

    `pinning` has the CPUs of each worker; None leaves that to the kernel. A `twin` repeats another
    cell in every block without any difference (an A/A pair): its ratio to that cell is noise.
    The `region` follows from the machine, so cells that differ in nothing else are equal.
    """

    workload: str
    parameters: Mapping[str, ParameterValue] = Parameters.of({})
    loop: str
    arm: str
    model: str
    workers: int
    sizing: str = "weak"
    region: Region | None = None
    pinning: tuple[tuple[int, ...], ...] | None = None
    twin: bool = False

    def __post_init__(self) -> None:
        """Make the parameters hashable, however they were given."""
        msgspec.structs.force_setattr(self, "parameters", Parameters.of(self.parameters))

    def __hash__(self) -> int:
        return hash(_measured(self))

    def __eq__(self, other: object) -> bool:
        """Whether the same is measured, wherever it runs."""
        if not isinstance(other, Cell):
            return NotImplemented
        return self is other or bool(_measured(self) == _measured(other))

    def but(self, **changed: Any) -> Self:
        """The same cell with other values of some fields."""
        return msgspec.structs.replace(self, **changed)
