#!/usr/bin/python3
"""Writes the networks that tests of whole models use: small ones of the kinds that users have, with drawn weights.

usage: networks.py FOLDER [NAME...]

FOLDER/NAME.onnx is the network. NAME.SIZES.npz, or NAME.npz where no size varies, has inputs (in.X) and the outputs that NumPy
computed (out.Y, see net.py). The same bytes come out each time.
"""
import os
import sys

import numpy as np

from net import MICROSOFT, Net, convolve, to_integers


def ids(rng, batch, sequence, vocabulary):
    return rng.integers(0, vocabulary, (batch, sequence))


def heads_apart(n, x, batch, sequence, heads, width):
    """[batch, sequence, heads * width] -> [batch, heads, sequence, width]."""
    return n.transpose(n.reshape(x, batch, sequence, heads, width), 0, 2, 1, 3)


# ---- transformers ----

def bert(rng, batch, sequence, matmul=Net.linear):
    """An encoder as PyTorch exports it, with symbols: sizes come from Shape. matmul: how products with weights are written."""
    heads, width, layers, vocabulary = 2, 16, 2, 100
    hidden = heads * width
    n = Net("bert", 1)
    tokens = n.input("input_ids", ids(rng, batch, sequence, vocabulary), ["batch", "sequence"])
    types = n.input("token_type_ids", rng.integers(0, 2, (batch, sequence)), ["batch", "sequence"])
    mask = n.input("attention_mask", (np.arange(sequence) < sequence - np.arange(batch)[:, None] % sequence).astype(np.int64),
                   ["batch", "sequence"])
    b, s = n.size(tokens, 0), n.size(tokens, 1)
    positions = n.slice(n.constant(np.arange(256)[None], "positions"), n.integers(0), s, 1)
    x = n.add(n.add(n.gather(n.weight(vocabulary, hidden, scale=1), tokens), n.gather(n.weight(2, hidden, scale=1), types)),
              n.gather(n.weight(256, hidden, scale=1), positions))
    x = n.layer_norm(x)
    far = n.mul(n.sub(n.scalar(1), n.cast(n.unsqueeze(mask, 1, 2), "float32")), n.scalar(-1e4))
    for _ in range(layers):
        q, k, v = (heads_apart(n, matmul(n, x, hidden), b, s, heads, width) for _ in range(3))
        scores = n.div(n.matmul(q, n.transpose(k, 0, 1, 3, 2)), n.scalar(width ** 0.5))
        mixed = n.matmul(n.softmax(n.add(scores, far)), v)
        x = n.layer_norm(n.add(matmul(n, n.reshape(n.transpose(mixed, 0, 2, 1, 3), b, s, hidden), hidden), x))
        x = n.layer_norm(n.add(matmul(n, n.gelu(matmul(n, x, 4 * hidden)), hidden), x))
    n.output(x, "last_hidden_state", ["batch", "sequence", hidden])
    first = n.gather(x, n.constant(np.int64(0)), 1)
    n.output(n.tanh(n.gemm(first, hidden)), "pooler_output", ["batch", hidden])
    return n


def dynamic_matmul(n, x, columns):
    """The ranges of x are those of this run: DynamicQuantizeLinear, MatMulInteger."""
    k = x.array.shape[-1]
    w = n.weights.standard_normal((k, columns)) / k ** 0.5
    scale = np.float32(np.abs(w).max() / 127)
    weight, zero = n.constant(to_integers(w, scale, 0, np.int8)), n.constant(np.int8(0))
    x_scale, x_zero = n.scale_for(x.array, np.uint8)
    quantised = to_integers(x.array, np.float64(x_scale), x_zero, np.uint8)
    q, s, z = n.op("DynamicQuantizeLinear", [x], (quantised, np.float64(x_scale), np.array(x_zero, np.uint8)))
    product = (q.array.astype(np.int64) - x_zero) @ weight.array.astype(np.int64)
    whole = n.op("MatMulInteger", [q, weight, z, zero], product.astype(np.int32))
    return n.add(n.mul(n.cast(whole, "float32"), n.mul(s, n.constant(np.float64(scale)))), n.weight(columns, scale=0.1))


def bert_dynq(rng, batch, sequence):
    return bert(rng, batch, sequence, dynamic_matmul)


def integer_matmul(n, x, columns):
    """QuantizeLinear, QLinearMatMul, DequantizeLinear."""
    k = x.array.shape[-1]
    w = n.weights.standard_normal((k, columns)) / k ** 0.5
    w_scale, _ = n.scale_for(w, np.int8)
    weight, scale_w, zero_w = (n.constant(to_integers(w, w_scale, 0, np.int8)), n.constant(np.float64(w_scale)),
                               n.constant(np.int8(0)))
    s, z = n.fixed_scale(np.uint8, (-4, 4))
    t, y = n.fixed_scale(np.uint8, (-4, 4))
    q = n.quantize(x, s, z)
    product = (q.array.astype(np.int64) - int(z.array)) @ weight.array.astype(np.int64)
    result = to_integers(product * (s.array * scale_w.array), t.array, int(y.array), np.uint8)
    q = n.op("QLinearMatMul", [q, s, z, weight, scale_w, zero_w, t, y], result)
    return n.add(n.dequantize(q, t, y), n.weight(columns, scale=0.1))


