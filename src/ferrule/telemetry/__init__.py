"""What happened: the log, and how it is read again."""
