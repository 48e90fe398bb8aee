"""The null server: it gives every request the same answer and looks at none.

It costs less than any server in Python, so how fast a load generator loads it is the generator's
own ceiling. To try it: `python -m workers.services.null`.
"""
