"""An ONNX network that is written and computed at once: each operator adds a node, and computes what the node gives with NumPy.

Floating-point values are float64, so that the results are a reference for what computes in float32. Nothing of tctune takes part.
A reference is right at the sizes of the inputs that it was given; the file is the same whatever these are.
"""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ELEMENT = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "uint8": TensorProto.UINT8,
           "int8": TensorProto.INT8, "bool": TensorProto.BOOL}
MICROSOFT = "com.microsoft"
erf = np.vectorize(math.erf, otypes=[np.float64])


class Value:
    """A name in the file, and what it is with these inputs."""

    def __init__(self, name, array):
        self.name, self.array = name, np.asarray(array)

    @property
    def type(self):
        return "float32" if self.array.dtype == np.float64 else str(self.array.dtype)


def windows(x, kernel, strides):
    """[batch, channels, out..., kernel...] of [batch, channels, spatial...]."""
    n = len(kernel)
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=tuple(range(2, 2 + n)))
    return view[(slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)]


def pad(x, pads, value=0.0):
    n = len(pads) // 2
    return np.pad(x, [(0, 0)] * (x.ndim - n) + list(zip(pads[:n], pads[n:])), constant_values=value)


def convolve(x, w, pads, strides, groups=1):
    """In the type of x: also of integers."""
    parts = []
    for g, wg in enumerate(np.split(w, groups)):
        c = wg.shape[1]
        v = windows(pad(x[:, g * c:(g + 1) * c], pads), w.shape[2:], strides)
        n = w.ndim - 2
        parts.append(np.moveaxis(np.tensordot(v, wg, ([1] + list(range(v.ndim - n, v.ndim)), list(range(1, wg.ndim)))), -1, 1))
    return np.concatenate(parts, 1)


def to_integers(x, scale, zero, dtype):
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x / scale) + zero, limits.min, limits.max).astype(dtype)


