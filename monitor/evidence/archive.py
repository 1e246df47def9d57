"""Zip files whose bytes follow from what they hold: sorted names, fixed dates, nothing packed.

Because nothing is left to chance, a reader rebuilds the file from what it found and compares: bytes
that carry no content (dates, flags, comments, something appended) can't be changed unseen either.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Mapping

FIXED_DATE = (1980, 1, 1, 0, 0, 0)
MOST_PARTS = 10_000
_UNIX, _READABLE_FILE, _VERSION = 3, 0o100644 << 16, 20
_LOCAL_HEADER, _SIGNATURE = struct.Struct("<4s22xHH"), b"PK\x03\x04"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")


class UnreadableArchive(ValueError):
    """The bytes are not a zip file of the kind written here."""


def pack_archive(parts: Mapping[str, bytes]) -> bytes:
    """A zip file of the parts; the same parts give the same bytes. Raises ValueError on a name."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(parts):
            require_name(name)
            member = zipfile.ZipInfo(name, FIXED_DATE)
            member.create_system, member.external_attr = _UNIX, _READABLE_FILE
            member.create_version = member.extract_version = _VERSION
            archive.writestr(member, parts[name])
    return target.getvalue()


def unpack_archive(body: bytes) -> dict[str, bytes]:
    """The parts by name, checksums not looked at; raises UnreadableArchive."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = archive.infolist()
    # What zipfile raises on bytes that were tampered with, found by flipping each of them.
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise UnreadableArchive(f"it is not a zip file ({error})") from None
    if len(members) > MOST_PARTS:
        raise UnreadableArchive(f"it holds more than {MOST_PARTS} parts")
    parts = {member.filename: _content(body, member) for member in members}
    if len(parts) != len(members):
        raise UnreadableArchive("two parts have one name")
    return parts


def require_name(name: str) -> None:
    """Raises ValueError for a name that could leave the folder it is unpacked into."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{name[:80]!r} is no name of a part; letters, digits, '.', '_', '-', '/'")


def _content(body: bytes, member: zipfile.ZipInfo) -> bytes:
    """What was stored. Read by its place, so that an altered part is still told by its name."""
    if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
        raise UnreadableArchive(f"part {member.filename[:80]!r} is packed; bundles are not")
    begin = body[member.header_offset : member.header_offset + _LOCAL_HEADER.size]
    if len(begin) < _LOCAL_HEADER.size:
        raise UnreadableArchive(f"part {member.filename[:80]!r} lies outside the file")
    signature, name_length, extra_length = _LOCAL_HEADER.unpack(begin)
    start = member.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    content = body[start : start + member.file_size]
    if signature != _SIGNATURE or len(content) != member.file_size:
        raise UnreadableArchive(f"part {member.filename[:80]!r} can't be found in the file")
    return content
