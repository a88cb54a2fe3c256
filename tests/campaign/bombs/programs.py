"""Loop programs as text: bombs of `.tir` files. No command reads them, so `fuzz_inputs` does: parser, verifier and passes."""

import draw

NAME = "tir"
SUFFIX = ".tir"
PROGRAM = "FUZZ_INPUTS"
COMMANDS = ["--read tir {bomb}"]

HEAD = "func kernel\nparam X f32[64] in 0 align 4\nparam K i64[64] in 1 align 8\nparam Y f32[64] out 0 align 4\nbody\n"


def program(body, head=HEAD):
    return head + "for i in 64 {\n" + body + "\n}\n"


def plain(size):
    return draw.padded(program("Y[i] = X[i] + 1.0"), size)


def store(value, index="i"):
    return program(f"Y[{index}] = {value}")


def blocks(rng, size):
    forms = ["for {v} in 1 {{", "if guard i < 63 {{", "alloc {v} f32[4] stack align 4 {{", "unrolled {v} in 1 {{"]
    text, length, n = [], 0, 0
    while length < size:
        text.append(rng.choice(forms).format(v=f"v{n}"))
        length += len(text[-1]) + 2
        n += 1
    return program("\n".join(text) + "\nY[i] = X[i]\n" + "}" * n)


def others(rng, size):
    n = size // 20
    return program("if i < 3 {\nY[i] = 1.0\n} else {\n" * n + "Y[i] = 2.0\n" + "}" * n)


def long_sum(rng, size):
    return store(draw.joined(rng, ["X[i]", "X[63 - i]", "2.0"], [" + ", " * "], size))


def long_index(rng, size):
    return store("X[(" + draw.joined(rng, ["i", "i / 3", "i % 5", "K[i]"], [" + ", " - "], size) + ") % 64]")


def brackets(rng, size):
    return store("(" * (size // 2) + "X[i]" + ")" * (size // 2))


def calls(rng, size):
    return store(draw.nested(rng, ["abs(", "gelu(", "f32(", "-"], "X[i]", "", size))


def closed_calls(rng, size):
    return store(draw.nested(rng, ["abs(", "silu(", "f32(", "gelu("], "X[i]", ")", min(size, rng.choice([100, 1500]))))


def choices(rng, size):
    n = min(size // 30, rng.choice([12, 190, 10**6]))
    return store("".join(f"select(i < {k % 64}, X[i % {k % 64 + 1}], " for k in range(n)) + "0.0" + ")" * n)


def vectors(rng, size):
    n = min(size // 12, rng.choice([5, 190, 10**6]))
    return program("Y[ramp(0, 1, 4096)] = " + "bcast(" * n + "1.0" + ", 4096)" * n)


def statements(rng, size):
    lines = ["Y[i] = X[i] + 1.0", "Y[i] = Y[i] * 2.0", "prefetch X[i]", "if i < 5 { Y[i] = 0.0 }"]
    return program("\n".join(rng.choice(lines) for _ in range(size // 20)))


def loops(rng, size):
    kinds = ["for", "unrolled", "vectorized", "parallel"]
    return HEAD + "\n".join(f"{rng.choice(kinds)} v{k} in {rng.choice([1, 64])} {{ Y[v{k}] = X[v{k}] }}" for k in range(size // 45))


def unrolled(rng, size):
    n = rng.choice([2, 4, 9])
    return draw.padded(HEAD + "".join(f"unrolled v{k} in {rng.choice([64, 1000, 10**6])} {{\n" for k in range(n)) +
                       "Y[v0 % 64] = X[0]\n" + "}" * n + "\n", size)


def parameters(rng, size):
    return "func kernel\n" + "".join(f"param X{k} f32[64] in {k} align 4\n" for k in range(size // 35)) + \
        "param Y f32[64] out 0 align 4\nbody\nfor i in 64 {\nY[i] = X0[i]\n}\n"


def symbols(rng, size):
    n = size // 20
    dims = draw.joined(rng, [f"s{k}" for k in range(n)], [" + ", " * "], 200)
    return "func kernel\n" + "".join(f"symbol s{k} 1..{k + 1}\n" for k in range(n)) + \
        f"param X f32[{2**20}] of ({dims}) in 0 align 4\nparam Y f32[64] out 0 align 4\nbody\nfor i in 64 {{\nY[i] = 1.0\n}}\n"


def places(rng, size):
    n = size // 40
    return "func kernel\nparam Y f32[64] out 0 align 4\nworkspace shared 4096 thread 0\n" + \
        "".join(f"place b{k} {k}\n" for k in range(n)) + "body\n" + \
        "".join(f"alloc b{k} f32[4] shared align 4 {{\n" for k in range(min(n, 490))) + "Y[0] = 1.0\n" + "}" * min(n, 490)


def layouts(rng, size):
    part = draw.joined(rng, ["k", "j", "1"], [" + ", " - "], size)
    return f"func kernel\nparam W f32[64] packed 0 (k, j) -> ({part}, j) align 4\nparam Y f32[64] out 0 align 4\nbody\nY[0] = 1.0\n"


def numbers(rng, size):
    return store("X[i] * " + rng.choice(["9" * size, "1e" + "9" * size, "0." + "0" * size + "1"]))


def names(rng, size):
    return store("v" * size)


BOMBS = [blocks, others, long_sum, long_index, brackets, calls, closed_calls, choices, vectors, statements, loops, unrolled,
         parameters, symbols, places, layouts, numbers, names]
