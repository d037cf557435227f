"""Measurements: none of them is a test, none is imported by the runtime."""
