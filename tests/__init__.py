"""Tests; the folders mirror src/ferrule/."""
