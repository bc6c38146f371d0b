#!/usr/bin/env python3
"""Writes tokenizer.json: what Hugging Face tokenizers makes of texts that are easy to get wrong.

    python3 -m venv venv && venv/bin/pip install tokenizers==0.23.3
    MINFER_TEST_DATA=... venv/bin/python tests/golden/make_tokenizer_golden.py

Three references: the published Qwen3 tokenizer ($MINFER_TEST_DATA/qwen3-tokenizer) with its NFC
step removed, a small vocabulary trained here on sentences of our own, and the pieces of the two
pre-tokenizer patterns. The class of every code point goes in as one checksum.
"""
import json
import lzma
import os
import random

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|"
          r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

SENTENCES = """\
The lighthouse keeper counts the ships that pass in the night, and there are never more than three.
"Don't you think it's late?" she asked; he'd have said so, but they're already there.
A small boat came in with the tide. It carried bread, two cats and a letter for the keeper's sister.
She reads the letter aloud: "We'll be home when the snow is gone, I've missed the smell of the sea."
In the morning the keeper paints the door green, then blue, then green again.
def count(ships):\n    total = 0\n    for ship in ships:\n        total += 1\n    return total\n
for (int i = 0; i < 10; ++i) {\n\tprintf("%d\\n", i);\n}\n
Der Leuchtturm steht am Rand der Insel; die Schiffe grüßen ihn mit drei Tönen.
Le gardien du phare a préparé du thé, et la théière siffle déjà.
Смотритель маяка пьёт чай и смотрит на море, а море смотрит на маяк.
灯台守は毎晩、船の数を数える。海は静かで、月は明るい。
守灯塔的人每天晚上数船。海很安静,月亮很亮。
The price was 1250 crowns in 1987, 3999 in 2004 and nothing at all today.
""".split("\n")

