"""Schedules as text, layouts among them: bombs of `.sched` files for a small kernel. A generator draws at most `size` bytes."""

import draw

NAME = "sched"
SUFFIX = ".sched"
COMMANDS = [
    "show --te {folder}/kernel.te --sched {bomb} --print schedule,stages,nest,tir",
    "? explain --te {folder}/kernel.te --sched {bomb}",
    "? compare {folder}/kernel.te {bomb} default --threads 1",
    "? measure {folder}/kernel.te --sched {bomb} --threads 1 --db {scratch}.db",
]
KERNEL = """tensor X[8, 16] f32
tensor W[16, 32] f32 const
compute A[i:8, k:16] = X[i, k] * X[7 - i, k]
compute B[i:8, k:16] = A[i, k] * A[7 - i, k] + A[i, 15 - k]
compute Y[i:8, j:32] = sum(k:16) B[i, k] * W[k, j]
output Y
"""


def prepare(folder):
    with open(f"{folder}/kernel.te", "w") as f:
        f.write(KERNEL)


def plain(size):
    return draw.padded("transform_layout W (k, j) -> (j / 16, k, j % 16)\n", size)


def lines(size, line, head=""):
    text, length, k = [head], len(head), 0
    while length < size:
        text.append(line(k) + "\n")
        length += len(text[-1])
        k += 1
    return "".join(text)


def layout(part, head=""):
    return f"{head}transform_layout W (k, j) -> (j / 16, {part}, j % 16)\n"


# ---- layouts ----


def layout_sum(rng, size):
    return layout("k" + draw.joined(rng, [" + 1 - 1", " + 2 - 2"], [""], size))


def layout_terms(rng, size):
    return layout(draw.joined(rng, ["k", "j", "k / 2", "j % 3 * 4", "(k + j)"], [" + ", " - "], size))


