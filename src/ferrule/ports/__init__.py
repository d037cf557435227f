"""Protocols only: the sockets into which every part fits."""
