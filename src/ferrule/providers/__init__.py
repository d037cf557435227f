"""Model APIs: one file or folder an adapter; names that start with _ are shared."""
