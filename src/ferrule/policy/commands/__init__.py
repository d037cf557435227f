"""Command lines: which are plain argv, how risky a program is, and which paths it names."""
