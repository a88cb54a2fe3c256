"""The example in Python, as a user would run it; with a real network where that is named."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tctune

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/tune.py"


def test_tunes_bert_tiny():
    """What the example is for: a network that people run."""
    if not os.environ.get("TCTUNE_TEST_FULL"):
        pytest.skip("it tunes bert-tiny, and runs in ./test.sh --full")
    tctune.zoo("bert-tiny", "bert.onnx")
    done = subprocess.run([sys.executable, EXAMPLE, "bert.onnx", "24"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Softmax" in done.stdout, done.stderr


def test_tunes_builds_runs_and_profiles(network):
    assert len(EXAMPLE.read_text().splitlines()) <= 10
    done = subprocess.run([sys.executable, EXAMPLE, network, "8"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shapes, *kernels = done.stdout.splitlines()
    assert shapes.startswith("{'") and kernels and all(re.match(r" *[\d.]+ us  \d+x  \S", k) for k in kernels)
    assert os.path.exists("tctune.db")
    done = subprocess.run([sys.executable, EXAMPLE, "none.onnx", "8"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "BadInput: cannot read 'none.onnx'" in done.stderr
