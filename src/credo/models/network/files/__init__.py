"""Bayesian networks in files: BIF, XMLBIF, UAI (of type BAYES) and Hugin NET, read and written.

`bif`, `bif_entries`  BIF: blocks, and tables in bulk or entry by entry
`xmlbif`, `uai`, `net`  the other formats
`source`, `tokens`    a file's text and places in it; its words
`numbers`, `quotients`  its numbers, in bulk and correctly rounded
`assemble`, `state_types`  nodes and tables become a definition; states that are no text
`limits`  what a file may ask for
`documents`  networks of decisions and of real numbers, as JSON
"""

from __future__ import annotations

import gzip
import os
from typing import Any

from credo.errors import ParameterError, SaveError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.bif import bif_chunks, read_bif
from credo.models.network.files.net import net_chunks, read_net
from credo.models.network.files.source import NetworkFileError, read_source
from credo.models.network.files.uai import read_uai, uai_chunks
from credo.models.network.files.xmlbif import read_xmlbif, xmlbif_chunks
from credo.saving.atomic import atomic_write

__all__ = ["FORMATS", "NetworkFileError", "read_network", "write_network"]

#: format → (reader, writer)
FORMATS = {
    "bif": (read_bif, bif_chunks),
    "xmlbif": (read_xmlbif, xmlbif_chunks),
    "uai": (read_uai, uai_chunks),
    "net": (read_net, net_chunks),
}
_EXTENSIONS = {"bif": "bif", "xmlbif": "xmlbif", "bifxml": "xmlbif", "xml": "xmlbif", "uai": "uai", "net": "net"}


def read_network(
    path: str | os.PathLike[str], *, format: str | None = None, encoding: str | None = None, normalise: bool = False
) -> NetworkDefinition:
    """Read a Bayesian network from a BIF, XMLBIF, UAI or Hugin NET file.

    Parameters
    ----------
    path : of the file, gzipped or not
    format : "bif", "xmlbif", "uai" or "net"; by default what the name ends in says (.bif, .xmlbif, .bifxml or .xml,
        .uai, .net; .gz may follow)
    encoding : of the text; by default UTF-8, or what an XML file declares
    normalise : accept rows that do not sum to 1, divided by their sums; by default rows off by more than 1e-5 are an
        error that names the node and the parents' states

    Returns
    -------
    NetworkDefinition, its nodes and states in the order of the file. States are text; those of a UAI file whole
    numbers; those that `write_network` wrote of their own kind.

    Raises
    ------
    NetworkFileError : a `FileFormatError`; anything that is not a well-formed network, with line and column
    MissingFileError, StorageError : the system refuses

    Notes
    -----
    Time and memory are proportional to the file: about 0.1 s and 50 MB for 5 MB of BIF.
    """
    reader, _ = FORMATS[_format("read_network", path, format)]
    return reader(read_source(path, encoding), normalise)


def write_network(
    definition: NetworkDefinition, path: str | os.PathLike[str], *, format: str | None = None, lossy: bool = False
) -> None:
    """Write a Bayesian network to a BIF, XMLBIF, UAI or Hugin NET file, which appears whole or not at all.

    Numbers are written so that they are read back bit for bit; names and states keep order, characters and kind (text,
    whole and real numbers, truth values).

    Parameters
    ----------
    path : ends in .bif, .xmlbif (.bifxml, .xml), .uai or .net; a .gz after it compresses
    format : as of `read_network`, where the name does not say
    lossy : let names go that the format cannot hold; UAI holds numbers only

    Raises
    ------
    SaveError : the format cannot hold a name or a state (named)
    StorageError : the system refuses

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "coin.bif")
    >>> coin = NetworkDefinition({"coin": ("head", "tail")}, {}, {"coin": [0.5, 0.5]})
    >>> write_network(coin, path)
    >>> read_network(path) == coin
    True
    """
    _, writer = FORMATS[_format("write_network", path, format)]
    try:
        data = "".join(writer(definition, lossy)).encode("utf-8")
    except UnicodeEncodeError as error:
        raise SaveError(
            f"A name has the lone surrogate {error.object[error.start]!r}, which no file can hold.",
            value=error.object[error.start],
            remedy="Rename it.",
        ) from error
    if os.fsdecode(path).lower().endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with atomic_write(path) as file:
        file.write(data)


def _format(owner: str, path: Any, format: str | None) -> str:
    if not isinstance(path, (str, os.PathLike)) or "\0" in os.fsdecode(path):
        raise ParameterError(owner, "path", "the path of a file", path)
    if format is None:
        name = os.fsdecode(path).lower().removesuffix(".gz")
        format = _EXTENSIONS.get(name.rpartition(".")[2] if "." in name else "")
        if format is None:
            known = ", ".join(f".{each}" for each in _EXTENSIONS)
            remedy = "Credo's own files: credo.load and credo.save." if name.endswith(".credo") else "Or state format=."
            raise ParameterError(owner, "path", f"a name that ends in {known} (and .gz)", os.fsdecode(path), remedy)
    elif format not in FORMATS:
        raise ParameterError(owner, "format", f"one of {', '.join(FORMATS)}", format)
    return format
