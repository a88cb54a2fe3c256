"""Parts of texts that several formats draw."""


def padded(text, size):
    """The text, and comments up to the size."""
    line = "# " + "plain " * 15 + "\n"
    return text + line * ((size - len(text)) // len(line))


def joined(rng, terms, between, size):
    """Terms with operators between them, as many as fit."""
    text = [rng.choice(terms)]
    length = len(text[0])
    while length < size:
        text.append(rng.choice(between) + rng.choice(terms))
        length += len(text[-1])
    return "".join(text)


def nested(rng, opening, inside, closing, size):
    """inside, in as many brackets as fit."""
    opened = []
    length = 0
    while length < size:
        opened.append(rng.choice(opening))
        length += len(opened[-1]) + len(closing)
    return "".join(opened) + inside + closing * len(opened)
