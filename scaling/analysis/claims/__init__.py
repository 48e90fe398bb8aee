"""Claims that others make about asyncio and threads without the GIL, compared with our figures.

judge([scaling.read("results/million")])    each claim with its verdict, our figure and theirs
table(…)                                    the same as a pandas frame
"""

from scaling.analysis.claims.claim import Claim, Claims, Source
from scaling.analysis.claims.judging import JudgedClaim, judge, table
from scaling.analysis.claims.reading import read_claims

__all__ = ["Claim", "Claims", "JudgedClaim", "Source", "judge", "read_claims", "table"]
