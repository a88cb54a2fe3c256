"""The version of the package: that of the library that it is made with, whose first two numbers must be the same."""
__version__ = "0.2.0"
