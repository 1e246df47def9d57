"""Every tampering with a bundle is found, and for the right reason; an untouched one passes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from monitor.evidence.archive import pack_archive, unpack_archive
from monitor.evidence.bundle import CHAIN, HEAD, KEY, MANIFEST, SIGNATURE, pack_bundle
from monitor.evidence.findings import Reason
from monitor.evidence.manifest import Manifest
from monitor.evidence.signing import SigningKey, UnreadableKey, VerifyingKey
from monitor.evidence.verify import verify_bundle
from tests.unit.evidence.bundles import CONTENT, OURS, STRANGER, bundle_of, lines_of, parts_of

BUNDLE = bundle_of()
PINNED = OURS.public.fingerprint


def reasons(body: bytes, pinned: str | None = PINNED) -> set[Reason]:
    return {finding.reason for finding in verify_bundle(body, pinned).findings}


def repacked(**changed: bytes | None) -> bytes:
    """The bundle with parts replaced, added or (None) removed, zipped as if it were whole."""
    parts = unpack_archive(BUNDLE) | {name: body for name, body in changed.items() if body}
    return pack_archive({name: body for name, body in parts.items() if changed.get(name, b"x")})


def test_an_untouched_bundle_holds() -> None:
    found = verify_bundle(BUNDLE, PINNED)
    assert found.holds
    assert found.key == PINNED
    assert found.entries == 5
    assert found.manifest is not None
    assert found.manifest.about["model"] == "credit"


def test_the_same_parts_make_the_same_bytes_in_any_order() -> None:
    turned = dict(reversed(parts_of().items()))
    assert bundle_of(parts=turned) == BUNDLE


def test_every_single_byte_of_a_bundle_counts() -> None:
    for place in range(len(BUNDLE)):
        changed = bytearray(BUNDLE)
        changed[place] ^= 1 << (place % 8)
        # Without a pinned key fewer things are looked at: what is found so is found with one too.
        assert reasons(bytes(changed), None), f"byte {place} flipped unseen"


def test_five_hundred_random_tamperings_are_all_found_with_a_reason() -> None:
    chance = random.Random(7)
    unseen = []
    for number in range(500):
        kind = chance.choice(sorted(TAMPERINGS))
        body, expected = TAMPERINGS[kind](chance)
        found = reasons(body)
        if not found or not expected <= found:
            unseen.append((number, kind, sorted(found)))
    assert unseen == []


def _flip(chance: random.Random) -> tuple[bytes, set[Reason]]:
    changed = bytearray(BUNDLE)
    for place in chance.sample(range(len(BUNDLE)), chance.randint(1, 4)):
        changed[place] ^= chance.randint(1, 255)
    return bytes(changed), set()


def _part_content(chance: random.Random) -> tuple[bytes, set[Reason]]:
    name = chance.choice(sorted(CONTENT))
    place = BUNDLE.index(CONTENT[name]) + chance.randrange(len(CONTENT[name]))
    changed = BUNDLE[:place] + bytes([BUNDLE[place] ^ chance.randint(1, 255)]) + BUNDLE[place + 1 :]
    return changed, {Reason.ALTERED_PART}


def _removed(chance: random.Random) -> tuple[bytes, set[Reason]]:
    return repacked(**{chance.choice(sorted(unpack_archive(BUNDLE))): None}), {Reason.MISSING_PART}


def _added(chance: random.Random) -> tuple[bytes, set[Reason]]:
    name = f"extra-{chance.randrange(10**6)}.txt"
    return repacked(**{name: chance.randbytes(20)}), {Reason.ADDED_PART}


def _cut_tail(chance: random.Random) -> tuple[bytes, set[Reason]]:
    kept = chance.randrange(5)
    chain = b"".join(line + b"\n" for line in lines_of(5)[:kept]) or b"\n"
    expected = {Reason.ALTERED_PART, Reason.CUT_TAIL if kept else Reason.ALTERED_ENTRY}
    return repacked(**{CHAIN: chain}), expected


def _altered_entry(chance: random.Random) -> tuple[bytes, set[Reason]]:
    lines = lines_of(5)
    place = chance.randrange(5)
    lines[place] = lines[place].replace(b'"ana"', b'"%d"' % chance.randrange(10**6))
    chain = b"".join(line + b"\n" for line in lines)
    return repacked(**{CHAIN: chain}), {Reason.ALTERED_PART, Reason.ALTERED_ENTRY}


def _other_key(chance: random.Random) -> tuple[bytes, set[Reason]]:
    signer = chance.choice([STRANGER, SigningKey.generate()])
    return bundle_of(signer), {Reason.WRONG_KEY}


def _other_signature(chance: random.Random) -> tuple[bytes, set[Reason]]:
    signature = STRANGER.sign(unpack_archive(BUNDLE)[MANIFEST])
    body = chance.choice([signature, chance.randbytes(64), chance.randbytes(9)])
    return repacked(**{SIGNATURE: body}), {Reason.ALTERED_MANIFEST}


def _truncated(chance: random.Random) -> tuple[bytes, set[Reason]]:
    return BUNDLE[: chance.randrange(len(BUNDLE))], {Reason.UNREADABLE_ZIP}


def _appended(chance: random.Random) -> tuple[bytes, set[Reason]]:
    return BUNDLE + chance.randbytes(chance.randint(1, 30)), set()


TAMPERINGS = {
    "flip": _flip,
    "part": _part_content,
    "removed": _removed,
    "added": _added,
    "cut tail": _cut_tail,
    "entry": _altered_entry,
    "key": _other_key,
    "signature": _other_signature,
    "truncated": _truncated,
    "appended": _appended,
}


def test_a_manifest_with_another_hash_is_told_though_the_part_fits_it() -> None:
    parts = {**parts_of(), "report.json": b'{"drift":0.01}'}
    manifest = unpack_archive(bundle_of(parts=parts))[MANIFEST]
    changed = repacked(**{"report.json": b'{"drift":0.01}', MANIFEST: manifest})
    assert reasons(changed) == {Reason.ALTERED_MANIFEST}


def test_a_stranger_who_brings_own_manifest_signature_and_key_is_told_by_the_pinned_key() -> None:
    forged = bundle_of(STRANGER, parts={**CONTENT, "report.json": b"{}"})
    assert reasons(forged) == {Reason.WRONG_KEY}
    unpinned = verify_bundle(forged)
    assert unpinned.holds
    assert not unpinned.key_is_pinned
    assert unpinned.key == STRANGER.public.fingerprint


def test_a_changed_public_key_is_told() -> None:
    assert reasons(repacked(**{KEY: STRANGER.public.pem}), None) >= {Reason.WRONG_KEY}
    assert reasons(repacked(**{KEY: b"no key"})) >= {Reason.ALTERED_KEY}
    assert reasons(repacked(**{KEY: OURS.public.pem + b"\n"})) >= {Reason.ALTERED_KEY}


def test_a_head_of_a_longer_chain_is_told_as_a_cut_tail() -> None:
    longer = parts_of(entries=6)
    assert Reason.CUT_TAIL in reasons(repacked(**{HEAD: longer[HEAD]}))
    assert Reason.ALTERED_HEAD in reasons(repacked(**{HEAD: longer[HEAD]}))


def test_a_cut_tail_inside_a_rightly_signed_bundle_is_told() -> None:
    parts = parts_of()
    parts[CHAIN] = b"".join(line + b"\n" for line in lines_of(5)[:3])
    assert reasons(bundle_of(parts=parts)) == {Reason.CUT_TAIL}


def test_only_bytes_beside_the_parts_are_an_altered_container() -> None:
    place = BUNDLE.index(b"PK\x03\x04") + 10  # the time of the first part
    changed = BUNDLE[:place] + b"\x01" + BUNDLE[place + 1 :]
    assert reasons(changed) == {Reason.ALTERED_CONTAINER}


@pytest.mark.parametrize("body", [b"", b"PK", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_bundle_is_told(body: bytes) -> None:
    assert reasons(body) & {Reason.UNREADABLE_ZIP, Reason.MISSING_PART}


@pytest.mark.parametrize("name", ["../up", "/root", "a//b", "", "a\nb", "é.txt", "manifest.json"])
def test_names_that_could_do_harm_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        pack_bundle({name: b""}, signer=OURS, product="inferwatch", about={})


def test_keys_keep_their_fingerprint_over_pem_and_refuse_others() -> None:
    # RFC 8032, section 7.1, test 1: the signature of the empty message.
    assert OURS.sign(b"").hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974")
    assert SigningKey.from_pem(OURS.private_pem).public.fingerprint == PINNED
    assert VerifyingKey.from_pem(OURS.public.pem).fingerprint == PINNED
    with pytest.raises(UnreadableKey):
        SigningKey.from_pem(OURS.public.pem)


def test_openssl_accepts_the_signature_with_the_key_of_the_bundle(tmp_path: Path) -> None:
    parts = unpack_archive(BUNDLE)
    for name in (MANIFEST, SIGNATURE, KEY):
        (tmp_path / name).write_bytes(parts[name])
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", KEY, "-rawin"]
    done = subprocess.run(
        [*command, "-in", MANIFEST, "-sigfile", SIGNATURE],
        cwd=tmp_path, capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Manifest.read(parts[MANIFEST]).key == PINNED
