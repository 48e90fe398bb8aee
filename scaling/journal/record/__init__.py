"""The shapes of everything that is written down: one agreement of child, driver and analysis.

A file for each thing that is described; all of their names are here.
"""

from scaling.journal.record.description import (
    Description,
    Environment,
    Offer,
    ParameterFacts,
    PythonFacts,
    Refusal,
    Uneven,
    WorkloadFacts,
)
from scaling.journal.record.line import (
    CeilingLine,
    Line,
    LineHead,
    SetAsideLine,
    decode_description,
    decode_head,
    decode_line,
    decode_record,
    encode_line,
)
from scaling.journal.record.of_child import (
    Failure,
    GilStates,
    Instants,
    Latency,
    LoopFacts,
    ProcessFacts,
    Record,
    Switch,
    Ticks,
    WorkerRecord,
)
from scaling.journal.record.of_load import Load, SubWindow
from scaling.journal.record.of_run import Cell, Disturbance, Memory, RunLine, ServiceUse
from scaling.journal.record.of_study import (
    ArmRecord,
    Calibration,
    Machine,
    ReadBack,
    StudyLine,
    WorkloadNote,
)
from scaling.journal.record.values import SCHEMA, Outcome, ParameterValue, Region

__all__ = [
    "SCHEMA",
    "ArmRecord",
    "Calibration",
    "CeilingLine",
    "Cell",
    "Description",
    "Disturbance",
    "Environment",
    "Failure",
    "GilStates",
    "Instants",
    "Latency",
    "Line",
    "LineHead",
    "Load",
    "LoopFacts",
    "Machine",
    "Memory",
    "Offer",
    "Outcome",
    "ParameterFacts",
    "ParameterValue",
    "ProcessFacts",
    "PythonFacts",
    "ReadBack",
    "Record",
    "Refusal",
    "Region",
    "RunLine",
    "ServiceUse",
    "SetAsideLine",
    "StudyLine",
    "SubWindow",
    "Switch",
    "Ticks",
    "Uneven",
    "WorkerRecord",
    "WorkloadFacts",
    "WorkloadNote",
    "decode_description",
    "decode_head",
    "decode_line",
    "decode_record",
    "encode_line",
]
