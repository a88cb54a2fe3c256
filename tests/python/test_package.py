"""The package as a whole: installed without an index, what it declares, which library it takes, and what an import needs."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tctune
from tctune import _declare, _ffi

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = os.environ["TCTUNE_LIBRARY"]


def python(code, **env):
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)
    return done.stdout + done.stderr


def exported():
    table = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r" T (tctune_\w+)", table))


def test_declares_what_the_library_exports():
    text, names = _declare.declarations(str(ROOT / "include")), exported()
    declared = set(re.findall(r"\b(tctune_\w+)\(", text))
    callbacks = {name for name in declared if name not in names and re.search(rf"typedef \w+ {name}\(", text)}
    assert declared - callbacks == names
    assert all(hasattr(_ffi.lib, name) for name in names)


# Functions that Python does not call, and why.
EXCUSED = {
    "tctune_build_file": "tctune.build opens a Work first, as for all else",
    "tctune_cases_check": "verify_cases checks its options",
    "tctune_compare_check": "compare_show checks its options",
    "tctune_explain_check": "explain checks its options",
    "tctune_model_output_shape": "of the model's own context; Python's models have contexts of their own",
    "tctune_model_profile": "as tctune_model_output_shape",
    "tctune_model_run": "as tctune_model_output_shape",
    "tctune_set_log": "Python's programs read standard error",
    "tctune_status_name": "statuses are exceptions",
    "tctune_tune": "tctune.tune is a whole Session",
    "tctune_tune_check": "Session checks its options",
    "tctune_work_check": "Work checks its options",
}


def test_calls_what_the_library_exports():
    """What C can do, Python can: no function of the API is left out without a reason."""
    text = "\n".join(f.read_text() for f in (ROOT / "python/tctune").glob("*.py"))
    called = set(re.findall(r"\btctune_\w+", text))
    assert exported() - called == set(EXCUSED)


def test_versions_agree():
    cmake = re.search(r"project\(tctune VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert tctune.__version__ == tctune.library_version() == cmake


def test_needs_little():
    code = ("import sys\nfor name in ('torch', 'tqdm', 'pandas', 'IPython', 'matplotlib'): sys.modules[name] = None\n"
            "import tctune\nprint(tctune.library_version())")
    assert python(code).strip() == tctune.library_version()


def test_installs_without_an_index(tmp_path):
    """The modules alone, from a checkout, used from elsewhere with nothing but what was installed."""
    source, site = tmp_path / "source", tmp_path / "site"
    for name in ("include", "python"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation",
                          "--target", site, source],
                         env={**os.environ, "TCTUNE_PURE_PYTHON": "1"}, capture_output=True, text=True)
    if "No module named" in pip.stderr:
        pytest.skip("it needs python3-pip, python3-setuptools and python3-wheel")
    assert pip.returncode == 0, pip.stderr
    shutil.rmtree(source)
    assert sorted(p.name for p in (site / "tctune").glob("*.py")) == sorted(
        [p.name for p in (ROOT / "python/tctune").glob("*.py")] + ["_declared.py"])
    assert (site / "tctune/py.typed").exists()
    code = ("import sys; sys.modules['pycparser'] = None\nimport tctune, numpy\n"
            "m = tctune.build(tctune.te.parse('tensor X[4] f32\\ncompute Y[i:4] = X[i] + 1.0\\noutput Y'), threads=1)\n"
            "print(tctune.__file__, m(numpy.zeros(4, 'float32'))['Y'])")
    assert python(code, PYTHONPATH=str(site)).strip() == f"{site}/tctune/__init__.py [1. 1. 1. 1.]"
    # The library that a wheel brings comes before a library beside the package, and that before the system's.
    code = "import os\nos.environ.pop('TCTUNE_LIBRARY')\n" \
        "import tctune; print(tctune.library_version(), tctune._ffi._candidates()[0])"
    for place in ("tctune/" + _ffi.SONAME, "tctune/lib/" + _ffi.SONAME):
        (site / place).parent.mkdir(exist_ok=True)
        os.symlink(os.path.realpath(LIBRARY), site / place)
        assert python(code, PYTHONPATH=str(site)).split() == [tctune.library_version(), str(site / place)]
    # So does its command; without a command of its own, python3 -m tctune is the one in PATH.
    command = [sys.executable, "-m", "tctune", "--version"]
    for place in (tmp_path / "path/tctune", site / "tctune/bin/tctune"):
        place.parent.mkdir()
        place.write_text(f'#!/bin/sh\necho "{place} $*"\nexit 5\n')
        place.chmod(0o755)
        env = {**os.environ, "PYTHONPATH": str(site), "PATH": str(tmp_path / "path")}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert (done.stdout.split(), done.returncode) == ([str(place), "--version"], 5), done.stderr
    shutil.rmtree(site / "tctune/bin")
    done = subprocess.run(command, env={**env, "PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "there is none in PATH" in done.stderr


def test_wheel_lists_what_it_holds():
    """setup.py takes what CMake installs for the preset `wheel`: both name the same components."""
    install = "\n".join((ROOT / "cmake" / name).read_text() for name in ("TctuneInstall.cmake", "TctuneWheel.cmake"))
    components = re.search(r"COMPONENTS = \(([^)]*)\)", (ROOT / "setup.py").read_text()).group(1)
    assert set(re.findall(r'"(\w+)"', components)) <= set(re.findall(r"COMPONENT (\w+)", install))


def library_that_says(version, tmp_path):
    source, out = tmp_path / "other.c", tmp_path / "libother.so"
    source.write_text(f'const char *tctune_version(void) {{ return "{version}"; }}\n' if version else "int nothing;\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", out, source], check=True)
    return str(out)


@pytest.mark.parametrize("version, why", [("1.2.3", "is tctune 1.2.3, this package is of tctune 0.*first two numbers must agree"),
                                          ("0.1.0", "is tctune 0.1.0, this package is of tctune 0.*first two numbers must agree"),
                                          ("", "is not libtctune")])
def test_refuses_other_libraries(version, why, tmp_path):
    said = python("import tctune", TCTUNE_LIBRARY=library_that_says(version, tmp_path))
    assert re.search(f"LibraryError: .*libother.so {why}", said), said


def test_says_which_library_is_missing(tmp_path):
    said = python("import tctune", TCTUNE_LIBRARY=str(tmp_path / "none.so"))
    assert re.search("LibraryError: libtctune cannot be loaded.*none.so.*TCTUNE_LIBRARY", said), said


def test_says_what_an_older_library_lacks(tmp_path):
    version = ".".join(tctune.__version__.split(".")[:2] + ["0-old"])
    path = library_that_says(version, tmp_path)
    said = python("import tctune; tctune.load('x.so')", TCTUNE_LIBRARY=path)
    assert f"TctuneError: this library, tctune {version}, has no tctune_load: install a newer libtctune" in said, said


@pytest.mark.skipif(not os.environ.get("TCTUNE_TEST_FULL"), reason="it takes a minute, and runs in ./test.sh --full")
def test_types():
    pytest.importorskip("mypy", reason="it needs mypy (scripts/install-deps.sh --python)")
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
