"""Readiness of an application's requirements for a free-threaded build."""
