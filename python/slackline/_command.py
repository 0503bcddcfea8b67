"""The command `slackline`: the same code as the module."""

from __future__ import annotations

import sys

from . import _native


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit code."""
    sys.stdout.flush()
    return _native.command(["slackline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