class Net:
    def __init__(self, name, seed, opset=14):
        self.name, self.opset = name, opset
        self.weights = np.random.default_rng(seed)
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.given, self.wanted = {}, {}
        self.number, self.constants = 0, {}

    # ---- the file ----

    def fresh(self, hint):
        self.number += 1
        return f"{hint}_{self.number}"

    def input(self, name, array, dims):
        """dims: a name for each dimension that varies."""
        array = np.asarray(array)
        self.given[name] = array
        v = Value(name, array.astype(np.float64) if array.dtype == np.float32 else array)
        self.inputs.append(helper.make_tensor_value_info(name, ELEMENT[v.type], dims))
        return v

    def constant(self, array, name=None):
        """float64 becomes float32, also in what is computed."""
        array = np.asarray(array)
        stored = array.astype(np.float32) if array.dtype == np.float64 else array
        name = name or self.fresh("const")
        self.initializers.append(numpy_helper.from_array(stored, name))
        return Value(name, stored.astype(np.float64) if stored.dtype == np.float32 else stored)

    def integers(self, *values):
        if values not in self.constants:
            self.constants[values] = self.constant(np.array(values, np.int64))
        return self.constants[values]

    def scalar(self, x):
        return self.constant(np.float64(x))

    def weight(self, *shape, scale=None):
        """Drawn so that sums over all but the first dimension stay near 1."""
        scale = scale or 1 / math.sqrt(max(1, np.prod(shape[1:] if len(shape) > 2 else shape[:1])))
        return self.constant(self.weights.standard_normal(shape) * scale, self.fresh("weight"))

    def near_one(self, n):
        return self.constant(1 + 0.1 * self.weights.standard_normal(n), self.fresh("gain"))

    def output(self, v, name, dims):
        self.op("Identity", [v], v.array, name=name)
        self.outputs.append(helper.make_tensor_value_info(name, ELEMENT[v.type], dims))
        self.wanted[name] = v.array.astype(np.float32) if v.array.dtype == np.float64 else v.array

    def op(self, kind, inputs, result, name=None, domain=None, **attributes):
        """`result`: an array, or a tuple of them for several outputs."""
        several = isinstance(result, tuple)
        arrays = result if several else (result,)
        outs = [Value(name if name and not several else self.fresh(kind), a) for a in arrays]
        self.nodes.append(helper.make_node(kind, [v.name if v else "" for v in inputs], [v.name for v in outs],
                                           self.fresh("node"), domain=domain, **attributes))
        return tuple(outs) if several else outs[0]

    def save(self, path):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.initializers)
        domains = [helper.make_opsetid("", self.opset)]
        if any(n.domain == MICROSOFT for n in self.nodes):
            domains.append(helper.make_opsetid(MICROSOFT, 1))
        onnx.save(helper.make_model(graph, opset_imports=domains, producer_name="tctune-tests", ir_version=8), path)

    def save_reference(self, path):
        np.savez(path, **{f"in.{k}": v for k, v in self.given.items()}, **{f"out.{k}": v for k, v in self.wanted.items()})

    # ---- element by element ----

    def add(self, a, b):
        return self.op("Add", [a, b], a.array + b.array)

    def sub(self, a, b):
        return self.op("Sub", [a, b], a.array - b.array)

    def mul(self, a, b):
        return self.op("Mul", [a, b], a.array * b.array)

    def div(self, a, b):
        return self.op("Div", [a, b], a.array / b.array)

    def relu(self, x):
        return self.op("Relu", [x], np.maximum(x.array, 0))

    def tanh(self, x):
        return self.op("Tanh", [x], np.tanh(x.array))

    def sigmoid(self, x):
        return self.op("Sigmoid", [x], 1 / (1 + np.exp(-x.array)))

    def cast(self, x, dtype):
        array = x.array.astype(np.float64 if dtype == "float32" else dtype)
        return self.op("Cast", [x], array, to=ELEMENT[dtype])

    def where(self, c, a, b):
        return self.op("Where", [c, a, b], np.where(c.array, a.array, b.array))

    def gelu(self, x):
        scaled = self.div(x, self.scalar(math.sqrt(2)))
        one = self.add(self.op("Erf", [scaled], erf(scaled.array)), self.scalar(1))
        return self.mul(self.mul(x, one), self.scalar(0.5))

    # ---- sums ----

    def matmul(self, a, b):
        return self.op("MatMul", [a, b], a.array @ b.array)

    def linear(self, x, n):
        return self.add(self.matmul(x, self.weight(x.array.shape[-1], n)), self.weight(n, scale=0.1))

    def gemm(self, x, n):
        w, b = self.weight(n, x.array.shape[1], scale=x.array.shape[1] ** -0.5), self.weight(n, scale=0.1)
        return self.op("Gemm", [x, w, b], x.array @ w.array.T + b.array, transB=1)

    def softmax(self, x):
        e = np.exp(x.array - x.array.max(-1, keepdims=True))
        return self.op("Softmax", [x], e / e.sum(-1, keepdims=True), axis=-1)

    def mean(self, x):
        return self.op("ReduceMean", [x], x.array.mean(-1, keepdims=True), axes=[-1], keepdims=1)

    def layer_norm(self, x):
        """As PyTorch exports it."""
        n = x.array.shape[-1]
        centred = self.sub(x, self.mean(x))
        two = self.scalar(2)
        variance = self.mean(self.op("Pow", [centred, two], centred.array ** 2))
        shifted = self.add(variance, self.scalar(1e-5))
        normal = self.div(centred, self.op("Sqrt", [shifted], np.sqrt(shifted.array)))
        return self.add(self.mul(normal, self.near_one(n)), self.weight(n, scale=0.1))

    def batch_norm(self, x):
        n = x.array.shape[1]
        gain, bias, mean = self.near_one(n), self.weight(n, scale=0.1), self.weight(n, scale=0.1)
        variance = self.constant(1 + 0.5 * self.weights.random(n), self.fresh("variance"))
        g, b, m, v = (t.array.reshape([1, n] + [1] * (x.array.ndim - 2)) for t in (gain, bias, mean, variance))
        return self.op("BatchNormalization", [x, gain, bias, mean, variance], (x.array - m) / np.sqrt(v + 1e-5) * g + b,
                       epsilon=1e-5)

    def conv(self, x, channels, kernel, stride=1, groups=1, bias=True):
        n = x.array.ndim - 2
        w = self.weight(channels, x.array.shape[1] // groups, *[kernel] * n)
        inputs, pads, strides = [x, w], [kernel // 2] * (2 * n), [stride] * n
        y = convolve(x.array, w.array, pads, strides, groups)
        if bias:
            inputs.append(self.weight(channels, scale=0.1))
            y = y + inputs[2].array.reshape([-1] + [1] * n)
        return self.op("Conv", inputs, y, kernel_shape=[kernel] * n, pads=pads, strides=strides, group=groups)

    def conv_transpose(self, x, channels, kernel, stride, padding):
        """The convolution of x with zeros between its elements, and the window turned around."""
        w = self.weight(x.array.shape[1], channels, kernel, kernel)
        b, c, h, v = x.array.shape
        spread = np.zeros((b, c, (h - 1) * stride + 1, (v - 1) * stride + 1))
        spread[:, :, ::stride, ::stride] = x.array
        turned = np.swapaxes(w.array, 0, 1)[:, :, ::-1, ::-1]
        y = convolve(spread, turned, [kernel - 1 - padding] * 4, [1, 1])
        return self.op("ConvTranspose", [x, w], y, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def max_pool(self, x, kernel, stride):
        n = x.array.ndim - 2
        pads = [kernel // 2] * (2 * n)
        v = windows(pad(x.array, pads, -np.inf), (kernel,) * n, (stride,) * n)
        return self.op("MaxPool", [x], v.max(tuple(range(-n, 0))), kernel_shape=[kernel] * n, strides=[stride] * n, pads=pads)

    def average(self, x):
        return self.op("GlobalAveragePool", [x], x.array.mean(tuple(range(2, x.array.ndim)), keepdims=True))

    def lstm(self, x, hidden):
        """Both directions; x is [steps, batch, features]."""
        steps, batch, features = x.array.shape
        w = self.weight(2, 4 * hidden, features, scale=features ** -0.5)
        r = self.weight(2, 4 * hidden, hidden, scale=hidden ** -0.5)
        b = self.weight(2, 8 * hidden, scale=0.1)
        y = np.zeros((steps, 2, batch, hidden))
        for d in range(2):
            h, c = np.zeros((batch, hidden)), np.zeros((batch, hidden))
            for t in range(steps)[::-1] if d else range(steps):
                gates = x.array[t] @ w.array[d].T + h @ r.array[d].T + b.array[d].reshape(2, -1).sum(0)
                i, o, f, g = np.split(gates, 4, 1)
                i, o, f = (1 / (1 + np.exp(-z)) for z in (i, o, f))
                c = f * c + i * np.tanh(g)
                h = o * np.tanh(c)
                y[t, d] = h
        return self.op("LSTM", [x, w, r, b], (y,), direction="bidirectional", hidden_size=hidden)[0]

    # ---- movements, and sizes ----

    def gather(self, x, indices, axis=0):
        return self.op("Gather", [x, indices], np.take(x.array, indices.array, axis), axis=axis)

    def transpose(self, x, *perm):
        return self.op("Transpose", [x], x.array.transpose(perm), perm=list(perm))

    def concat(self, axis, *parts):
        return self.op("Concat", list(parts), np.concatenate([p.array for p in parts], axis), axis=axis)

    def slice(self, x, start, end, axis):
        """start and end are [1]."""
        at = (slice(None),) * axis + (slice(start.array[0], end.array[0]),)
        return self.op("Slice", [x, start, end, self.integers(axis)], x.array[at])

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", [x, self.integers(*axes)], np.expand_dims(x.array, axes))

    def size(self, x, axis):
        """Of dimension `axis`, as [1]."""
        shape = self.op("Shape", [x], np.array(x.array.shape, np.int64))
        return self.gather(shape, self.integers(axis))

    def reshape(self, x, *dims):
        """dims: numbers, or values of one element."""
        shape = self.concat(0, *[d if isinstance(d, Value) else self.integers(d) for d in dims])
        array = np.array(shape.array)
        known = [x.array.shape[i] if d == 0 else d for i, d in enumerate(array)]
        return self.op("Reshape", [x, shape], x.array.reshape(known))

    # ---- quantised ----

    def scale_for(self, x, dtype):
        """A scale and a zero for all values of the array."""
        limits = np.iinfo(dtype)
        low, high = min(x.min(), 0.0), max(x.max(), 0.0)
        if limits.min < 0:
            return np.float32(max(-low, high) / limits.max), 0
        scale = np.float32((high - low) / (limits.max - limits.min))
        return scale, int(np.clip(np.rint(-low / scale), limits.min, limits.max))

    def fixed_scale(self, dtype, calibration):
        """calibration: the extremes that are expected, as a file has one scale for all inputs."""
        scale, zero = self.scale_for(np.array(calibration), dtype)
        return self.constant(np.float64(scale)), self.constant(np.array(zero, dtype))

    def quantize(self, x, scale, zero):
        return self.op("QuantizeLinear", [x, scale, zero], to_integers(x.array, scale.array, int(zero.array), zero.array.dtype))

    def dequantize(self, q, scale, zero):
        return self.op("DequantizeLinear", [q, scale, zero], (q.array.astype(np.int64) - int(zero.array)) * scale.array)

    def rounded(self, x, low, high, dtype=np.uint8):
        """Quantised, and back."""
        scale, zero = self.fixed_scale(dtype, (low, high))
        return self.dequantize(self.quantize(x, scale, zero), scale, zero)

    def integer_weight(self, *shape):
        """int8 with a scale for each of the first dimension: (integers, scales, zeros)."""
        w = self.weights.standard_normal(shape) / math.sqrt(np.prod(shape[1:]))
        scales = (np.abs(w).reshape(shape[0], -1).max(1) / 127).astype(np.float32).astype(np.float64)
        q = to_integers(w, scales.reshape([-1] + [1] * (len(shape) - 1)), 0, np.int8)
        return (self.constant(q, self.fresh("weight")), self.constant(scales, self.fresh("scales")),
                self.constant(np.zeros(shape[0], np.int8), self.fresh("zeros")))

    def four_bit_matmul(self, x, n, block=32, zeros=False):
        """com.microsoft.MatMulNBits: elements of 4 bits in blocks that share a scale."""
        k = x.array.shape[-1]
        q = self.weights.integers(0, 16, (n, k // block, block), np.uint8)
        scales = (np.abs(self.weights.standard_normal((n, k // block))) * 0.1 + 0.1) / math.sqrt(k)
        packed = self.constant(q[..., 0::2] | q[..., 1::2] << 4, self.fresh("weight"))
        scale = self.constant(scales.reshape(-1), self.fresh("scales"))
        inputs, zero = [x, packed, scale], np.full((n, k // block), 8, np.uint8)
        if zeros:
            zero = self.weights.integers(6, 10, zero.shape, np.uint8)
            inputs.append(self.constant((zero[:, 0::2] | zero[:, 1::2] << 4).reshape(-1), self.fresh("zeros")))
        w = ((q.astype(np.float64) - zero[..., None]) * scale.array.reshape(n, -1, 1)).reshape(n, k)
        return self.op("MatMulNBits", inputs, x.array @ w.T, domain=MICROSOFT, K=k, N=n, bits=4, block_size=block)
