"""Makes standard input the controlling terminal, so that typed keys become signals; then becomes the program."""

from __future__ import annotations

import fcntl
import os
import sys
import termios

if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.execv(sys.executable, [sys.executable, "-m", "ferrule", *sys.argv[1:]])