def layout_brackets(rng, size):
    n = min(size // 2, rng.choice([30, 70, 10**6]))
    return layout("(" * n + "k" + ")" * n)


def layout_digits(rng, size):
    return layout("k" + draw.joined(rng, [" / 2", " % 4", " * 3", " / 1"], [""], size))


def layout_decisions(rng, size):
    n = size // 40
    return layout(" + ".join(f"d{k}" for k in range(n)), "".join(f"d{k} = sample_categorical [1, 2] ~1\n" for k in range(n)))


def layout_numbers(rng, size):
    return layout(rng.choice(["k + ", "k * ", "k / "]) + "9" * rng.choice([18, 19, 30, size]))


def layout_names(rng, size):
    word = "k" * (size // 3)
    return f"transform_layout W ({word}, j) -> (j, {word})\n"


def layout_lists(rng, size):
    return f"transform_layout W ({', '.join(f'v{k}' for k in range(size // 12))}) -> ({', '.join(['k'] * (size // 12))})\n"


# ---- loops ----


def splits(rng, size):
    return lines(size, lambda k: f"i{k + 1}, t{k} = split Y.{f'i{k}' if k else 'i'} [_, {rng.choice([1, 2])}]")


def splits_and_fuses(rng, size):
    """Split one way and fused the other way: each turn doubles the terms of an index."""
    def line(k):
        return (f"a{k}, b{k} = split Y.{f'f{k - 1}' if k else 'i'} [_, {rng.choice([2, 3])}]\n"
                f"reorder Y.b{k} Y.a{k}\nf{k} = fuse Y.b{k} Y.a{k}")
    return lines(size, line)


def fuses_of_all(rng, size):
    def line(k):
        return (f"f{k} = fuse Y.{f'a{k - 1}' if k else 'i'} Y.{f'b{k - 1}' if k else 'j'}\n"
                f"a{k}, b{k} = split Y.f{k} [_, {rng.choice([5, 7])}]")
    return lines(size, line)


def reduction_turns(rng, size):
    """The same of a reduction, and then rfactor."""
    def line(k):
        return (f"a{k}, b{k} = split Y.{f'f{k - 1}' if k else 'k'} [_, {rng.choice([2, 3])}]\n"
                f"reorder Y.b{k} Y.a{k}\nf{k} = fuse Y.b{k} Y.a{k}")
    turns = lines(min(size, rng.choice([400, 2000, 10**6])), line)
    last = turns.count("fuse") - 1
    return turns + f"x, y = split Y.f{last} [_, 2]\nR = rfactor Y.y\n"


def rfactors(rng, size):
    return lines(size, lambda k: f"o{k}, u{k} = split Y.{f'u{k - 1}' if k else 'k'} [_, 1]\nR{k} = rfactor Y.u{k}")


def unrolled(rng, size):
    return draw.padded("unroll Y.i\nunroll Y.j\nunroll Y.k\nunroll A.i\nunroll A.k\n"
                       "pragma Y auto_unroll_max 9223372036854775807\n", size)


# ---- stages ----


def caches(rng, size):
    return lines(size, lambda k: f"c{k} = cache_read {f'c{k - 1}' if k else 'X'} {rng.choice(['global', 'local'])}")


def written_caches(rng, size):
    return lines(size, lambda k: f"w{k} = cache_write {f'w{k - 1}' if k else 'Y'} {rng.choice(['global', 'local'])}")


def nested_caches(rng, size):
    """Each computed inside of the loops of the one that reads it."""
    def line(k):
        reader = f"w{k - 1}" if k else "Y"
        return f"w{k} = cache_write {reader} global\ncompute_at w{k} {reader}.j"
    return lines(size, line)


def moves(rng, size):
    return lines(size, lambda k: rng.choice(["compute_at B Y.i", "compute_root B", "compute_at A B.i", "compute_root A",
                                             "compute_at B Y.k"]))


def inlined(rng, size):
    return draw.padded("compute_inline A\ncompute_inline B\n", size)


# ---- words, lists and numbers ----


def decisions(rng, size):
    return lines(size, lambda k: rng.choice([f"t{k} = sample_tile Y.i parts=3 max_inner=16", f"t{k} = sample_categorical [1, 2]",
                                             f"t{k} = sample_compute_location B"]) + rng.choice(["", " ~1", " ~[1, 2]"]))


def tiles(rng, size):
    n = rng.choice([2**31 - 1, 2**62, 10**18])
    return draw.padded(f"t = sample_tile Y.i parts={rng.choice([2, 6, 7, n])} max_inner={n} ~[{n}, {n}]\n", size)


def lists(rng, size):
    return rng.choice(["u = sample_categorical [{}]\n", "i0, i1 = split Y.i [{}]\n", "u = sample_categorical [1] ~[{}]\n"]).format(
        draw.joined(rng, ["1", "2", "_", "9" * 18], [", "], size))


def outs(rng, size):
    return ", ".join(f"n{k}" for k in range(size // 8)) + " = split Y.i [_, 2]\n"


def operands(rng, size):
    return rng.choice(["reorder", "fuse", "C = cache_read W"]) + draw.joined(rng, [" Y.i", " Y.j", " Y"], [""], size) + "\n"


def numbers(rng, size):
    return f"i0, i1 = split Y.i [_, {'9' * rng.choice([18, 19, size])}]\n"


def names(rng, size):
    word = "i" * (size // 2)
    return rng.choice([f"{word}, b = split Y.i [_, 2]\n", f"unroll Y.{word}\n", f"{word} Y.i\n",
                       f"a, b = split {word}.{word} [_, 2]\n"])


def steps(rng, size):
    return lines(size, lambda k: rng.choice(["pragma Y auto_unroll_max 1", "set_scope B local", "storage_align B 0 16",
                                             "prefetch W 64"]))


BOMBS = [layout_sum, layout_terms, layout_brackets, layout_digits, layout_decisions, layout_numbers, layout_names, layout_lists,
         splits, splits_and_fuses, fuses_of_all, reduction_turns, rfactors, unrolled, caches, written_caches, nested_caches, moves,
         inlined, decisions, tiles, lists, outs, operands, numbers, names, steps]
