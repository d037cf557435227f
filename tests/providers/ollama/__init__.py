"""Provider ``ollama``, against servers on this machine that say exactly what a test wrote."""
