"""Values that several of the shapes share, and the schema that all of them are of."""

from typing import Literal

SCHEMA = 1

type ParameterValue = bool | int | float | str | None
type Outcome = Literal["measured", "failed", "crashed", "timed-out", "garbled"]
type Region = Literal["cores", "smt", "oversubscribed"]
