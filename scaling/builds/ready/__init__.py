"""Whether what an application requires can be used on a free-threaded build."""
