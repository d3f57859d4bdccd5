"""How small does a file become, and what does that take? A program to tune: the last line it prints is its value.

python compress.py FILE --method lzma --lc 3 --lp 0 --pb 2       the size in bytes
python compress.py FILE --method zlib --level 6 --json           {"bytes": …, "memory": …}
"""

import argparse
import bz2
import json
import lzma
import zlib

STRATEGIES = {"default": zlib.Z_DEFAULT_STRATEGY, "filtered": zlib.Z_FILTERED, "huffman": zlib.Z_HUFFMAN_ONLY}


def compressed(data, a):
    """The bytes, and about how many the encoder holds while it works."""
    if a.method == "zlib":
        encoder = zlib.compressobj(a.level, strategy=STRATEGIES[a.strategy])
        return encoder.compress(data) + encoder.flush(), 2**17 + 2**17
    if a.method == "bz2":
        return bz2.compress(data, a.level), 400_000 + 8 * 100_000 * a.level
    how = {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**20, "lc": a.lc, "lp": a.lp, "pb": a.pb}
    return lzma.compress(data, filters=[how]), 11 * 2**20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--method", choices=["zlib", "bz2", "lzma"], required=True)
    parser.add_argument("--level", type=int, default=9)
    parser.add_argument("--strategy", choices=list(STRATEGIES), default="default")
    parser.add_argument("--lc", type=int, default=3)
    parser.add_argument("--lp", type=int, default=0)
    parser.add_argument("--pb", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.file, "rb") as file:
        small, memory = compressed(file.read(), arguments)
    print(json.dumps({"bytes": len(small), "memory": memory}) if arguments.json else len(small))


if __name__ == "__main__":
    main()
