"""The version of the package: that of the library that it is made with, whose first number must be the same."""
__version__ = "0.1.0"
