"""Figures of a study, drawn from its table alone: throughput, speed-up and efficiency, memory."""

from scaling.report.plots.draw import draw_all
from scaling.report.plots.single import drawn

__all__ = ["draw_all", "drawn"]
