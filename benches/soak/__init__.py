"""Programs that hurt the runtime for as long as they are told to, and count what was lost."""
