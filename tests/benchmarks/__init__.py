"""What the instrument itself costs, as ratios against targets: `python -m tests.benchmarks`.

Nothing here is a test: a busy machine misses a target without anything being wrong. Run it in an
environment of a study; the children are measured with the interpreter that runs it.
"""