def bert_qop(rng, batch, sequence):
    return bert(rng, batch, sequence, integer_matmul)


def gpt(rng, batch, sequence, past):
    """A decoder that takes what earlier runs kept; its mask and positions are cut out of constants."""
    heads, width, layers, vocabulary, longest = 2, 16, 2, 100, 320
    hidden = heads * width
    n = Net("gpt", 2)
    tokens = n.input("input_ids", ids(rng, batch, sequence, vocabulary), ["batch", "sequence"])
    kept = [n.input(f"past_key_values.{i // 2}.{'value' if i % 2 else 'key'}",
                    rng.standard_normal((batch, heads, past, width)).astype(np.float32), ["batch", heads, "past", width])
            for i in range(2 * layers)]
    b, s, p = n.size(tokens, 0), n.size(tokens, 1), n.size(kept[0], 2)
    total = n.add(p, s)
    x = n.add(n.gather(n.weight(vocabulary, hidden, scale=1), tokens), n.slice(n.weight(longest, hidden, scale=1), p, total, 0))
    lower = n.constant(np.tril(np.ones((longest, longest), bool)), "lower")
    mask = n.slice(n.slice(lower, p, total, 0), n.integers(0), total, 1)
    for i in range(layers):
        y = n.layer_norm(x)
        q, k, v = (heads_apart(n, n.linear(y, hidden), b, s, heads, width) for _ in range(3))
        k, v = n.concat(2, kept[2 * i], k), n.concat(2, kept[2 * i + 1], v)
        n.output(k, f"present.{i}.key", ["batch", heads, "total", width])
        n.output(v, f"present.{i}.value", ["batch", heads, "total", width])
        scores = n.div(n.matmul(q, n.transpose(k, 0, 1, 3, 2)), n.scalar(width ** 0.5))
        mixed = n.matmul(n.softmax(n.where(mask, scores, n.scalar(-1e9))), v)
        x = n.add(n.linear(n.reshape(n.transpose(mixed, 0, 2, 1, 3), b, s, hidden), hidden), x)
        x = n.add(n.linear(n.gelu(n.linear(n.layer_norm(x), 4 * hidden)), hidden), x)
    n.output(n.matmul(n.layer_norm(x), n.weight(hidden, vocabulary)), "logits", ["batch", "sequence", vocabulary])
    n.outputs.insert(0, n.outputs.pop())
    return n


def rms_norm(n, x):
    gain = n.near_one(x.array.shape[-1])
    y = x.array / np.sqrt((x.array ** 2).mean(-1, keepdims=True) + 1e-5) * gain.array
    return n.op("SimplifiedLayerNormalization", [x, gain], y, axis=-1, epsilon=1e-5, stash_type=1)


