"""The command `slackline`: the same code as the module."""

from __future__ import annotations

import sys

from . import _native


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit code."""
    sys.stdout.flush()
    if "compare" in sys.argv[1:]:
        # A campaign may name methods that modules of Python register.
        from ._compare import import_methods

        sys.path.insert(0, "")
        for word in sys.argv[1:]:
            if word.endswith(".toml"):
                import_methods(word)
    return _native.command(["slackline", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
