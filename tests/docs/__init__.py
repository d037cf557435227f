"""Documents that run."""
