"""Byte-level BPE with Qwen2's way of cutting text, trained on the stories alone.

A published vocabulary of 150,000 entries would be larger than the whole model.
"""

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"

# What `tokenizer.ggml.pre = qwen2` stands for in GGUF files.
QWEN2_PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def make_tokenizer(
    vocab: dict[str, int] | None = None, merges: list[tuple[str, str]] | None = None
) -> Tokenizer:
    """With a vocabulary, or an empty one ready for training."""
    bpe = models.BPE(vocab=vocab, merges=merges) if vocab else models.BPE()
    tokenizer = Tokenizer(bpe)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    if vocab:
        tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


def train_tokenizer(documents: list[str], vocab_size: int) -> Tokenizer:
    """All 256 bytes are in the vocabulary, so any text has a tokenisation."""
    tokenizer = make_tokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer
