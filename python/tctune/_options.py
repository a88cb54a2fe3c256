"""Types that arguments of several functions have."""
import os
from typing import Any, Iterable, Literal, Mapping, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Paths = Union[None, Path, Iterable[Path]]

Sizes = Union[int, str, Sequence[int], range]
Shape = Union[None, Mapping[str, Sizes], Iterable[str]]
FixedInputs = Union[None, Mapping[str, Any], Iterable[str]]
At = Union[None, Mapping[str, int], Iterable[str]]
Constants = Union[None, Path, Mapping[str, Any]]

Accuracy = Literal["strict", "default", "fast"]
Precision = Literal["f32", "bf16", "auto"]
Team = Literal["own", "openmp"]
Mode = Literal["auto", "hot", "cold"]