def turn(x, cos, sin):
    """[batch, heads, sequence, width] by angles [batch, 1, sequence, width / 2]."""
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def decoder_q4(rng, batch, sequence, past):
    """A decoder with weights of 4 bits and the operators that ONNX Runtime's exporters write: com.microsoft."""
    heads, kept_heads, width, hidden, vocabulary = 4, 2, 16, 64, 96
    total = past + sequence
    n = Net("decoder_q4", 3)
    tokens = n.input("input_ids", ids(rng, batch, sequence, vocabulary), ["batch", "sequence"])
    mask = n.input("attention_mask", np.ones((batch, total), np.int64), ["batch", "total"])
    positions = n.input("position_ids", np.tile(np.arange(past, total), (batch, 1)), ["batch", "sequence"])
    kept = [n.input(f"past_key_values.0.{kind}", rng.standard_normal((batch, kept_heads, past, width)).astype(np.float32),
                    ["batch", kept_heads, "past", width]) for kind in ("key", "value")]
    lengths = n.op("ReduceSum", [mask, n.integers(1)], mask.array.sum(1), keepdims=0)
    last = n.cast(n.sub(lengths, n.integers(1)), "int32")
    whole = n.cast(n.gather(n.op("Shape", [mask], np.array(mask.array.shape, np.int64)), n.constant(np.int64(1))), "int32")
    angles = np.arange(320)[:, None] / 100 ** (np.arange(width // 2) / (width // 2))
    cos, sin = n.constant(np.cos(angles), "cos_cache"), n.constant(np.sin(angles), "sin_cache")

    x = n.gather(n.weight(vocabulary, hidden, scale=1), tokens)
    y = rms_norm(n, x)
    apart = []
    for count, turned in ((heads, True), (kept_heads, True), (kept_heads, False)):
        flat = n.four_bit_matmul(y, count * width)
        if turned:
            at = [t.array[positions.array][:, None] for t in (cos, sin)]
            split = turn(flat.array.reshape(batch, sequence, count, width).transpose(0, 2, 1, 3), *at)
            flat = n.op("RotaryEmbedding", [flat, positions, cos, sin],
                        split.transpose(0, 2, 1, 3).reshape(batch, sequence, count * width), domain=MICROSOFT, interleaved=0,
                        num_heads=count, rotary_embedding_dim=0)
        apart.append((flat, flat.array.reshape(batch, sequence, count, width).transpose(0, 2, 1, 3)))
    k, v = (np.concatenate([kept[i].array, apart[i + 1][1]], 2) for i in range(2))
    scores = apart[0][1] @ np.repeat(k, heads // kept_heads, 1).transpose(0, 1, 3, 2) / width ** 0.5
    scores = np.where(np.arange(total) <= np.arange(past, total)[:, None], scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = e / e.sum(-1, keepdims=True) @ np.repeat(v, heads // kept_heads, 1)
    mixed, k, v = n.op("GroupQueryAttention", [apart[0][0], apart[1][0], apart[2][0], *kept, last, whole],
                       (mixed.transpose(0, 2, 1, 3).reshape(batch, sequence, hidden), k, v), domain=MICROSOFT,
                       num_heads=heads, kv_num_heads=kept_heads, scale=width ** -0.5)
    x = n.add(x, n.four_bit_matmul(mixed, hidden, zeros=True))
    y = rms_norm(n, x)
    gate = n.four_bit_matmul(y, 128)
    gated = n.mul(n.mul(gate, n.sigmoid(gate)), n.four_bit_matmul(y, 128, zeros=True))
    x = n.add(x, n.four_bit_matmul(gated, hidden))
    n.output(n.four_bit_matmul(rms_norm(n, x), vocabulary), "logits", ["batch", "sequence", vocabulary])
    n.output(k, "present.0.key", ["batch", kept_heads, "total", width])
    n.output(v, "present.0.value", ["batch", kept_heads, "total", width])
    return n


# ---- convolutions ----

def image(n, rng, dims, *shape):
    return n.input("input", rng.standard_normal(shape).astype(np.float32), dims)


def resnet(rng, batch):
    n = Net("resnet", 4)
    x = n.max_pool(n.relu(n.batch_norm(n.conv(image(n, rng, ["batch", 3, 32, 32], batch, 3, 32, 32), 16, 7, 2, bias=False))), 3, 2)
    for channels, stride in ((16, 1), (32, 2)):
        y = n.relu(n.batch_norm(n.conv(x, channels, 3, stride, bias=False)))
        y = n.batch_norm(n.conv(y, channels, 3, bias=False))
        x = n.batch_norm(n.conv(x, channels, 1, stride, bias=False)) if stride > 1 else x
        x = n.relu(n.add(x, y))
    pooled = n.average(x)
    flat = n.op("Flatten", [pooled], pooled.array.reshape(batch, -1), axis=1)
    n.output(n.gemm(flat, 10), "output", ["batch", 10])
    return n


def mobile_qdq(rng):
    """QuantizeLinear and DequantizeLinear around each convolution, one of which goes by channel."""
    n = Net("mobile_qdq", 5)
    x = n.rounded(image(n, rng, [1, 3, 16, 16], 1, 3, 16, 16), -4, 4)
    for channels, kernel, groups in ((16, 3, 1), (16, 3, 16), (24, 1, 1)):
        q, scales, zeros = n.integer_weight(channels, x.array.shape[1] // groups, kernel, kernel)
        w = n.op("DequantizeLinear", [q, scales, zeros], q.array * scales.array.reshape(-1, 1, 1, 1), axis=0)
        b = n.weight(channels, scale=0.1)
        pads = [kernel // 2] * 4
        y = convolve(x.array, w.array, pads, [1, 1], groups) + b.array.reshape(-1, 1, 1)
        y = n.op("Conv", [x, w, b], y, kernel_shape=[kernel] * 2, pads=pads, group=groups)
        six = [n.constant(np.float64(v)) for v in (0, 6)]
        x = n.rounded(n.op("Clip", [y, *six], np.clip(y.array, 0, 6)), 0, 6)
    pooled = n.rounded(n.average(x), 0, 6)
    flat = n.op("Flatten", [pooled], pooled.array.reshape(1, -1), axis=1)
    n.output(n.gemm(flat, 10), "output", [1, 10])
    return n


def conv_qop(rng):
    """QLinearConv, whose weights have a scale for each channel."""
    n = Net("conv_qop", 6)
    s, z = n.fixed_scale(np.uint8, (-4, 4))
    q = n.quantize(image(n, rng, [1, 3, 16, 16], 1, 3, 16, 16), s, z)
    for channels, stride in ((16, 1), (32, 2)):
        w, scales, zeros = n.integer_weight(channels, q.array.shape[1], 3, 3)
        b = n.constant(n.weights.integers(-500, 500, channels).astype(np.int32))
        t, y = n.fixed_scale(np.uint8, (0, 4))
        sums = convolve(q.array.astype(np.int64) - int(z.array), w.array.astype(np.int64), [1] * 4, [stride] * 2)
        real = (sums + b.array.reshape(-1, 1, 1)) * (s.array * scales.array).reshape(-1, 1, 1)
        q = n.op("QLinearConv", [q, s, z, w, scales, zeros, t, y, b], to_integers(real, t.array, int(y.array), np.uint8),
                 kernel_shape=[3, 3], pads=[1] * 4, strides=[stride] * 2)
        s, z = t, y
    n.output(n.average(n.dequantize(q, s, z)), "output", [1, 32, 1, 1])
    return n


def generator(rng):
    n = Net("generator", 7)
    x = image(n, rng, [1, 24, 1, 1], 1, 24, 1, 1)
    x = n.relu(n.batch_norm(n.conv_transpose(x, 32, 4, 1, 0)))
    x = n.relu(n.batch_norm(n.conv_transpose(x, 16, 4, 2, 1)))
    n.output(n.tanh(n.conv_transpose(x, 3, 4, 2, 1)), "output", [1, 3, 16, 16])
    return n


def video(rng):
    n = Net("video", 8)
    x = n.relu(n.batch_norm(n.conv(image(n, rng, [1, 3, 8, 16, 16], 1, 3, 8, 16, 16), 12, 3, bias=False)))
    y = n.relu(n.conv(n.max_pool(x, 3, 2), 16, 3, 2))
    pooled = n.average(y)
    flat = n.op("Flatten", [pooled], pooled.array.reshape(1, -1), axis=1)
    n.output(n.gemm(flat, 10), "output", [1, 10])
    return n


# ---- recurrent ----

def tagger(rng):
    batch, sequence = 1, 24
    n = Net("tagger", 9)
    tokens = n.input("input_ids", ids(rng, batch, sequence, 100), [batch, sequence])
    x = n.transpose(n.gather(n.weight(100, 24, scale=1), tokens), 1, 0, 2)
    for _ in range(2):
        y = n.transpose(n.lstm(x, 20), 0, 2, 1, 3)
        x = n.reshape(y, 0, 0, -1)
    x = n.transpose(n.linear(x, 12), 1, 0, 2)
    e = x.array - x.array.max(-1, keepdims=True)
    logs = n.op("LogSoftmax", [x], e - np.log(np.exp(e).sum(-1, keepdims=True)), axis=-1)
    n.output(logs, "output", [batch, sequence, 12])
    return n


# The sizes at which there is a reference; by name, as options of tctune give them.
NETWORKS = {
    bert: [{"batch": 1, "sequence": 16}, {"batch": 2, "sequence": 7}, {"batch": 2, "sequence": 40}],
    bert_dynq: [{"batch": 1, "sequence": 16}],
    bert_qop: [{"batch": 1, "sequence": 16}],
    gpt: [{"batch": 1, "sequence": 16, "past": 0}, {"batch": 1, "sequence": 1, "past": 16},
          {"batch": 1, "sequence": 12, "past": 12},
          {"batch": 2, "sequence": 1, "past": 40}],
    decoder_q4: [{"batch": 1, "sequence": 16, "past": 0}, {"batch": 1, "sequence": 1, "past": 31},
                 {"batch": 2, "sequence": 1, "past": 40}],
    resnet: [{"batch": 1}, {"batch": 3}],
    mobile_qdq: [{}],
    conv_qop: [{}],
    generator: [{}],
    video: [{}],
    tagger: [{}],
}


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for file in os.listdir(folder):  # of networks and sizes that there were once
        if not names and file.endswith((".onnx", ".npz")):
            os.remove(f"{folder}/{file}")
    for make, all_sizes in NETWORKS.items():
        if names and make.__name__ not in names:
            continue
        for i, sizes in enumerate(all_sizes):
            n = make(np.random.default_rng(i), **sizes)
            at = "".join(f"{'' if k == 0 else '_'}{name[0]}{value}" for k, (name, value) in enumerate(sizes.items()))
            n.save_reference(f"{folder}/{make.__name__}{'.' if at else ''}{at}.npz")
        n.save(f"{folder}/{make.__name__}.onnx")


if __name__ == "__main__":
    main()
