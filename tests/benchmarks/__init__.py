"""What the instrument itself costs and finds, against targets: `python -m tests.benchmarks`.

Nothing here is a test: a busy machine misses a target without anything being wrong. Children are
measured with the interpreter that runs it, which must be that of an environment of the tests.
"""
