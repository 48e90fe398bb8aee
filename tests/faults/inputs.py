"""Input that nobody would write: a clear message or a labelled run, never a traceback or a hang."""
