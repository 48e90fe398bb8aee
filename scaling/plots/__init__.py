"""Figures of a study, drawn from its table alone: throughput, speed-up and efficiency, memory."""

from scaling.plots.draw import draw_all

__all__ = ["draw_all"]
