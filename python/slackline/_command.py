"""The command `slackline`: the same code as the module."""

from __future__ import annotations

import functools
import os
import sys
import warnings

from . import _native
from .errors import BadInput, Infeasible


@functools.cache
def set_command_path() -> None:
    """Says where the command is that tasks and pilots are started by: this process is an interpreter."""
    import sysconfig

    places = [os.path.dirname(sys.argv[0])] if os.path.basename(sys.argv[0]) == "slackline" else []
    places += [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    # `pip install --target` puts scripts beside packages.
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places += [os.path.dirname(sys.executable), os.path.join(root, "bin")]
    for place in places:
        path = os.path.abspath(os.path.join(place, "slackline"))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return _native.set_command_path(path)
    # Without the script of the installation, one for the time of this process.
    import atexit
    import shlex
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="slackline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "slackline")
    with open(path, "w", encoding="utf-8") as out:
        words = shlex.quote(sys.executable), shlex.quote(root)
        out.write('#!/bin/sh\nPYTHONPATH={1}:$PYTHONPATH exec {0} -m slackline "$@"\n'.format(*words))
    os.chmod(path, 0o700)
    _native.set_command_path(path)


def command(*words: str | os.PathLike[str]) -> str:
    """Carries out any command in this process, such as `command("explain", "run")`, and returns what it prints.

    Its warnings become warnings, its errors exceptions.
    """
    set_command_path()
    code, out, err = _native.captured(["slackline", *(os.fspath(word) for word in words)])
    said: list[str] = []
    for line in err.strip().splitlines():
        if line.startswith("warning: "):
            warnings.warn(line.removeprefix("warning: "), stacklevel=2)
        else:
            said.append(line)
    message = "\n".join(said).removeprefix("error: ")
    if code == 130:
        raise KeyboardInterrupt(message)
    if code:
        raise (BadInput if code == 2 else Infeasible)(message or out.strip())
    return out


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit code."""
    sys.stdout.flush()
    set_command_path()
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
