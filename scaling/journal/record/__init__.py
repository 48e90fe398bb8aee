"""The shapes of everything that is written down: one agreement of child, driver and analysis.

What a child prints, the study and the lines of its journal have a file each; all names are here.
"""

from scaling.journal.record.line import SCHEMA as SCHEMA
from scaling.journal.record.line import CeilingLine as CeilingLine
from scaling.journal.record.line import Disturbance as Disturbance
from scaling.journal.record.line import Key as Key
from scaling.journal.record.line import Line as Line
from scaling.journal.record.line import Load as Load
from scaling.journal.record.line import Memory as Memory
from scaling.journal.record.line import Outcome as Outcome
from scaling.journal.record.line import Overload as Overload
from scaling.journal.record.line import RunLine as RunLine
from scaling.journal.record.line import ServiceUse as ServiceUse
from scaling.journal.record.line import SetAsideLine as SetAsideLine
from scaling.journal.record.line import SubWindow as SubWindow
from scaling.journal.record.line import Waits as Waits
from scaling.journal.record.line import decode_description as decode_description
from scaling.journal.record.line import decode_head as decode_head
from scaling.journal.record.line import decode_line as decode_line
from scaling.journal.record.line import decode_record as decode_record
from scaling.journal.record.line import encode_line as encode_line
from scaling.journal.record.of_child import Description as Description
from scaling.journal.record.of_child import Environment as Environment
from scaling.journal.record.of_child import Failure as Failure
from scaling.journal.record.of_child import GilStates as GilStates
from scaling.journal.record.of_child import Holds as Holds
from scaling.journal.record.of_child import Instants as Instants
from scaling.journal.record.of_child import Latency as Latency
from scaling.journal.record.of_child import LoopFacts as LoopFacts
from scaling.journal.record.of_child import Offer as Offer
from scaling.journal.record.of_child import Outside as Outside
from scaling.journal.record.of_child import ParameterFacts as ParameterFacts
from scaling.journal.record.of_child import ParameterValue as ParameterValue
from scaling.journal.record.of_child import ProcessFacts as ProcessFacts
from scaling.journal.record.of_child import PythonFacts as PythonFacts
from scaling.journal.record.of_child import Record as Record
from scaling.journal.record.of_child import Refusal as Refusal
from scaling.journal.record.of_child import Rounds as Rounds
from scaling.journal.record.of_child import Switch as Switch
from scaling.journal.record.of_child import ThreadUse as ThreadUse
from scaling.journal.record.of_child import Ticks as Ticks
from scaling.journal.record.of_child import Uneven as Uneven
from scaling.journal.record.of_child import WorkerRecord as WorkerRecord
from scaling.journal.record.of_child import WorkloadFacts as WorkloadFacts
from scaling.journal.record.of_study import ArmRecord as ArmRecord
from scaling.journal.record.of_study import Calibration as Calibration
from scaling.journal.record.of_study import Cell as Cell
from scaling.journal.record.of_study import Machine as Machine
from scaling.journal.record.of_study import Parameters as Parameters
from scaling.journal.record.of_study import Placement as Placement
from scaling.journal.record.of_study import ReadBack as ReadBack
from scaling.journal.record.of_study import RefusedCells as RefusedCells
from scaling.journal.record.of_study import Region as Region
from scaling.journal.record.of_study import StudyLine as StudyLine
from scaling.journal.record.of_study import WorkloadNote as WorkloadNote
