"""``python -m ferrule`` and the installed command ``ferrule``."""

from __future__ import annotations

import sys

from .cli.front import front


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(front(sys.argv[1:]))


if __name__ == "__main__":
    main()
