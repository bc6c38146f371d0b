"""Writes unicode_tables.cpp: what Python's str methods know about characters, asked of Python itself.

    python3 make_unicode_tables.py > unicode_tables.cpp && clang-format-19 -i unicode_tables.cpp
"""

import sys
import unicodedata

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def runs(members):
    out = []
    for c in members:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def simple(method):
    """(first, last, step, delta) where every step-th character maps to itself + delta."""
    rows, special = [], []
    for c in POINTS:
        mapped = method(chr(c))
        if mapped == chr(c):
            continue
        if len(mapped) > 1:
            special.append((c, [ord(x) for x in mapped]))
            continue
        delta = ord(mapped) - c
        last = rows[-1] if rows else None
        if last and last[3] == delta and (
            (last[0] == last[1] and c - last[1] in (1, 2)) or c - last[1] == last[2]
        ):
            last[2] = c - last[1]
            last[1] = c
        else:
            rows.append([c, c, 1, delta])
    return rows, special


def ranges(name, members):
    print(f"const CharRange {name}[] = {{")
    print(",".join(f"{{0x{a:x},0x{b:x}}}" for a, b in runs(members)))
    print(f"}};\nconst size_t {name}Count = std::size({name});")


print("// Made by make_unicode_tables.py from Python's Unicode", unicodedata.unidata_version, "data; do not edit.")
print('#include "text/template/unicode_tables.h"\n#include <iterator>\nnamespace minfer::jinja {')
for name, method in (("Lower", str.lower), ("Upper", str.upper), ("Title", lambda c: c.title())):
    rows, special = simple(method)
    print(f"const CaseRow k{name}Rows[] = {{")
    print(",".join(f"{{0x{a:x},0x{b:x},{s},{d}}}" for a, b, s, d in rows))
    print(f"}};\nconst size_t k{name}RowsCount = std::size(k{name}Rows);")
    print(f"const CaseSpecial k{name}Specials[] = {{")
    print(",".join("{0x%x,{%s}}" % (c, ",".join(f"0x{x:x}" for x in m)) for c, m in special))
    print(f"}};\nconst size_t k{name}SpecialsCount = std::size(k{name}Specials);")
# A letter after a cased character is lowered by title(); this tells which characters are cased.
ranges("kCased", [c for c in POINTS if ("a" + chr(c) + "a").title()[-1] == "a"])
# Final sigma looks through case-ignorable characters.
ranges(
    "kSigmaTransparent",
    [c for c in POINTS if ("A" + chr(c) + "\u03a3").lower().endswith("\u03c2") and ("a" + chr(c) + "a").title()[-1] == "A"
     or ("\u0391\u03a3" + chr(c) + "A").lower()[1] == "\u03c3" and (chr(c) + "\u03a3").lower()[-1] == "\u03c3"],
)
ranges("kUnprintable", [c for c in POINTS if not chr(c).isprintable()])
print("}  // namespace minfer::jinja")
sys.stdout.flush()
