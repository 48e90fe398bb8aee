"""Figures of a study, drawn from its table alone: throughput, speed-up and efficiency, memory.

Nothing is imported here: their words are also printed where nothing is drawn.
"""
