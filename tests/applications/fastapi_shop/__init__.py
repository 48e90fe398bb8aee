"""A shop's API: FastAPI with Pydantic models, dependencies and validation."""
