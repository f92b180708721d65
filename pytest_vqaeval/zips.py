"""Zip archives by their central directory: 200,000 members are found in a tenth of a second, and read from any thread.

`zipfile` makes an object per member (70 MB and half a second for 150,000, in each process again). Here the directory
stays what it is, bytes, beside a table of where entries begin. The format is that of PKWARE's APPNOTE 6.3.10, 4.3.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from array import array
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from pytest_vqaeval.errors import DataError

MAX_BYTES = 256 * 2**20  # of one medium: a record or a zip bomb must not fill the memory
MAX_DIRECTORY_BYTES = 2**30  # some ten million members
MAX_COMMENT_BYTES = 0xFFFF
USUAL_EXTRA = 64  # bytes; local headers seldom have longer extra fields
MOST_CANDIDATES = 64  # for the name that was perhaps meant

_END = struct.Struct("<4s8xLLH")  # signature, directory's size and offset, length of the comment
_LOCATOR = struct.Struct("<4s4xQ4x")  # signature, offset of the zip64 end
_END64 = struct.Struct("<4s36xQQ")  # signature, directory's size and offset
_ENTRY = struct.Struct("<4s4xHH4xLLLHHH8xL")
_LENGTHS = struct.Struct("<HHH")  # of name, extra field and comment
_LENGTHS_AT = 28  # in an entry
_LOCAL = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field
_EXTRA = struct.Struct("<HH")  # tag, length
_ENTRY_SIGNATURE = b"PK\1\2"
_ZIP64 = 1  # tag of the extra field that holds what does not fit into 32 bits
_WIDE = 0xFFFFFFFF  # look there
_ENCRYPTED, _UTF8 = 0x1, 0x800
_STORED, _DEFLATED = 0, 8


class _Entry(NamedTuple):
    """What the directory says of a member; `packed` and `size` in bytes, `offset` is that of its local header."""

    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


class Bytes(Protocol):
    """What an archive is read from; by position, so that threads need no lock."""

    size: int

    def read_at(self, position: int, count: int) -> bytes:
        """So many bytes; fewer only where the file was cut since, ValueError or fewer behind its end."""

    def close(self) -> None:
        """Nothing more is read."""


class LocalBytes:
    """An open file of this machine."""

    def __init__(self, file: BinaryIO) -> None:
        """The file is closed with this."""
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read_at(self, position: int, count: int) -> bytes:
        """Bytes of the file; fewer at its end."""
        return os.pread(self._file.fileno(), count, position)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ZipReader:
    """Members of an archive by exact name. Safe to use from several threads."""

    def __init__(self, source: Bytes, path: Path) -> None:
        """Read the central directory.

        Args:
            source: the archive; it is closed with the reader.
            path: its path, for errors.

        Raises:
            DataError: it has no directory, or a broken one.
        """
        self._source, self._path = source, path
        self._length = source.size
        self._fingerprint: str | None = None
        try:
            start, size, self._shift = self._locate_directory()
            self._directory = self._at(start, size)
            self._table = _index(self._directory)
        except (OSError, ValueError) as error:
            raise DataError(f"archive {path} can't be opened: {error} (cut short? fetch it again)") from None

    def close(self) -> None:
        """Close the archive."""
        self._source.close()

    def read(self, member: str) -> bytes:
        """The bytes of a member; their number and checksum are those of the directory.

        Raises:
            DataError: it is absent, damaged, encrypted, packed by another method than deflate, or too large.
        """
        archive = self._path.name
        if member.startswith("/") or ".." in member.split("/"):
            raise DataError(f"{archive} has no member {member!r:.200} that may be read: the name leads out of it")
        position = self._find(member)
        if position is None:
            raise DataError(f"{archive} has no member {member!r:.200}{self._hint(member)}")
        name = f"{archive}!{member}"
        try:
            entry = _entry(self._directory, position)
            if entry.flags & _ENCRYPTED:
                raise DataError(f"{name} is encrypted")
            if entry.method not in (_STORED, _DEFLATED):
                raise DataError(f"{name} is packed by method {entry.method}; only deflate and store can be read")
            if max(entry.size, entry.packed) > MAX_BYTES:
                raise DataError(f"{name} is larger than {MAX_BYTES >> 20} MiB")
            return self._content(entry, len(_name(self._directory, position)))
        except (OSError, ValueError, zlib.error) as error:
            raise DataError(f"{name} is damaged: {error}; fetch {archive} again") from None

    def fingerprint(self) -> str:
        """Sha256, as 64 hex digits, over names, sizes and checksums of all members, in whatever order they stand.

        Raises:
            DataError: an entry of the directory is broken.
        """
        if self._fingerprint is None:
            try:
                facts = sorted(_facts(self._directory, position - 1) for position in self._table if position)
            except ValueError as error:
                raise DataError(f"archive {self._path} is damaged: {error}; fetch it again") from None
            self._fingerprint = hashlib.sha256(b"".join(facts)).hexdigest()
        return self._fingerprint

    def _locate_directory(self) -> tuple[int, int, int]:
        """Start and size of the directory, and by how much offsets are too small: data may stand before an archive."""
        tail_at = max(0, self._length - MAX_COMMENT_BYTES - _END.size)
        tail = self._at(tail_at, self._length - tail_at)
        found = tail.rfind(b"PK\5\6")
        if not 0 <= found <= len(tail) - _END.size:
            raise ValueError("it has no directory at its end")
        end = tail_at + found
        _, size, offset, _ = _END.unpack_from(tail, found)
        locator_at = end - _LOCATOR.size
        if locator_at >= 0:
            signature, stated = _LOCATOR.unpack(self._at(locator_at, _LOCATOR.size))
            if signature == b"PK\6\7":
                end, size, offset = self._zip64_end(stated, locator_at)
        start = end - size
        if not 0 <= offset <= start or size > MAX_DIRECTORY_BYTES:
            raise ValueError("its directory is damaged")
        return start, size, start - offset

    def _zip64_end(self, stated: int, limit: int) -> tuple[int, int, int]:
        """Position of the zip64 end, directory's size and offset. After prefixed data it is not where it is stated."""
        for position in (stated, limit - _END64.size):
            if 0 <= position <= limit - _END64.size:
                signature, size, offset = _END64.unpack(self._at(position, _END64.size))
                if signature == b"PK\6\6":
                    return position, size, offset
        raise ValueError("its directory is damaged")

    def _at(self, position: int, count: int) -> bytes:
        if position + count <= self._length:
            content = self._source.read_at(position, count)
            if len(content) == count:
                return content
        raise ValueError("it ends too early")

    def _find(self, member: str) -> int | None:
        """Where the member's entry begins. Names are UTF-8, or CP437 where the entry does not say so."""
        position = self._position(member.encode("utf-8", "surrogatepass"))
        if position is not None or member.isascii():
            return position
        position = self._position(member.encode("cp437", "ignore"))
        same = position is not None and _decoded_name(self._directory, position) == member
        return position if same else None

    def _position(self, name: bytes) -> int | None:
        found, mask = None, len(self._table) - 1
        slot = hash(name) & mask
        while position := self._table[slot]:
            if _name(self._directory, position - 1) == name:
                found = position - 1  # the last of equal names counts, as in `zipfile`
            slot = (slot + 1) & mask
        return found

    def _content(self, entry: _Entry, name_length: int) -> bytes:
        start = entry.offset + self._shift
        likely = _LOCAL.size + name_length + USUAL_EXTRA + entry.packed  # one read: each is a request on a server
        content = self._at(start, max(_LOCAL.size, min(likely, self._length - start)))
        signature, name, extra = _LOCAL.unpack_from(content)
        if signature != b"PK\3\4":
            raise ValueError("it is not where the directory says")
        begin = _LOCAL.size + name + extra
        end = begin + entry.packed
        content = content[begin:end] if end <= len(content) else self._at(start + begin, entry.packed)
        if entry.method == _DEFLATED:  # one byte more than stated is enough to see that the statement is wrong
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, entry.size + 1)
        if len(content) != entry.size or zlib.crc32(content) != entry.crc:
            raise ValueError("size or checksum is wrong")
        return content

    def _hint(self, member: str) -> str:
        """The name that was perhaps meant: alike in the same folder, or the same in another folder.

        Looks only at some of those that begin most like the wrong name: of thousands, thousands may be missing.
        """
        name = member.encode("utf-8", "surrogatepass")
        folder, slash, base = name.rpartition(b"/")
        shortest, longest = len(folder + slash), len(name)
        while shortest < longest:  # bisect
            length = (shortest + longest + 1) // 2
            shortest, longest = (length, longest) if name[:length] in self._directory else (shortest, length - 1)
        near = [other for other in self._names_with(name[:shortest]) if other.rpartition(b"/")[0] == folder]
        same = [other for other in self._names_with(base) if other.rpartition(b"/")[2] == base]
        alike = {other.decode("utf-8", "replace").lower(): other for other in near}
        close = [alike[other] for other in get_close_matches(member.lower(), alike, n=1)] or same
        return f"; did you mean {close[0].decode('utf-8', 'replace')!r}?" if close else ""

    def _names_with(self, part: bytes) -> Iterator[bytes]:
        """The first `MOST_CANDIDATES` names that hold a text."""
        found = -1
        for _ in range(MOST_CANDIDATES if part else 0):
            found = self._directory.find(part, found + 1)
            if found < 0:
                return
            name = _name(self._directory, self._directory.rfind(_ENTRY_SIGNATURE, 0, found))
            if part in name and self._position(name) is not None:
                yield name


