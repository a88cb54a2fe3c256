"""Puts what the C API's headers declare into the package, so that an installed one needs neither them nor a parser."""
import os
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "python", "tctune"))
import _declare  # noqa: E402  pylint: disable=wrong-import-position


class BuildPackage(build_py):
    """build_py, and the module `_declared`."""

    def run(self):
        super().run()
        if not self.editable_mode:  # that reads the headers themselves
            _declare.write(os.path.join(HERE, "include"), os.path.join(self.build_lib, "tctune", "_declared.py"))


setup(cmdclass={"build_py": BuildPackage}, options={"build": {"build_base": os.path.join("build", "python")}})
