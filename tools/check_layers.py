#!/usr/bin/env python3
"""Checks the include arrows: who may include whom. A missing arrow is an answer."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# layer -> layers it may include. "*" stands for anything of ours.
ARROWS = {
    "src/base": set(),
    "src/tensor": {"base"},
    "src/text": {"base"},
    "src/gguf": {"tensor", "base"},
    "src/graph": {"tensor", "base"},
    "src/backend/cpu": {"graph", "tensor", "base"},
    "src/backend/metal": {"graph", "tensor", "base"},
    "src/model": {"graph", "gguf", "text", "tensor", "base"},
    "src/runtime": {"model", "graph", "text", "tensor", "base"},
    "src/server": {"runtime", "text", "base"},
    "apps": {"base", "tensor", "text", "gguf", "graph", "backend/cpu", "backend/metal", "model",
             "runtime", "server",
             "softmetal"},  # the one file that sets up the software device
    "softmetal": set(),
    "tools": {"base", "tensor", "text", "gguf", "graph", "backend/cpu", "model", "runtime"},
    "tests": {"*"},
    "bench": {"*"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def layer_of(path: str) -> str | None:
    """The longest layer name that is a folder above `path`."""
    matches = [layer for layer in ARROWS if path.startswith(layer + "/")]
    return max(matches, key=len, default=None)


def target_of(source: Path, include: str) -> str | None:
    """The file of ours an include names, relative to the root; None for foreign headers."""
    for folder in (source.parent, ROOT / "src", ROOT, ROOT / "tests", ROOT / "tools", ROOT / "bench"):
        candidate = (folder / include).resolve()
        if candidate.is_file() and candidate.is_relative_to(ROOT):
            return candidate.relative_to(ROOT).as_posix()
    return None


def main() -> int:
    files = subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.metal"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    wrong = []
    for name in files:
        own = layer_of(name)
        if own is None:
            wrong.append(f"{name}: belongs to no layer; known are {', '.join(ARROWS)}")
            continue
        allowed = ARROWS[own]
        for include in INCLUDE.findall((ROOT / name).read_text(errors="replace")):
            target = target_of(ROOT / name, include)
            layer = target and layer_of(target)
            if layer is None or layer == own or "*" in allowed:
                continue
            if layer.removeprefix("src/") not in allowed:
                wrong.append(f'{name}: includes "{include}": no arrow from {own} to {layer}')
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