def _index(directory: bytes) -> array[int]:
    """Where entries begin, plus one: an open-addressing hash table of names, at most two thirds full."""
    size = len(directory)
    mask = (1 << ((size // _ENTRY.size + 1) * 3 // 2).bit_length()) - 1
    table = array("I", bytes(4 * (mask + 1)))
    lengths = _LENGTHS.unpack_from
    position = 0
    while position <= size - 46:  # for each member: nothing here can be spared
        name, extra, comment = lengths(directory, position + 28)
        start = position + 46
        slot = hash(directory[start : start + name]) & mask
        while table[slot]:
            slot = (slot + 1) & mask
        table[slot] = position + 1
        position = start + name + extra + comment
    if position != size:
        raise ValueError("its directory is damaged")
    return table


def _name(directory: bytes, position: int) -> bytes:
    lengths_at = position + _LENGTHS_AT
    length = int.from_bytes(directory[lengths_at : lengths_at + 2], "little")
    return directory[position + _ENTRY.size : position + _ENTRY.size + length]


def _decoded_name(directory: bytes, position: int) -> str:
    encoding = "utf-8" if _entry(directory, position).flags & _UTF8 else "cp437"
    return _name(directory, position).decode(encoding, "replace")


def _facts(directory: bytes, position: int) -> bytes:
    """Size, checksum and name of a member, cut from its entry: unpacking all of it takes four times as long."""
    size, name_length = directory[position + 24 : position + 28] + bytes(4), directory[position + 28 : position + 30]
    if size.startswith(b"\xff\xff\xff\xff"):
        size = _entry(directory, position).size.to_bytes(8, "little")
    return size + directory[position + 16 : position + 20] + name_length + _name(directory, position)


def _entry(directory: bytes, position: int) -> _Entry:
    signature, flags, method, crc, packed, size, name, extra, _, offset = _ENTRY.unpack_from(directory, position)
    if signature != _ENTRY_SIGNATURE:
        raise ValueError("its entry in the directory is broken")
    if _WIDE in (packed, size, offset):
        start = position + _ENTRY.size + name
        wide = _zip64_values(directory[start : start + extra])
        size, packed, offset = (next(wide) if value == _WIDE else value for value in (size, packed, offset))
    return _Entry(flags, method, crc, packed, size, offset)


def _zip64_values(extra: bytes) -> Iterator[int]:
    """The values of the zip64 extra field: only those that do not fit, always in the order size, packed, offset."""
    position = 0
    while position + _EXTRA.size <= len(extra):
        tag, length = _EXTRA.unpack_from(extra, position)
        position += _EXTRA.size
        if tag == _ZIP64:
            for start in range(position, position + length, 8):
                yield int.from_bytes(extra[start : start + 8], "little")
        position += length
    raise ValueError("its entry in the directory is broken")
