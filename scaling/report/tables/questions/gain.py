"""What more workers gain: N workers over one, at the headline N."""

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.gain import Gain, subjects
from scaling.report.tables.findings import Finding
from scaling.report.tables.phrases import workers
from scaling.report.tables.questions.question import Question


def headline_gains(compared: Compared) -> list[Gain]:
    """For each curve that the study is about, the gain at the largest N that has a core for each
    worker; where there is none, at the largest.
    """
    found = []
    for curve in subjects(compared.runs):
        own = [gain for gain in compared.gains if gain.key == curve.key]
        on_cores = {point.workers for point in curve.points if point.region == "cores"}
        fitting = [gain for gain in own if gain.workers in on_cores]
        found += (fitting or own)[-1:]
    return found


def _findings(compared: Compared) -> list[Finding]:
    return [
        Finding(f"{workers(each.of)} over {workers(each.over)} on {each.of.arm}", each.throughput)
        for each in headline_gains(compared)
    ]


QUESTION = Question("curves", findings=_findings)
