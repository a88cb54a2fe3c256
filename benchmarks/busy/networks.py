#!/usr/bin/python3
"""Small convolutional networks with random weights, the same on every machine, in the form that exports have: batch norms folded.

    networks.py mobilenet_v3_small|shufflenet_v2 OUT.onnx

The layers are those of Howard et al., Searching for MobileNetV3 (2019), table 2, and of Ma et al., ShuffleNet V2 (2018), table 5,
at width 1."""
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper


class Network:
    """A graph that grows at its end: each method adds nodes and returns the name of what they compute."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.RandomState(0)

    def node(self, op, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(h.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(array, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape):
        fan_in = int(np.prod(shape[1:]))
        return self.constant((self.random.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32))

    def bias(self, n):
        return self.constant((self.random.standard_normal(n) * 0.1).astype(np.float32))

    def conv(self, x, inputs, outputs, size=1, stride=1, group=1, act=None):
        y = self.node("Conv", [x, self.weights(outputs, inputs // group, size, size), self.bias(outputs)], group=group,
                      kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4)
        return self.node(act, [y]) if act else y

    def dense(self, x, inputs, outputs):
        return self.node("Gemm", [x, self.weights(outputs, inputs), self.bias(outputs)], transB=1)

    def model(self, name, result):
        graph = h.make_graph(self.nodes, name, [h.make_tensor_value_info("input", T.FLOAT, [1, 3, 224, 224])],
                             [h.make_tensor_value_info(result, T.FLOAT, [1, 1000])], self.constants)
        made = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(made)
        return made


# ---- MobileNetV3 ----


def squeeze(net, x, channels):
    """Squeeze and excitation, to a quarter of the channels (a multiple of 8)."""
    few = max(8, (channels // 4 + 4) // 8 * 8)
    few += 8 if few < 0.9 * (channels // 4) else 0
    s = net.conv(net.node("GlobalAveragePool", [x]), channels, few, act="Relu")
    s = net.node("HardSigmoid", [net.conv(s, few, channels)], alpha=1 / 6)
    return net.node("Mul", [s, x])


def mobilenet_v3_small():
    blocks = [  # size, expanded, outputs, squeeze and excitation, activation, stride
        (3, 16, 16, True, "Relu", 2), (3, 72, 24, False, "Relu", 2), (3, 88, 24, False, "Relu", 1),
        (5, 96, 40, True, "HardSwish", 2), (5, 240, 40, True, "HardSwish", 1), (5, 240, 40, True, "HardSwish", 1),
        (5, 120, 48, True, "HardSwish", 1), (5, 144, 48, True, "HardSwish", 1), (5, 288, 96, True, "HardSwish", 2),
        (5, 576, 96, True, "HardSwish", 1), (5, 576, 96, True, "HardSwish", 1)]
    net, channels = Network(), 16
    x = net.conv("input", 3, channels, 3, 2, act="HardSwish")
    for size, wide, outputs, excite, act, stride in blocks:
        y = net.conv(x, channels, wide, act=act) if wide != channels else x
        y = net.conv(y, wide, wide, size, stride, wide, act)
        y = net.conv(squeeze(net, y, wide) if excite else y, wide, outputs)
        x = net.node("Add", [x, y]) if stride == 1 and outputs == channels else y
        channels = outputs
    x = net.node("GlobalAveragePool", [net.conv(x, 96, 576, act="HardSwish")])
    x = net.node("HardSwish", [net.dense(net.node("Flatten", [x]), 576, 1024)])
    return net.model("mobilenet_v3_small", net.dense(x, 1024, 1000))


# ---- ShuffleNet V2 ----


def shuffle(net, left, right, channels, size):
    """The channels of both, by turns."""
    shapes = [[1, 2, channels // 2, size, size], [1, channels, size, size]]
    split, joined = (net.constant(np.array(s, np.int64)) for s in shapes)
    x = net.node("Reshape", [net.node("Concat", [left, right], axis=1), split])
    return net.node("Reshape", [net.node("Transpose", [x], perm=[0, 2, 1, 3, 4]), joined])


def branch(net, x, inputs, outputs, stride):
    x = net.conv(x, inputs, outputs, act="Relu")
    return net.conv(net.conv(x, outputs, outputs, 3, stride, outputs), outputs, outputs, act="Relu")


def shufflenet_v2():
    net, channels, size = Network(), 24, 56
    x = net.node("MaxPool", [net.conv("input", 3, channels, 3, 2, act="Relu")], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for outputs, units in (116, 4), (232, 8), (464, 4):
        half, size = outputs // 2, size // 2
        left = net.conv(net.conv(x, channels, channels, 3, 2, channels), channels, half, act="Relu")
        x = shuffle(net, left, branch(net, x, channels, half, 2), outputs, size)
        for _ in range(units - 1):
            left, right = net.node("Split", [x, net.constant(np.array([half, half], np.int64))], 2, axis=1)
            x = shuffle(net, left, branch(net, right, half, half, 1), outputs, size)
        channels = outputs
    x = net.node("ReduceMean", [net.conv(x, channels, 1024, act="Relu")], axes=[2, 3], keepdims=0)
    return net.model("shufflenet_v2", net.dense(x, 1024, 1000))


def main():
    made = {"mobilenet_v3_small": mobilenet_v3_small, "shufflenet_v2": shufflenet_v2}
    if len(sys.argv) != 3 or sys.argv[1] not in made:
        sys.exit(f"usage: networks.py {'|'.join(made)} OUT.onnx")
    onnx.save(made[sys.argv[1]](), sys.argv[2])


main()
