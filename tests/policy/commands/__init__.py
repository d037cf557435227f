"""Command lines: the tree, the judge, the corpora."""