# The traps of the pre-tokenizer, the check values of the specification, and one or more of every
# kind of text that has its own rules.
TEXTS = [
    "", "a", " ", "  ", "a  b", "a   b    c", "trailing  ", "x  \n  y", " \n \t \n ", "(x):\n",
    "!\r\n\r\nok", "a\tb", " 42", "1234", "\u00bd\u2167\u0663", "it's'll", "DON'T", "'sam",
    "don\u2019t", "a\u00a0b", "a\u3000b", "a\u200bb", "\u00a0\u00a0b", "cafe\u0301", "caf\u00e9",
    "<think>\nhi", "->", "\x00", "def f():\n    return  x\n", "<think>\n\n</think>\n\n",
    "It'S DON'T", "it'\u017f", "'\u017fx", "'\u212a", "'RE 'Ve 'LL 'lL 'M 'd'D", "'r 'v 'l 'rx",
    "''s", "!'s", "x's's", "'", "''", "\u2019s", "a 's", "\n's",
    "\r\n", "\n\r\n\r", "\r\r\n\n", "a\n\nb", "a \n b", "a\n \nb", "\t\ta", "\t\t", "\x0b\x0c\x85",
    "a\u2028b\u2029c", "a\u0085b", "a \u1680 b", "\ufeffa", "\u180ea", "a\x1cb\x1d\x1e\x1f",
    "a\x7fb\x80c\x9f", "\x01\x02\x03\x1b[0m", "-- --\n--", "...\n\n...", "#!/bin/sh\n", "a.b.c",
    "$5.00 \u20ac12,50", "1e-5", "0x1F", "\u0967\u0968\u0969", "x\u00b2+y\u00b2", "\u2460\u2461",
    "\u4e00\u4e8c\u4e09", "\u5b88\u706f\u5854\u7684\u4eba\uff0c\u6570\u8239\u3002",
    "\u706f\u53f0\u5b88\u306f\u6bce\u6669\u3001\u8239\u3092\u6570\u3048\u308b\u3002",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5", "\u1112\u1161\u11ab", "\U00020000\U0002a6d6",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0643", "\u05e9\u05dc\u05d5\u05dd, \u05e2\u05d5\u05dc\u05dd",
    "\u202babc\u202c \u200f\u0634", "\u0628\u0650\u0633\u0652\u0645\u0650", "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "e\u0301\u0302\u0303 \u0301a", "!\u0301\u0302", "\u0301", " \u0301",
    "1\u0301", "\u0301\n", "Z\u0351\u036b\u0343a\u0329l\u0321g\u0356o\u031b", "\u00c5\u212b\u0041\u030a", "\ufb01\ufb06",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family",
    "\U0001f44d\U0001f3fd\U0001f44d\U0001f3ff", "\U0001f1e9\U0001f1ea\U0001f1ef\U0001f1f5", "\u2764\ufe0f\u200d\U0001f525",
    "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "a\ufe0fb", "\ufffd\ufffe\uffff", "\U0010ffff\ue000",
    "<|im_start|>user\nhi<|im_end|>\n", "<|im_start|>", "<|im_start|><|im_start|>", "a<|im_end|>b",
    "  <|im_end|>  ", "\n<|im_end|>\n\n", "<|im_start", "<|im_start|", "im_start|>", "<<|im_end|>>",
    "<|endoftext|><|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>", "<|IM_END|>", "<| im_end |>",
    "<think></think><think", "</think>", "<thinking>", "<tool_call>\n{\"a\": 1}\n</tool_call>",
    "<tool_response>x</tool_response>", "x <think> y", "x  </think>  y", "<|repo_name|>r<|file_sep|>f",
    "<|vision_start|><|image_pad|><|vision_end|>", "<|fim_pad|>'s", "don<think>'t",
    "int main(void) {\n\treturn 0;\t// done\n}\n", "if (a&&b)||c!=d{e[f]=g->h;}", "a_b __init__ camelCase",
    "SELECT * FROM t WHERE x='y';--", "<p class=\"a\">&nbsp;</p>", "\\n\\t\\\\", "http://a.example/?q=1&r=%20",
    "The quick brown fox.  It ran.\n\nThen it slept...", "supercalifragilisticexpialidocious", "AAAAAAAAAA",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab", "    " * 10 + "x", "\n" * 17, "=" * 70, "-" * 33 + "\n",
    "\u0130\u0131\u00df\u1e9e", "\u01c5\u01c8", "\u02b0\u02c6", "\u2126\u03a9", "\u2160\u2170\u3007\u3021", "\U0001d7d8\U0001d400",
    "\u0378\u0379", "\U000e0100", "\ua7cb\u1c89", "\U00010d40", "\u0897a", "\u00ad\u034f\u061c\u2060",
]
POOLS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCSTREDLMV", "    ", "  \t\n\r\x0b\x0c\x85\u00a0\u2003\u2028\u3000", "\n\r\n ",
    "0123456789\u00b2\u0663\u2167", "'\u2019`'sStTmMdD\u017f", "!?.,;:-_()[]{}<>|/\\@#$%^&*+=~\"",
    "\u00e9\u00e0\u00fc\u00f1\u00df\u0131\u0153", "\u0301\u0308\u0323\u0483\u20dd\u0900\u093f", "\u0430\u0431\u0432\u0416\u0454\u03b1\u03c9\u03a3",
    "\u4e00\u4e2d\u6587\u5b57\u306e\u30ab\ud55c\u3002\uff0c", "\u0627\u0644\u0633\u05d0\u05d1\u064e\u0652",
    "\U0001f600\U0001f468\U0001f3fd\u200d\ufe0f\u2764\U0001f1e9", "\x00\x01\x1b\x7f\x80\xad\u200b\u200e\ufeff\ufffd",
]
WORDS = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<|endoftext|>", "<|", "|>", "the", " and", "'re", "'LL",
         "return", "  ", "\r\n", "ing"]


def random_texts(count, seed):
    rng = random.Random(seed)
    texts = []
    for i in range(count):
        parts = []
        for _ in range(rng.randint(1, 14)):
            kind = rng.random()
            if kind < 0.12:
                parts.append(rng.choice(WORDS))
            elif kind < 0.24:
                point = rng.randrange(0x110000 if rng.random() < 0.3 else 0x3000)
                parts.append("" if 0xD800 <= point < 0xE000 else chr(point))
            else:
                pool = rng.choice(POOLS)
                parts.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 4))))
        texts.append("".join(parts))
    return texts


