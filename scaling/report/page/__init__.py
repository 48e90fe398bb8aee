"""A study told on one page of HTML: what was asked, the answer in words, every figure behind it."""
