"""The lines of a journal, whatever they are of, and how they and a child's output are read.

Reading is tolerant: an unknown field is ignored, a value that a machine could not
supply is None. Writing is whole: every field is written, so a journal explains itself.
"""

import msgspec

from scaling.journal.record.description import Description, ParameterValue
from scaling.journal.record.of_child import Record
from scaling.journal.record.of_run import RunLine
from scaling.journal.record.of_study import StudyLine

SCHEMA = 1  # of all of the shapes


class CeilingLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ceiling"):
    """What a service can deliver at most, loaded by a client that only counts.

    `parameters` are those that the service was started with, `processes` how many it had.
    """

    service: str
    parameters: dict[str, ParameterValue] = {}
    processes: int = 1
    requests_per_s: float | None = None
    mbytes_per_s: float | None = None


class SetAsideLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="set-aside"):
    """A line that a killed writer left half-done, kept word for word. No figure needs it."""

    text: str


type Line = StudyLine | RunLine | CeilingLine | SetAsideLine


class LineHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of any line, ours or a later version's."""

    kind: str
    schema: int | None = None


KINDS = ("study", "run", "ceiling", "set-aside")

_encoder = msgspec.json.Encoder()
_lines: msgspec.json.Decoder[Line] = msgspec.json.Decoder(
    StudyLine | RunLine | CeilingLine | SetAsideLine,
)

# Each raises `msgspec.DecodeError` for anything else.
decode_head = msgspec.json.Decoder(LineHead).decode  # kind and schema of a line of any version
decode_record = msgspec.json.Decoder(Record).decode  # what a child wrote
decode_description = msgspec.json.Decoder(Description).decode  # the `--describe` document


def encode_line(line: Line, record: bytes | None = None) -> bytes:
    """One journal line, its newline included.

    `record` is what the child printed; given, it is kept with all its fields, also those that
    this version does not know, in place of the line's own `record`.
    """
    if record is None:
        return _encoder.encode(line) + b"\n"
    fields = msgspec.json.decode(_encoder.encode(line))
    fields["record"] = msgspec.json.decode(record)
    return _encoder.encode(fields) + b"\n"


def decode_line(data: bytes | str) -> Line | None:
    """A journal line, or None for a kind that this version does not know.

    Raises `msgspec.DecodeError` (of which `msgspec.ValidationError` is one) for anything else.
    """
    try:
        return _lines.decode(data)
    except msgspec.ValidationError:
        if decode_head(data).kind in KINDS:
            raise
        return None
