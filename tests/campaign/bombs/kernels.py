"""Kernels as text: bombs of `.te` files. A generator draws the text of at most `size` bytes."""

import draw

NAME = "te"
SUFFIX = ".te"
COMMANDS = [
    "show --te {bomb} --print workload,schedule,stages,nest,tir",
    "? explain --te {bomb}",
    "? tune --te {bomb} --trials 1 --threads 1 --db {scratch}.db",
]

HEAD = "tensor X[64, 64] f32\ntensor K[64] i64\n"


def plain(size):
    return draw.padded(HEAD + "compute Y[i:64, j:64] = X[i, j] + 1.0\noutput Y\n", size)


def kernel(body, head=HEAD, axes="i:64, j:64"):
    return f"{head}compute Y[{axes}] = {body}\noutput Y\n"


# ---- one expression ----


def long_sum(rng, size):
    terms = ["X[i, j]", "X[j, i]", "f32(i)", "2.5 * X[i, 3]"]
    return kernel(draw.joined(rng, terms, [" + ", " - "], size))


def long_product(rng, size):
    return kernel(draw.joined(rng, ["X[i, j]", "X[j, i]", "1.5"], [" * ", " / "], size))


def long_literals(rng, size):
    return kernel("X[i, j] * (" + draw.joined(rng, ["1.0", "2.0", "0.5"], [" + ", " * ", " - "], size) + ")")


def long_condition(rng, size):
    terms = ["i < 5", "j > i", "X[i, j] < 1.0", "i % 3 == 1", "(i + j) / 7 != 4"]
    return kernel("select(" + draw.joined(rng, terms, [" && ", " || "], size) + ", X[i, j], 0.0)")


def long_index(rng, size):
    terms = ["i", "j", "i / 3", "j % 5", "i * j", "(i + j) / 7"]
    return kernel("X[(" + draw.joined(rng, terms, [" + ", " - "], size) + ") % 64, j]")


def brackets(rng, size):
    n = size // 2
    return kernel("(" * n + "X[i, j]" + ")" * n)


def signs(rng, size):
    return kernel(rng.choice(["-", "- ", "!"]) * size + "X[i, j]")


def calls(rng, size):
    return kernel(draw.nested(rng, ["relu(", "abs(", "exp(", "f32(", "sqrt("], "X[i, j]", ")", size))


def doubled_calls(rng, size):
    return kernel(draw.nested(rng, ["gelu(", "silu("], "X[i, j]", ")", min(size, rng.choice([60, 150, 600, 1900]))))


