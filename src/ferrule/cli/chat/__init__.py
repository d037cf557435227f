"""The conversation in the terminal: what is typed, what is shown, and the commands that begin with a slash."""
