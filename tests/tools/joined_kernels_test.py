"""The Metal kernels joined into one source, as a Mac gets them, are the kernels compiled apart.

  joined_kernels_test.py MSLC JOINED.metal KERNELS.smlib
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def kernels(mslc: str, library: str) -> list[str]:
    listed = subprocess.run([mslc, "--list", library], check=True, capture_output=True, text=True)
    # "kernel NAME  FILE:LINE", then its arguments; the line directives keep FILE and LINE.
    text = re.sub(r"^(kernel \S+ +)\S*?([^/\s]+:\d+)$", r"\1\2", listed.stdout, flags=re.MULTILINE)
    return sorted(re.split(r"^(?=kernel )", text, flags=re.MULTILINE))


def main(mslc: str, joined: str, apart: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "joined.smlib")
        done = subprocess.run([mslc, "--strict", "--no-checked", "-o", library, joined])
        if done.returncode != 0:
            return 1
        here, there = kernels(mslc, library), kernels(mslc, apart)
    for what, only in ("joined", set(here) - set(there)), ("apart", set(there) - set(here)):
        for kernel in sorted(only):
            print(f"only {what}: {kernel}", file=sys.stderr)
    return 0 if here == there and len(here) > 1 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
