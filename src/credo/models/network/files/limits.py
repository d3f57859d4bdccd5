"""How much a file may ask for: what is beyond is an error at its place, before any memory is taken."""

__all__ = ["MAX_BYTES", "MAX_UNPRINTED"]

#: A file after decompression. The largest public networks are 6 MB; reading takes about 20 bytes of memory a byte.
MAX_BYTES = 1 << 28

#: Probabilities that a file implies without printing them (a default row for all others): 128 MB of them.
MAX_UNPRINTED = 1 << 24
