"""The media type of bytes, told by their first few: names and what a record declares are not asked."""

from __future__ import annotations

AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""Media types of audio that can be sent, and how a request names them."""
VIDEO = {
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/quicktime": "mov",
    "video/x-msvideo": "avi",
    "video/webm": "webm",
}
"""Media types of videos that can be sent, and how people name them."""

_MAGIC = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"\0\0\1\xba", "video/mpeg"),  # program stream
    (b"\0\0\1\xb3", "video/mpeg"),  # elementary stream
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
# ISO base media: the first box is `ftyp` with the main brand; QuickTime files from before it begin with another box
_BRANDS = {
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
}
_QUICKTIME_BOXES = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")


def sniff(content: bytes) -> str | None:
    """The media type of an image, audio or video file, or None. The first 64 bytes are enough."""
    for magic, mime in _MAGIC:
        if content.startswith(magic):
            return mime
    if content.startswith(b"RIFF"):
        return _RIFF.get(content[8:12])
    if content.startswith(b"BM"):  # two letters are not much: the reserved field must be zero too
        return "image/bmp" if content[6:10] == b"\0\0\0\0" else None
    if content.startswith(b"\x1a\x45\xdf\xa3"):  # EBML; what does not call itself Matroska is its subset WebM
        return "video/x-matroska" if b"matroska" in content[:64] else "video/webm"
    if content.startswith(b"\0") or content[4:8] == b"mdat":  # a box's size and name; only the data are 16 MiB or more
        return _box(content[4:8], content[8:12])
    return "audio/mpeg" if _is_mp3_frame(content[:4]) else None


def _box(name: bytes, brand: bytes) -> str | None:
    if name == b"ftyp":
        return _BRANDS.get(brand, "video/mp4")
    return "video/quicktime" if name in _QUICKTIME_BOXES else None


def _is_mp3_frame(header: bytes) -> bool:
    """The header of an MPEG layer III frame (ISO/IEC 11172-3, 2.4.1.3) with a bit rate and a sampling rate."""
    if len(header) < 4 or header[0] != 0xFF or header[1] & 0xE6 != 0xE2:
        return False
    known_version = header[1] & 0x18 != 0x08
    return known_version and header[2] >> 4 not in (0, 15) and header[2] & 0x0C != 0x0C
