"""Builds what the package has besides its modules: what the C API's headers declare, and libtctune with its worker and the command.

    pip wheel --no-build-isolation .                        a wheel with all of it, built by CMake (preset `wheel`)
    TCTUNE_PURE_PYTHON=1 pip install --no-build-isolation . the modules alone, for a libtctune that is installed already
"""
import os
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools 70 and later
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
PURE = os.environ.get("TCTUNE_PURE_PYTHON", "0") not in ("", "0")
COMPONENTS = ("library", "bundle")
sys.path.insert(0, os.path.join(HERE, "python", "tctune"))
import _declare  # noqa: E402  pylint: disable=wrong-import-position


def cmake(*arguments):
    """Runs CMake in the source tree; pip shows what it prints where it fails."""
    try:
        subprocess.run(["cmake", *arguments], cwd=HERE, check=True)
    except FileNotFoundError:
        sys.exit("tctune: building libtctune needs CMake: run scripts/install-deps.sh, or set TCTUNE_PURE_PYTHON=1 and use an "
                 "installed libtctune")
    except subprocess.CalledProcessError as e:
        sys.exit(f"tctune: `{' '.join(e.cmd)}` failed: see above. scripts/install-deps.sh installs what the build needs")


class BuildPackage(build_py):
    """build_py, then the module `_declared`, then the folders bin, lib and share with the programs."""

    def run(self):
        super().run()
        if self.editable_mode:  # reads the headers itself, and takes the library that TCTUNE_LIBRARY names
            return
        package = os.path.join(os.path.abspath(self.build_lib), "tctune")
        _declare.write(os.path.join(HERE, "include"), os.path.join(package, "_declared.py"))
        if PURE:
            return
        for folder in ("bin", "lib", "share"):
            shutil.rmtree(os.path.join(package, folder), ignore_errors=True)
        cmake("--preset", "wheel")
        cmake("--build", "--preset", "wheel", "--target", "tctune", "tctune_shared")
        for component in COMPONENTS:
            cmake("--install", os.path.join("build", "wheel"), "--prefix", package, "--component", component, "--strip")


class BuildWheel(bdist_wheel):
    """A wheel for every Python 3 of this platform: cffi opens the library, so nothing in it depends on Python's version."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        return (python, abi, platform) if PURE else ("py3", "none", platform)


class WithPrograms(Distribution):
    """Says that the package is not the same on every machine."""

    def has_ext_modules(self):
        return not PURE


setup(distclass=WithPrograms, cmdclass={"build_py": BuildPackage, "bdist_wheel": BuildWheel},
      entry_points={} if PURE else {"console_scripts": ["tctune = tctune.__main__:main"]},
      options={"build": {"build_base": os.path.join("build", "python")}})
