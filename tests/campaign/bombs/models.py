"""ONNX models: bombs of `.onnx` files. A generator draws a model of about `size` bytes; its bytes are written here, field by
field."""

import struct

NAME = "onnx"
SUFFIX = ".onnx"
COMMANDS = ["show --model {bomb} --kernel 0 --print workload"]
REPEATED = {"nested_loops": 3, "conditions": 2}

FLOAT, INT64, BOOL = 1, 7, 9
OPSET = 17


# ---- protobuf ----


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def number(field, v):
    return varint(field << 3) + varint(v)


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


# ---- ONNX ----


def attribute(name, v):
    if isinstance(v, Graph):
        return part(1, name) + part(6, v.bytes()) + number(20, 5)
    if isinstance(v, list):
        return part(1, name) + b"".join(number(8, i) for i in v) + number(20, 7)
    if isinstance(v, str):
        return part(1, name) + part(4, v) + number(20, 3)
    if isinstance(v, bytes):
        return part(1, name) + part(5, v) + number(20, 4)
    if isinstance(v, float):
        return part(1, name) + varint(2 << 3 | 5) + struct.pack("<f", v) + number(20, 1)
    return part(1, name) + number(3, v) + number(20, 2)


def node(op, inputs, outputs, domain="", **attributes):
    return (b"".join(part(1, n) for n in inputs) + b"".join(part(2, n) for n in outputs) + part(4, op) +
            b"".join(part(5, attribute(k, v)) for k, v in attributes.items()) + (part(7, domain) if domain else b""))


def tensor(values, dims, kind=INT64, name=""):
    raw = b"".join(struct.pack({INT64: "<q", FLOAT: "<f", BOOL: "<?"}[kind], v) for v in values)
    return b"".join(number(1, d) for d in dims) + number(2, kind) + (part(8, name) if name else b"") + part(9, raw)


def value(name, dims=(), kind=FLOAT):
    """dims: numbers, or names; "" is a dimension without a name."""
    shape = b"".join(part(1, number(1, d) if isinstance(d, int) else part(2, d) if d else b"") for d in dims)
    return part(1, name) + part(2, part(1, number(1, kind) + part(2, shape)))


class Graph:
    """A graph that grows; `length` is about its bytes."""

    def __init__(self):
        self.fields, self.length, self.made = [], 0, 0

    def add(self, field, content):
        self.fields.append(part(field, content))
        self.length += len(self.fields[-1])

    def node(self, op, inputs, outputs=None, **more):
        if outputs is None:
            self.made += 1
            outputs = [f"v{self.made}"]
        self.add(1, node(op, inputs, outputs, **more))
        return outputs[0]

    def input(self, name, dims=(), kind=FLOAT):
        self.add(11, value(name, dims, kind))
        return name

    def output(self, name, dims=(), kind=FLOAT):
        self.add(12, value(name, dims, kind))

    def constant(self, values, dims=None, kind=INT64, name=None):
        if name is None:
            self.made += 1
            name = f"c{self.made}"
        self.add(5, tensor(values, [len(values)] if dims is None else dims, kind, name))
        return name

    def bytes(self):
        return b"".join(self.fields)


def model(graph, functions=(), imports=b""):
    """With a kernel beside what else there may be."""
    graph.input("beside", [4])
    graph.output(graph.node("Relu", ["beside"], ["beside_r"]))
    return (number(1, 8) + part(8, number(2, OPSET)) + imports + part(7, graph.bytes() + part(2, "g")) +
            b"".join(part(25, f) for f in functions))


def function(name, nodes, inputs=("x",), outputs=("y",), domain="own"):
    return (part(1, name) + b"".join(part(4, n) for n in inputs) + b"".join(part(5, n) for n in outputs) +
            b"".join(part(7, n) for n in nodes) + part(9, number(2, OPSET)) + part(10, domain))


OWN = part(8, part(1, "own") + number(2, 1))  # the domain of `function`


def write(path, bomb):
    with open(path, "wb") as f:
        f.write(bomb)


