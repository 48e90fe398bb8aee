"""`python -m workers.site`: the news site under its earlier name.

An alias of `python -m workers.services.site`, kept because README and scripts have used it.
"""

from workers.services.serving import run_program
from workers.services.site.__main__ import main

if __name__ == "__main__":
    run_program(main)
