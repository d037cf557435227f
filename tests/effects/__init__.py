"""Every key of the config changes what a user can see. These tests start the program and never read the config."""
