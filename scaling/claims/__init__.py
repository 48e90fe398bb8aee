"""Claims: what others say of asyncio and of threads without the GIL, held against our figures.

judge([scaling.read("results/million")])    each claim with its word, our figure and theirs
table(…)                                    the same as a pandas frame
"""

from scaling.claims.claims import Claim, Claims, Source
from scaling.claims.judging import JudgedClaim, judge
from scaling.claims.reading import read_claims
from scaling.claims.rows import table

__all__ = ["Claim", "Claims", "JudgedClaim", "Source", "judge", "read_claims", "table"]
