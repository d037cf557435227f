"""``python -m ferrule`` and the installed command ``ferrule``."""

from __future__ import annotations

import sys

from .cli.front import fail, front
from .cli.standard_streams import take_over
from .types.errors import UsageError


def main() -> None:
    """Run the command line and exit with its code."""
    output, was_open = take_over()
    if was_open:
        code = front(sys.argv[1:])
    else:
        code = fail(
            UsageError("standard output is closed", hint="let it go somewhere; >/dev/null when nobody reads it")
        )
    output.give_up()
    sys.exit(code)


if __name__ == "__main__":
    main()
