# SPDX-License-Identifier: MIT
"""Writes the token ids of the demo's texts, little-endian uint16, with the vocabulary of a GGUF file:

    python make_texts.py MODEL.gguf [NAME ...]
    python make_texts.py MODEL.gguf --long FOLDER

--long: train.u16 and test.u16 of fine_tuning.py, of the same packages: Python's documentation and the Bible; Rust's books.
Needs PyPI's gguf, tokenizers and numpy, and Debian's rust-doc, bible-kjv and python3-doc. A text more is a line of TEXTS."""
import html.parser
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

RUST = Path("/usr/share/doc/rust-doc/html/book")
PYTHON = Path("/usr/share/doc/python3-doc/html/_sources")


class MainText(html.parser.HTMLParser):
    """What stands in <main>."""

    def __init__(self):
        super().__init__()
        self.parts, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        self.inside |= tag == "main"

    def handle_endtag(self, tag):
        self.inside &= tag != "main"

    def handle_data(self, data):
        if self.inside:
            self.parts.append(data)


def rust_book(first, last):
    """The chapters `first` to `last`, in order."""
    return main_text([page for page in sorted(RUST.glob("ch??-??-*.html")) if first <= int(page.name[2:4]) <= last])


def rust_pages(*folders):
    """All pages of some folders of Rust's books, in the order of their names."""
    return main_text([page for folder in folders for page in sorted((RUST.parent / folder).rglob("*.html")) if page.name != "print.html"])


def main_text(pages):
    parser = MainText()
    for page in pages:
        parser.feed(page.read_text(encoding="utf-8"))
    return re.sub(r"\n{3,}", "\n\n", "".join(parser.parts))


def king_james(verses):
    """Verses without their references."""
    output = subprocess.run(["bible", "-f", verses], check=True, stdout=subprocess.PIPE, text=True).stdout
    return " ".join(line.partition(" ")[2] for line in output.splitlines())


def python_docs(*pages):
    return "\n".join((PYTHON / f"{page}.rst.txt").read_text(encoding="utf-8") for page in pages)


def long_texts():
    pages = sorted(str(page.relative_to(PYTHON))[:-len(".rst.txt")] for page in PYTHON.rglob("*.rst.txt"))
    return {"train": python_docs(*pages) + king_james("Gen1:1-Rev22:21"), "test": rust_pages("reference", "nomicon", "rust-by-example", "rustc", "book")}


# name: the text, the first token taken of it, the number of tokens
TEXTS = {
    "document_rust": (lambda: rust_book(3, 9), 0, 16384),
    "document_reference": (lambda: rust_pages("reference/items", "reference/expressions"), 0, 12288),
    "document_nomicon": (lambda: rust_pages("nomicon"), 0, 12288),
    "document_library": (lambda: python_docs("library/collections", "library/itertools", "library/decimal"), 0, 12288),
    "document_c_api": (lambda: python_docs("extending/extending", "extending/newtypes_tutorial", "c-api/intro"), 0, 12288),
    "document_kjv": (lambda: king_james("Isa1:1-Isa66:24"), 0, 12288),
    "dev_document": (lambda: python_docs("library/argparse", "library/sqlite3"), 0, 12288),
    "heldout_rust": (lambda: rust_book(15, 17), 0, 6144),
    "heldout_kjv": (lambda: king_james("Luke1:1-John21:25"), 0, 6144),
    "dev_kjv": (lambda: king_james("Ruth1:1-1Sam31:13"), 0, 4608),
    "dev_python": (lambda: python_docs("howto/functional"), 0, 4608),
    "train_kjv": (lambda: king_james("Gen1:1-Exo40:38"), 0, 16384),
    "train_python": (lambda: python_docs("tutorial/controlflow", "tutorial/datastructures", "tutorial/classes",
                                         "howto/logging"), 0, 16384),
}


def tokenizer_of(model):
    """GPT-2's byte pairs, each digit on its own, as the file's tokenizer.ggml.pre "smollm" says."""
    fields = GGUFReader(model).fields

    def words(key):
        return [bytes(fields[key].parts[i]).decode("utf-8") for i in fields[key].data]

    vocabulary = {word: i for i, word in enumerate(words("tokenizer.ggml.tokens"))}
    merges = [tuple(pair.split(" ")) for pair in words("tokenizer.ggml.merges")]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    return made


def main():
    tokenizer = tokenizer_of(sys.argv[1])
    if sys.argv[2:3] == ["--long"]:
        for name, text in long_texts().items():
            ids = np.array(tokenizer.encode(text).ids, "<u2")
            print(f"{name}: {len(ids)} tokens")
            ids.tofile(Path(sys.argv[3]) / f"{name}.u16")
        return
    for name in sys.argv[2:] or TEXTS:
        text, first, count = TEXTS[name]
        ids = tokenizer.encode(text()).ids
        print(f"{name}: {len(ids)} tokens, of which {count} from {first} on")
        assert first + count <= len(ids)
        np.array(ids[first:first + count], "<u2").tofile(Path(__file__).parent / f"{name}.u16")
    for phrase in (" The pass key is 01234. Remember it. 01234 is the pass key.", " What is the pass key? The pass key is 01234"):
        print(phrase, tokenizer.encode(phrase).ids)  # what measures.cpp has as constants


if __name__ == "__main__":
    main()
