"""The site: deterministic news pages with the structure of Hacker News, for scraping.

To try it: `python -m workers.services.site`. It runs in separate processes, so that its own cost
is not part of the cost of scraping it.
"""