def choices(rng, size):
    first = rng.choice(["i < {k}", "i % {m} < 3", "X[i, j] < {k}.0", "i + j == {k}", "i < {k} && j % {m} == 1"])
    layers, levels = [], min(size // 40, rng.choice([12, 100, 190, 10**6]))
    for k in range(levels):
        layers.append("select(" + first.format(k=k % 64, m=k % 7 + 2) + f", X[i, {k % 64}], ")
    return kernel("".join(layers) + "0.0" + ")" * levels)


def choices_of_conditions(rng, size):
    """The condition of each choice holds another choice."""
    levels = min(size // 30, rng.choice([10, 60, 190]))
    text = "i"
    for k in range(levels):
        text = f"select({text} < {k + 1}, {rng.choice('ij')} + {k}, {k})"
    return kernel(f"X[{text} % 64, j]")


def extremes(rng, size):
    """min and max of each other, in an index."""
    levels, text = min(size // 16, rng.choice([12, 60, 190])), "i"
    for k in range(levels):
        text = f"{rng.choice(['min', 'max'])}({text} + {rng.choice('ij')}, {rng.randrange(90)})"
    return kernel(f"X[{text} % 64, j]")


def remainders(rng, size):
    levels, text = min(size // 18, rng.choice([12, 60, 190])), "i"
    for k in range(levels):
        text = f"({text} * {rng.randrange(1, 9)} + {rng.choice('ij')}) {rng.choice('/%')} {rng.randrange(2, 90)}"
    return kernel(f"X[({text}) % 64, j]")


def gathers(rng, size):
    levels = min(size // 5, rng.choice([20, 190, 10**6]))
    return kernel("X[" + "K[" * levels + "i" + "]" * levels + ", j]")


def many_reads(rng, size):
    texts, length = [], 0
    while length < size:
        k = rng.randrange(64)
        texts.append(f"select(i + {k} < {rng.randrange(1, 64)} && j >= {k}, X[i + {k}, j - {k}], 0.0)")
        length += len(texts[-1]) + 3
    groups = ["(" + " + ".join(texts[at : at + 300]) + ")" for at in range(0, len(texts), 300)]
    return kernel(" + ".join(groups))


# ---- many lines ----


def lines(rng, size, line, last):
    """line(k) for k from 0, as many as fit, then last(n)."""
    text, n = [HEAD], 0
    length = len(HEAD)
    while length < size:
        text.append(line(n))
        length += len(text[-1])
        n += 1
    return "".join(text) + last(n)


def computes(rng, size):
    return lines(rng, size, lambda k: f"compute c{k}[i:8] = {f'c{k - 1}[i]' if k else 'f32(K[i])'} + 1.0\n",
                 lambda n: f"output c{n - 1}\n")


def doubling_computes(rng, size):
    """Each reads the one before twice: inlined, the text doubles."""
    last = min(size // 45, rng.choice([20, 40, 300, 10**6]))
    return lines(rng, last * 45, lambda k: f"compute c{k}[i:8] = " + (f"c{k - 1}[i] * c{k - 1}[7 - i]\n" if k else "f32(K[i])\n"),
                 lambda n: f"output c{n - 1}\n")


def reductions(rng, size):
    return lines(rng, size, lambda k: f"compute c{k}[i:8, j:8] = sum(k:8) " + (f"c{k - 1}[i, k] * c{k - 1}[k, j]\n" if k else
                                                                              "X[i, k] * X[k, j]\n"),
                 lambda n: f"output c{n - 1}\n")


def tensors(rng, size):
    half = size // 2
    head = lines(rng, half, lambda k: f"tensor T{k}[8] f32\n", lambda n: "")
    n = head.count("tensor T")
    return head + "compute Y[i:8] = " + draw.joined(rng, [f"T{k}[i]" for k in range(n)], [" + "], half) + "\noutput Y\n"


def outputs(rng, size):
    def last(n):
        return "output " + ", ".join(f"c{k}" for k in range(n)) + "\n"
    return lines(rng, size * 3 // 4, lambda k: f"compute c{k}[i:8] = X[i, {k % 64}] + {k}.0\n", last)


# ---- sizes that vary ----


def sized(symbols, size="n", reads=None):
    return symbols + f"tensor X[{size}] f32\ncompute Y[i:{size}] = {reads or 'X[i] + 1.0'}\noutput Y\n"


def defined(rng, size, line, used="{last}"):
    text, length, k = ["symbol n 1..4\nsymbol m 2..9\n"], 0, 0
    while length < size:
        text.append(line(k))
        length += len(text[-1])
        k += 1
    return sized("".join(text), used.format(last=f"a{k - 1}"))


def symbol_diamonds(rng, size):
    levels = rng.choice([30, 60, 300, 10**6])
    form = rng.choice(["({a} + {a}) / 2", "({a} + {b} + 1) / 2", "({a} * {a}) / {k}", "{a} + {b} - {b}", "({a} * 3 + {a}) / 4"])

    def line(k):
        a, b = f"a{k - 1}" if k else "n", f"a{k - 2}" if k > 1 else "m"
        return f"symbol a{k} = " + form.format(a=a, b=b, k=k + 2) + "\n"
    return defined(rng, min(size, levels * 25), line)


def symbol_chain(rng, size):
    return defined(rng, size, lambda k: f"symbol a{k} = " + (f"(a{k - 1} + m) / 2" if k else "n + 1") + "\n")


def many_symbols(rng, size):
    def line(k):
        return f"symbol s{k} 1..{k + 1}\ntensor T{k}[s{k}] f32\ncompute c{k}[i:s{k}] = T{k}[i]\n"
    return lines(rng, size, line, lambda n: "output " + ", ".join(f"c{k}" for k in range(min(n, 1000))) + "\n")


def many_definitions(rng, size):
    def line(k):
        return f"symbol s{k} = n + {k}\ntensor T{k}[s{k}] f32\ncompute c{k}[i:s{k}] = T{k}[i]\n"
    return "symbol n 1..4\n" + lines(rng, size, line, lambda n: f"output c{n - 1}\n")


def proofs(rng, size):
    """Reads of which only a proof with sizes tells that they are inside."""
    text = ["symbol N 1..64\nsymbol M 1..64\nsymbol P = N + M\ntensor A[N, M] f32\ntensor B[P] f32\ncompute Y[i:N, j:M] = "]
    reads, length = [], 0
    while length < size:
        k = rng.randrange(9)
        reads.append(rng.choice([
            f"select(i * {k + 2} + j < P, B[(i * {k + 2} + j) % P], 0.0)",
            f"select(j + {k} < M && i >= {k}, A[i - {k}, j + {k}], 0.0)",
            f"A[(i * M + j) / M, (i * M + j) % M]",
            f"select(i * M + j < N * M - {k}, A[(i * M + j + {k}) / M, (i * M + j + {k}) % M], 0.0)",
        ]))
        length += len(reads[-1]) + 3
    groups = ["(" + " + ".join(reads[at : at + 200]) + ")" for at in range(0, len(reads), 200)]
    return text[0] + " + ".join(groups) + "\noutput Y\n"


# ---- words and numbers ----


def numbers(rng, size):
    number = rng.choice(["9" * size, "0." + "0" * size + "1", "1e" + "9" * min(size, 5000), "1" * size + ".5e-3"])
    return kernel(f"X[i, j] * {number}")


def extents(rng, size):
    axes = ", ".join(f"a{k}:{rng.choice([2**31 - 1, 2**62, 65536, 10**18])}" for k in range(8))
    return draw.padded(f"compute Y[{axes}] = 1.0\noutput Y\n", size)


def names(rng, size):
    word = rng.choice("abz_") * (size // 3)
    return f"tensor {word} [8] f32\ncompute Y[i:8] = {word}x[i] + {word}\noutput Y\n"


def unknown_names(rng, size):
    return lines(rng, size, lambda k: f"tensor name_of_a_tensor_{k}[8] f32\n",
                 lambda n: "compute Y[i:8] = name_of_a_tensro_7[i]\noutput Y\n")


def indices(rng, size):
    return kernel("X[" + draw.joined(rng, ["i", "j", "0"], [", "], size) + "]")


def empty_lines(rng, size):
    return rng.choice(["\n", " \n", "#\n", "\t"]) * (size // 2) + rng.choice(["", "output", "@" * 1000])


BOMBS = [long_sum, long_product, long_literals, long_condition, long_index, brackets, signs, calls, doubled_calls, choices,
         choices_of_conditions, extremes, remainders, gathers, many_reads, computes, doubling_computes, reductions, tensors,
         outputs, symbol_diamonds, symbol_chain, many_symbols, many_definitions, proofs, numbers, extents, names, unknown_names,
         indices, empty_lines]
