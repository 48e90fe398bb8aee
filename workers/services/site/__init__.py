"""A small news site for scraping: deterministic pages with the structure of Hacker News.

`python -m workers.services.site` serves it for anyone to try. It runs in processes of its own, so
what it costs is never mistaken for the cost of scraping it.
"""
