"""Where the programs are that a wheel brings: an install prefix inside the package (cmake/TctuneWheel.cmake)."""
import os

from ._version import __version__

HERE = os.path.dirname(os.path.abspath(__file__))
ABI = __version__.split(".")[:2]  # of libraries that this package may use
SONAME = "libtctune.so." + ".".join(ABI)
LIBRARY = os.path.join(HERE, "lib", SONAME)
COMMAND = os.path.join(HERE, "bin", "tctune")