def plain(size):
    g = Graph()
    g.input("x", [4])
    g.constant([0.5] * 4, kind=FLOAT, name="w")
    g.add(10, "plain " * (size // 6))
    g.output(g.node("Relu", [g.node("Add", ["x", "w"])]))
    return model(g)


# ---- numbers and conditions that are computed of sizes ----


def sized(dims=("n", "m")):
    """A graph with an input x, and its sizes as scalars."""
    g = Graph()
    g.input("x", list(dims))
    shape = g.node("Shape", ["x"])
    return g, [g.node("Gather", [shape, g.constant([k], [])]) for k in range(len(dims))]


def end_sized(rng, g, last, kept=()):
    """Something needs the number: a shape, or how often a loop runs."""
    shape = g.node("Reshape", [last, g.constant([1])])
    g.output(g.node("ConstantOfShape", [shape]))
    for name in kept:
        g.output(name, [], INT64)
    return model(g)


def step(rng, g, a, b):
    op = rng.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"])
    return g.node(op, [a, b])


def number_chain(rng, size):
    g, (last, other) = sized()
    small = [g.constant([k], []) for k in (1, 2, 7)]
    op = rng.choice(["Mul", "Add", "Max", "Div", "any"])
    while g.length < size - 200:
        with_ = rng.choice([small[0], rng.choice(small), other])
        last = g.node(op, [last, with_]) if op != "any" else step(rng, g, last, with_)
    return end_sized(rng, g, last)


def number_chain_moved(rng, size):
    """Through what moves numbers: vectors that are joined, cut and cast."""
    g, (last, other) = sized()
    one, zero = g.constant([1]), g.constant([0], [])
    last = g.node("Reshape", [last, one])
    while g.length < size - 300:
        two = g.node("Concat", [last, one], axis=0)
        last = g.node("Add", [g.node("Gather", [two, zero], axis=0), one])
        last = g.node("Cast", [g.node("Cast", [last], to=6)], to=7) if rng.random() < 0.3 else last
    return end_sized(rng, g, last)


def number_diamond(rng, size):
    """Each number of the two before it."""
    g, (a, b) = sized()
    levels = rng.choice([20, 40, 200, 10**6])
    ops = rng.choice([["Add"], ["Mul"], ["Max", "Min"], ["Add", "Sub", "Mul", "Max"], ["Div", "Add"]])
    while g.length < size - 300 and levels:
        a, b = g.node(rng.choice(ops), [a, rng.choice([a, b])]), a
        levels -= 1
    return end_sized(rng, g, g.node("Min", [a, g.constant([100], [])]))


def number_vectors(rng, size):
    """Sums over vectors of numbers that are sums over vectors."""
    g, (a, b) = sized()
    one, axes = g.constant([1]), g.constant([0])
    a, b = (g.node("Reshape", [v, one]) for v in (a, b))
    while g.length < size - 300:
        v = g.node("Concat", [rng.choice([a, b]) for _ in range(rng.choice([2, 60]))], axis=0)
        a, b = g.node(rng.choice(["ReduceMax", "ReduceMin", "ReduceProd"]), [v], keepdims=1), a
    return end_sized(rng, g, g.node("Min", [a, g.constant([100])]))


def choices(rng, size):
    """Where of a condition on the number before."""
    g, (a, b) = sized()
    limits = [g.constant([k], []) for k in (3, 100, 300)]
    while g.length < size - 300:
        when = g.node(rng.choice(["Less", "Greater", "Equal"]), [a, rng.choice(limits + [b])])
        a, b = g.node("Where", [when, g.node("Add", [a, limits[0]]), rng.choice([a, b])]), a
    return end_sized(rng, g, g.node("Min", [a, limits[1]]))


def float_chain(rng, size):
    """Sizes through floats, each of one or two before it."""
    g, (a, b) = sized()
    half = g.constant([0.5], [], FLOAT)
    floats = rng.random() < 0.5
    a, b = (g.node("Cast", [v], to=1) for v in (a, b))
    while g.length < size - 300:
        x = g.node(rng.choice(["Mul", "Add", "Div"]), [a, rng.choice([half, a, b])])
        x = g.node(rng.choice(["Floor", "Ceil", "Sqrt"]), [x])
        if not floats:
            x = g.node("Cast", [g.node("Cast", [x], to=7)], to=1)
        a, b = x, a
    return end_sized(rng, g, g.node("Min", [g.node("Abs", [g.node("Cast", [a], to=7)]), g.constant([100], [])]))


def branch(result="x"):
    g = Graph()
    g.output(g.node("Neg" if result == "x" else "Abs", ["x"], [result + "_r"]))
    return g


def conditions(rng, size):
    """Conditions that are each of two before them decide branches."""
    g, (n, m) = sized()
    k = g.constant([3], [])
    a, b = g.node("Greater", [n, k]), g.node("Less", [m, k])
    ifs, levels = [], rng.choice([31, 60, 10**6])
    while g.length < size * 2 // 3 - 200 and levels:
        op = rng.choice(["And", "And", "Or", "Not", "Xor"])
        a, b = g.node(op, [a] if op == "Not" else [a, rng.choice([a, b])]), a
        levels -= 1
        if len(ifs) < 50 and rng.random() < 0.02:
            ifs.append(a)
    while g.length < size - 300:
        g.output(g.node("If", [rng.choice(ifs + [a])], then_branch=branch(), else_branch=branch("y")))
    g.output(g.node("If", [a], then_branch=branch(), else_branch=branch("y")))
    return model(g)


def deciding(rng, size):
    """A condition of wide nodes upon wide nodes, of a branch that does not fit."""
    g = Graph()
    g.input("x", [4])
    last = g.node("Greater", [g.node("ReduceMax", ["x"], keepdims=0), g.constant([0.0], [], FLOAT)])
    wide = rng.choice([2, 30, 300])
    for _ in range(7):
        last = g.node("Reshape", [last, g.constant([1])])
        last = g.node("Concat", [last] * wide, axis=0)
        last = g.node("Slice", [last, g.constant([0]), g.constant([1])])
    bad = Graph()
    bad.output(bad.node("Reshape", ["x", bad.constant([3])], ["bad"]))
    g.output(g.node("If", [last], then_branch=branch(), else_branch=bad))
    return model(g)


# ---- symbols ----


def many_symbols(rng, size):
    g, k, left = Graph(), 0, []
    per = rng.choice([1, 3, 8])
    named = rng.random() < 0.5
    while k == 0 or g.length < size - 300:
        dims = [f"s{k * per + d}" if named else "" for d in range(per)]
        left.append(g.input(f"i{k}", dims))
        k += 1
    g.output(g.node("Relu", [left[0]]))
    return model(g)


def related_symbols(rng, size):
    """Sums of inputs whose sizes have different names."""
    g, inputs, k = Graph(), [], 0
    per = rng.choice([1, 2, 4])
    while k == 0 or g.length < size - 300:
        inputs.append(g.input(f"i{k}", [f"s{k}_{d}" for d in range(per)]))
        if k and rng.random() < 0.9:
            g.output(g.node("Add", [rng.choice([inputs[-2], rng.choice(inputs)]), inputs[-1]]))
        k += 1
    g.output(g.node("Relu", [inputs[0]]))
    return model(g)


def made_of_symbols(rng, size):
    """The size of each input is twice that of the one before, or their product."""
    g, k = Graph(), 1
    last = g.input("i0", ["s0"])
    op = rng.choice(["Concat", "Mul"])
    levels = rng.choice([9, 30, 10**6])
    while g.length < size - 300 and k < levels:
        now = g.input(f"i{k}", [f"s{k}"])
        if op == "Concat":
            joined = g.node("Concat", [last, last], axis=0)
        else:
            n = g.node("Shape", [last])
            joined = g.node("ConstantOfShape", [g.node("Mul", [n, n])])
        g.node("Add", [now, joined])
        last, k = now, k + 1
    g.output(g.node("Relu", [last]))
    return model(g)


def needed_sizes(rng, size):
    """Nodes that each need a size to be larger than the one before, or a multiple."""
    g = Graph()
    g.input("x", ["n", "m"])
    k = 1
    while g.length < size - 300:
        if rng.random() < 0.5:
            g.output(g.node("Slice", ["x", g.constant([k]), g.constant([k + 1]), g.constant([0])]))
        else:
            g.output(g.node("Reshape", ["x", g.constant([-1, k % 60 + 1])]))
        k += 1
    return model(g)


def needing_branches(rng, size):
    """Branches that each need sizes which the model does not promise."""
    g, (n, m) = sized()
    k = 0
    while g.length < size - 400:
        then = Graph()
        then.output(then.node("Reshape", ["x", then.constant([-1, k % 9 + 2])], ["t"]))
        cond = g.node("Greater", [n, g.constant([k % 20], [])])
        g.output(g.node("If", [cond], then_branch=then, else_branch=branch("e")))
        k += 1
    return model(g)


# ---- bodies ----


def nested_ifs(rng, size):
    g = Graph()
    g.input("x", [4])
    g.input("on", [], BOOL)
    inner, depth = branch("r0"), rng.choice([5, 25, 40])
    for k in range(1, depth):
        outer = Graph()
        while inner.length + outer.length < (k + 1) * size // depth - 200:
            outer.node("Neg", ["x"], [f"p{k}_{len(outer.fields)}"])
        outer.output(outer.node("If", ["on"], [f"o{k}"], then_branch=inner, else_branch=branch(f"e{k}")))
        inner = outer
    g.output(g.node("If", ["on"], then_branch=inner, else_branch=branch("last")))
    return model(g)


def loop_body(k, fill, inner=None, shape_of_trip=False, reads_all=False):
    """Carries s; its nodes are `fill` times Neg, or a loop within."""
    g = Graph()
    g.input(f"i{k}", [], INT64)
    g.input(f"c{k}", [], BOOL)
    last = g.input(f"s{k}", [4])
    if inner is not None:
        last = g.node("Loop", ["trips", "", last], [f"l{k}"], body=inner)
    for j in range(fill):
        last = g.node("Neg", [last], [f"f{k}_{j}"])
    if reads_all:
        last = g.node("Softmax", [g.node("Concat", [last, f"s{k}"], [f"j{k}"], axis=0)], [f"m{k}"])
        last = g.node("Slice", [last, g.constant([0], name=f"b{k}"), g.node("Shape", [f"s{k}"], [f"n{k}"])], [f"w{k}"])
    if shape_of_trip:
        last = g.node("Slice", [last, g.constant([0], name=f"z{k}"), g.node("Reshape", [f"i{k}", "one"], [f"e{k}"])], [f"q{k}"])
    g.output(g.node("Identity", [f"c{k}"], [f"d{k}"]), [], BOOL)
    g.output(last)
    return g


def nested_loops(rng, size):
    depth, trips = rng.choice([3, 9, 16, 30]), rng.choice([1, 2, 30, 4000])
    g = Graph()
    g.input("x", [rng.choice([4, "n"])])
    if rng.random() < 0.5:
        g.constant([trips], [], name="trips")
    else:
        g.node("Min", [g.node("Cast", [g.node("ReduceMax", ["x"], keepdims=0)], to=7), g.constant([trips], [])], ["trips"])
    g.constant([1], name="one")
    fails, reads = rng.random() < 0.5, rng.random() < 0.5
    body = loop_body(0, max((size - 350 * depth) // 20, 1), shape_of_trip=fails, reads_all=reads)
    for k in range(1, depth):
        body = loop_body(k, 0, body, reads_all=reads)
    g.output(g.node("Loop", ["trips", "", "x"], body=body))
    return model(g)


def many_loops(rng, size):
    g = Graph()
    last = g.input("x", [4])
    g.constant([rng.choice([2, 30, 4000])], [], name="trips")
    g.constant([1], name="one")
    k = 0
    while g.length < size - 400:
        last = g.node("Loop", ["trips", "", last], body=loop_body(k, 1))
        k += 1
    g.output(last)
    return model(g)


def rows_of_trips(rng, size):
    """A loop whose trips each give many rows."""
    g, body = Graph(), loop_body(0, 1)
    g.input("x", [4])
    g.constant([rng.choice([3, 900, 4000])], [], name="trips")
    n = size // 40 + 1
    for k in range(n):
        body.output("f0_0")
    g.add(1, node("Loop", ["trips", "", "x"], ["last"] + [f"r{k}" for k in range(n)], body=body))
    g.output("r0")
    return model(g)


def calls_of_calls(rng, size):
    """Each function calls the one before it twice."""
    depth, fill = rng.choice([8, 16, 31, 60]), rng.choice([1, 5])
    functions = [function("f0", [node("Neg", ["x"], ["y"])])]
    for k in range(1, depth):
        body = [node(f"f{k - 1}", ["x"], ["t"], "own"), node(f"f{k - 1}", ["t"], ["y0"], "own")]
        body += [node("Neg", [f"y{j}"], [f"y{j + 1}"]) for j in range(fill)] + [node("Neg", [f"y{fill}"], ["y"])]
        functions.append(function(f"f{k}", body))
    g = Graph()
    g.input("x", [4])
    g.output(g.node(f"f{depth - 1}", ["x"], domain="own"))
    return model(g, functions, OWN)


def many_calls(rng, size):
    n = rng.choice([1, 30, size // 90 + 1])
    functions = [function(f"f{k}", [node("Neg", ["x"], ["y"])]) for k in range(n)]
    g = Graph()
    last = g.input("x", [4])
    while g.length < size - sum(map(len, functions)) - 200:
        last = g.node(f"f{rng.randrange(n)}", [last], domain="own")
    g.output(last)
    return model(g, functions, OWN)


def long_function(rng, size):
    body = [node("Neg", [f"t{k}" if k else "x"], [f"t{k + 1}"]) for k in range(size // 30 + 1)]
    g = Graph()
    last = g.input("x", [4])
    for _ in range(rng.choice([1, 20])):
        last = g.node("f", [last], domain="own")
    g.output(last)
    return model(g, [function("f", body, outputs=[f"t{len(body)}"])], OWN)


# ---- many of one kind ----


def unknown_operators(rng, size):
    g = Graph()
    last = g.input("x", [4])
    same, domain = rng.random() < 0.3, rng.choice(["", "com.example"])
    while g.length < size - 200:
        last = g.node("Odd" if same else f"Odd{g.made}", [last], domain=domain or f"d{g.made}" * (g.made % 3 == 0))
    g.output(last)
    return model(g)


def many_inputs(rng, size):
    g, names = Graph(), []
    while not names or g.length < size * 2 // 3:
        names.append(g.input(f"i{len(names)}", [4]))
    while g.length < size - 200:
        g.output(g.node("Add", [rng.choice(names), rng.choice(names)]))
    g.output(g.node("Sum", names[:200]))
    return model(g)


def many_constants(rng, size):
    g, names, kind = Graph(), [], rng.choice([INT64, FLOAT])
    g.input("x", [1])
    while g.length < size - 200:
        names.append(g.constant([rng.randrange(9)], kind=kind))
        if rng.random() < 0.3:
            g.output(g.node("Add", [rng.choice(names), rng.choice(names)]))
    g.output(g.node("Relu", ["x"]))
    return model(g)


def many_outputs(rng, size):
    g = Graph()
    g.input("x", [4])
    if rng.random() < 0.5:
        n = size // 20 + 1
        g.input("wide", [n])
        names = [f"p{k}" for k in range(n)]
        g.add(1, node("Split", ["wide"], names, axis=0))
    else:
        names = ["x"] * (size // 20 + 1)
    for name in names:
        g.output(name)
        if g.length > size:
            break
    return model(g)


def declared_values(rng, size):
    g = Graph()
    g.input("x", [4])
    g.output(g.node("Relu", ["x"]))
    while g.length < size:
        g.add(13, value(rng.choice(["x", "v1", f"q{g.length}"]), [4]))
    return model(g)


def many_imports(rng, size):
    g = Graph()
    g.input("x", [4])
    g.output(g.node("Relu", ["x"]))
    return model(g, imports=b"".join(part(8, part(1, rng.choice(["", f"d{k}"])) + number(2, OPSET)) for k in range(size // 10)))


def many_attributes(rng, size):
    g = Graph()
    g.input("x", [4, 4])
    name = rng.choice(["perm", "axis", "odd"])
    n = node("Transpose", ["x"], ["y"])
    while len(n) < size:
        n += part(5, attribute(name if rng.random() < 0.9 else f"a{len(n)}", [1, 0] if name == "perm" else 1))
    g.add(1, n)
    g.output("y")
    return model(g)


def many_dimensions(rng, size):
    g = Graph()
    g.input("x", rng.choice([[1] * (size // 4), ["n"] * (size // 5), [2, 2]]))
    g.output(g.node("Reshape", ["x", g.constant([1] * (size // 16))]))
    return model(g)


# ---- names ----


def long_names(rng, size):
    g = Graph()
    prefix = "p" * rng.choice([50, 1000, size // 4])
    last = g.input("x", [4])
    while g.length < size - 200 - len(prefix) * 3:
        last = g.node("Neg", [last], [f"{prefix}{g.made}"]) or last
        g.made += 1
    g.output(last)
    return model(g)


def long_name_in_loop(rng, size):
    g = Graph()
    g.input("x", [4])
    g.constant([rng.choice([30, 3000])], [], name="trips")
    body = loop_body("k" * (size // 12), 3)
    g.output(g.node("Loop", ["trips", "", "x"], body=body))
    return model(g)


def same_names(rng, size):
    """Names that differ by the numbers that import gives to names."""
    g = Graph()
    last = g.input("x", [4])
    form = rng.choice(["v.{}", "v.2.{}", "sequence.{}", "v.Relu.{}"])
    k = 1
    while g.length < size - 200:
        g.node("HardSwish", [last], [form.format(k)])
        last, k = form.format(k), k + 1
    g.output(last)
    return model(g)


SECRET = (0x243F6A8885A308D3, 0x13198A2E03707345, 0xA4093822299F31D1)
WORD = (1 << 64) - 1


def mixed(a, b):
    p = a * b
    return (a + 0x9E3779B97F4A7C15 & WORD) ^ (b << 32 & WORD | b >> 32) ^ (p & WORD) ^ (p >> 64)


def slot_without_key(name):
    """Where a short name would be in a table, if its hash had no key (support/hash.c)."""
    data = name.encode()
    low, high = int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")
    h = mixed(SECRET[0], SECRET[1])
    h = mixed(low ^ SECRET[0] ^ h, high ^ SECRET[1])
    h = mixed(h ^ len(data), SECRET[1] ^ 0x9E3779B97F4A7C15)
    return mixed(mixed(h ^ SECRET[0], SECRET[1]), SECRET[2])


def flooding_names(rng, size):
    g = Graph()
    last, k = g.input("x", [4]), rng.randrange(1 << 30)
    while g.length < size - 200:
        k += 1
        if slot_without_key(f"{k:x}") & 0xFFFF < 0x1000:
            last = g.node("Neg", [last], [f"{k:x}"])
    g.output(last)
    return model(g)


# ---- shapes of graphs ----


def backwards(rng, size):
    """Nodes from the last to the first."""
    g, n = Graph(), size // 25 + 1
    g.input("x", [4])
    for k in reversed(range(n)):
        g.node("Neg", [f"t{k - 1}" if k else "x"], [f"t{k}"])
    g.output(f"t{n - 1}")
    return model(g)


def views(rng, size):
    g = Graph()
    last = g.input("x", [2, 3])
    kinds = rng.choice([["Transpose"], ["Identity"], ["Unsqueeze"], ["Transpose", "Identity", "Unsqueeze", "Neg"]])
    axes = g.constant([0])
    while g.length < size - 200:
        kind = rng.choice(kinds)
        if kind == "Unsqueeze":
            last = g.node("Squeeze", [g.node("Unsqueeze", [last, axes]), axes])
        elif kind == "Transpose":
            last = g.node(kind, [last], perm=[1, 0])
        else:
            last = g.node(kind, [last])
    g.output(last)
    return model(g)


def elementwise(rng, size):
    """Each value of the two before it, or of the first."""
    g = Graph()
    first = a = b = g.input("x", [8, 8])
    how = rng.choice(["diamond", "star", "chain"])
    while g.length < size - 200:
        other = {"diamond": rng.choice([a, b]), "star": first, "chain": a}[how]
        a, b = g.node(rng.choice(["Add", "Mul", "Max"]), [first if how == "star" else a, other]), a
        if how == "star" and rng.random() < 0.2:
            g.output(a)
    g.output(a)
    return model(g)


def layers(rng, size):
    """Contractions, reductions and normalisations behind each other."""
    g = Graph()
    last = g.input("x", [8, 8])
    w = g.constant([0.5] * 64, [8, 8], FLOAT)
    while g.length < size - 200:
        kind = rng.choice(["MatMul", "Softmax", "ReduceMean", "Relu", "Transpose"])
        if kind == "MatMul":
            last = g.node(kind, [last, rng.choice([w, last])])
        elif kind == "ReduceMean":
            last = g.node("Sub", [last, g.node(kind, [last], axes=[1], keepdims=1)])
        else:
            last = g.node(kind, [last], **({"perm": [1, 0]} if kind == "Transpose" else {}))
    g.output(last)
    return model(g)


def wide(rng, size):
    g = Graph()
    g.input("x", rng.choice([[4], ["n"], ["n", "m"]]))
    g.input("y", rng.choice([[4], ["k"], [1]]))
    op = rng.choice(["Concat", "Sum", "Max"])
    g.output(g.node(op, [rng.choice("xy") for _ in range(size // 3)], **({"axis": 0} if op == "Concat" else {})))
    return model(g)


def wide_upon_wide(rng, size):
    g = Graph()
    last = g.input("x", [1])
    for _ in range(rng.choice([3, 9])):
        n = rng.choice([10, size // 40 + 1])
        last = g.node("Concat", [last] * n, axis=0)
        last = g.node("ReduceMax", [last], axes=[0], keepdims=1)
    g.output(last)
    return model(g)


def constants_folded(rng, size):
    g = Graph()
    g.input("x", [1])
    last = g.constant([1.5], kind=FLOAT)
    while g.length < size - 200:
        op = rng.choice(["Add", "Mul", "Neg", "Sqrt", "Identity"])
        last = g.node(op, [last, last] if op in ("Add", "Mul") else [last])
    g.output(g.node("Add", ["x", last]))
    return model(g)


def lists(rng, size):
    g = Graph()
    g.input("x", [4])
    last = g.node("SequenceConstruct", ["x"])
    while g.length < size - 300:
        kind = rng.choice(["SequenceInsert", "SequenceInsert", "SplitToSequence", "SequenceErase"])
        if kind == "SequenceInsert":
            last = g.node(kind, [last, "x"])
        elif kind == "SequenceErase":
            last = g.node("SequenceInsert", [g.node(kind, [last]), "x"])
        else:
            g.node(kind, ["x"], axis=0)
    g.output(g.node("ConcatFromSequence", [last], axis=0))
    return model(g)


BOMBS = [number_chain, number_chain_moved, number_diamond, number_vectors, choices, float_chain, conditions, deciding, many_symbols,
         related_symbols, made_of_symbols, needed_sizes, needing_branches, nested_ifs, nested_loops, many_loops, rows_of_trips,
         calls_of_calls, many_calls, long_function, unknown_operators, many_inputs, many_constants, many_outputs, declared_values,
         many_imports, many_attributes, many_dimensions, long_names, long_name_in_loop, same_names, flooding_names, backwards,
         views, elementwise, layers, wide, wide_upon_wide, constants_folded, lists]
