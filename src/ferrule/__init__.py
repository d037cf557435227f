"""Ferrule: a self-hosted AI-agent runtime."""
