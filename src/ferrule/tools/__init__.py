"""Built-in tools, one file each; they touch the world only through the handles of their context."""
