"""The corpus: documents in, training windows and the held-out stream out."""

import lzma
import re
from pathlib import Path

import numpy as np

from tokenizer import END_OF_TEXT

HELD_OUT_SHARE = 0.02  # of the documents, taken from the end; never trained on


def read_documents(path: Path) -> list[str]:
    """One text per document. In the file each ends with the end-of-text mark on its own line."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        documents = file.read().split(END_OF_TEXT)
    return [text for text in (document.strip("\n") for document in documents) if text]


def split(documents: list) -> tuple[list, list]:
    """Training and held-out documents. The corpus is shuffled, so its tail is a fair sample."""
    held_out = int(len(documents) * HELD_OUT_SHARE)
    return documents[:-held_out], documents[-held_out:]


def is_plain(text: str) -> bool:
    """A short story in simple words and sentences: what we want the model to write by default."""
    words = re.findall(r"[A-Za-z']+", text)
    sentences = max(1, len(re.findall(r"[.!?]", text)))
    letters = sum(map(len, words))
    return len(text) < 3000 and len(words) < 14 * sentences and letters < 4.3 * len(words)


def encode(tokenizer, documents: list[str]) -> list[np.ndarray]:
    """Token ids of each document, led by the end-of-text mark that separates it from the last."""
    end = tokenizer.token_to_id(END_OF_TEXT)
    encoded = tokenizer.encode_batch_fast(documents)
    return [np.array([end, *e.ids], dtype=np.int64) for e in encoded]


class Windows:
    """Shuffled windows over the training documents, cut anew for every epoch.

    Half of the windows are moved back to the beginning of a document, half of those to just after
    its end-of-text mark: a program that generates starts at position 0 of such a document, and the
    model should have seen that.
    """

    def __init__(self, documents: list[np.ndarray], copies: list[int], length: int, seed: int):
        self.documents, self.length = documents, length
        self.order = np.repeat(np.arange(len(documents)), copies)
        self.random = np.random.default_rng(seed)

    def epoch(self) -> tuple[np.ndarray, np.ndarray]:
        """The token stream, and where in it the windows of length + 1 tokens start."""
        chosen = [self.documents[i] for i in self.random.permutation(self.order)]
        stream = np.concatenate(chosen)
        document_starts = np.cumsum([0] + [len(d) for d in chosen[:-1]])
        offset = self.random.integers(self.length)
        starts = np.arange(offset, len(stream) - self.length - 1, self.length)
        before = document_starts[np.searchsorted(document_starts, starts, side="right") - 1]
        kind = self.random.integers(4, size=len(starts))  # 0, 1: as cut; 2: at mark; 3: after it
        starts = np.where(kind < 2, starts, before + (kind == 3))
        return stream, self.random.permutation(starts)
