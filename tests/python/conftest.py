"""What the tests share: folders of their own, a network, and kernels."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import tctune

# What a shell starts in the background ignores Ctrl-C, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

GEMM = """tensor X[16, 32] f32
tensor W[32, 48] f32
compute Y[i:16, j:48] = sum(k:32) X[i, k] * W[k, j]
output Y
"""

VARYING = """symbol N 0..16
tensor X[N, 8] f32
compute Y[i:N, j:8] = X[i, j] * 2.0
output Y
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """So that nothing finds, or leaves, a tctune.db."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def gemm():
    return tctune.te.parse(GEMM, "gemm")


@pytest.fixture
def gemm_model(gemm):
    with tctune.build(gemm, threads=1) as model:
        yield model


@pytest.fixture
def varying():
    return tctune.te.parse(VARYING, "varying")


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "mlp.onnx"
    subprocess.run([os.environ["TCTUNE"], "zoo", "mlp", "--out", str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="session")
def nats(tmp_path_factory):
    """The address of a server of the tests' own, where workers and tuners meet."""
    program = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not program:
        pytest.skip("it needs nats-server")
    folder = tmp_path_factory.mktemp("nats")
    with subprocess.Popen([program, "--addr", "127.0.0.1", "--port", "-1", "--jetstream", "--store_dir", folder / "store",
                           "--ports_file_dir", folder,
                           "--log", folder / "log"]) as server:
        try:
            yield _address(folder / f"nats-server_{server.pid}.ports", server)
        finally:
            server.kill()


def _address(ports, server):
    """It writes down on which port it is once it is there."""
    while True:
        assert server.poll() is None, "nats-server has ended"
        try:
            return json.loads(ports.read_text())["nats"][0]
        except (FileNotFoundError, ValueError):  # not there, or half of it
            time.sleep(0.05)
