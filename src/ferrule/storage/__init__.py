"""Bytes at rest: SQLite, files that are written whole, locks, the vault."""
