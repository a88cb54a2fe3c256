"""The command `tctune`: the one that came with this package, else the system's.

    python3 -m tctune tune bert.onnx --trials 2000
"""
import os
import shutil
import sys
from typing import List, NoReturn

from ._place import COMMAND


def program() -> List[str]:
    """The command's file, as the start of an argument list."""
    found = COMMAND if os.path.exists(COMMAND) else shutil.which("tctune")
    if found is None:
        sys.exit("tctune: this package came without the command, and there is none in PATH: install Debian's package tctune, or a "
                 "wheel that "
                 "`pip wheel .` made")
    return [found]


def main() -> NoReturn:
    """Becomes the command, which has this process's arguments, terminal and exit status."""
    words = program() + sys.argv[1:]
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
