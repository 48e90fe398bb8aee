"""Reports of results: tables, plots, pages, terminal, exports, published folders."""