def is_control(token):
    return token["special"] or (token["content"].startswith("<|") and token["content"].endswith("|>"))


def without_control(spec):
    spec = dict(spec, added_tokens=[t for t in spec["added_tokens"] if not is_control(t)])
    # The added tokens must follow the base vocabulary without a gap, so the ids of those that
    # remain shift; map them back by text.
    return Tokenizer.from_str(json.dumps(spec)), {t["content"]: t["id"] for t in spec["added_tokens"]}


def ids_of(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def cases(spec, texts):
    """[text, ids, ids with control tokens left unparsed where the text contains one]"""
    spec = dict(spec, normalizer=None)
    full = Tokenizer.from_str(json.dumps(spec))
    plain, true_ids = without_control(spec)
    rows = []
    for text in texts:
        row = [text, ids_of(full, text)]
        if any(is_control(t) and t["content"] in text for t in spec["added_tokens"]):
            encoding = plain.encode(text, add_special_tokens=False)
            row.append([true_ids.get(t, i) for t, i in zip(encoding.tokens, encoding.ids)])
        rows.append(row)
    return rows


def small_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(
        vocab_size=600, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    for text, special in (("<|endoftext|>", True), ("<|im_start|>", True), ("<|im_end|>", True),
                          ("<think>", False), ("</think>", False)):
        tokenizer.add_tokens([AddedToken(text, normalized=False, special=special)])
    return json.loads(tokenizer.to_str())


def class_checksum():
    """FNV-1a over one byte per code point: 0 other, 1 letter, 2 mark, 3 number, 4 space, 5 line break."""
    def members(pattern):
        removes = pre_tokenizers.Split(Regex(pattern), "removed")
        return {c for c in range(0x110000)
                if not 0xD800 <= c < 0xE000 and not removes.pre_tokenize_str(chr(c))}
    patterns = [(r"\p{L}", 1), (r"\p{M}", 2), (r"\p{N}", 3), (r"\s", 4), (r"[\r\n]", 5)]
    classes = bytearray(0x110000)
    for pattern, number in patterns:
        for point in members(pattern):
            classes[point] = number
    checksum = 0xCBF29CE484222325
    for number in classes:
        checksum = (checksum ^ number) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{checksum:016x}"


def pieces(pattern, texts):
    splitter = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [[text, [piece for piece, _ in splitter.pre_tokenize_str(text)]] for text in texts]


def lines(rows):
    return "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]"


def main():
    path = os.path.join(os.environ["MINFER_TEST_DATA"], "qwen3-tokenizer", "tokenizer.json.xz")
    qwen3 = json.loads(lzma.open(path).read())
    assert qwen3["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] == QWEN2
    small = small_tokenizer()
    texts = TEXTS + random_texts(260, seed=6)
    split_texts = TEXTS + random_texts(60, seed=35)
    with open(os.path.join(HERE, "tokenizer.json"), "w") as out:
        out.write('{"made_by": "make_tokenizer_golden.py, tokenizers ' + tokenizers.__version__ + '",\n')
        out.write(f'"class_checksum": "{class_checksum()}",\n')
        out.write('"small": ' + json.dumps({"model": {"vocab": small["model"]["vocab"], "merges": small["model"]["merges"]},
                                            "added_tokens": small["added_tokens"]}, separators=(",", ":")) + ",\n")
        out.write('"small_cases": ' + lines(cases(small, texts[:len(TEXTS) + 80] + SENTENCES)) + ",\n")
        out.write('"qwen3_cases": ' + lines(cases(qwen3, texts + SENTENCES)) + ",\n")
        out.write('"qwen2_pieces": ' + lines(pieces(QWEN2, split_texts)) + ",\n")
        out.write('"qwen35_pieces": ' + lines(pieces(QWEN35, split_texts)) + "\n}\n")


main()
