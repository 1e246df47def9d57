"""Ed25519 keys of an installation: sign, verify, and name a key by its fingerprint. No files."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from monitor.evidence.canonical import sha256_hex

FINGERPRINT_LENGTH = 64


class UnreadableKey(ValueError):
    """The text is not an Ed25519 key in PEM form. The message holds nothing of the text."""


class VerifyingKey:
    """The public half: checks signatures. Equal keys have equal fingerprints."""

    def __init__(self, key: Ed25519PublicKey) -> None:
        self._key = key

    @classmethod
    def from_pem(cls, pem: bytes) -> VerifyingKey:
        """Read `BEGIN PUBLIC KEY`; raises UnreadableKey."""
        try:
            key = serialization.load_pem_public_key(pem)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise UnreadableKey("it is not a public key in PEM form") from None
        if not isinstance(key, Ed25519PublicKey):
            raise UnreadableKey("it is a public key, but not of Ed25519")
        return cls(key)

    @property
    def pem(self) -> bytes:
        """The key as `openssl` reads it."""
        return self._key.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key's 32 bytes in hexadecimal: what people compare and pin."""
        return sha256_hex(self._key.public_bytes_raw())

    def accepts(self, signature: bytes, body: bytes) -> bool:
        """Whether this key's owner signed exactly these bytes."""
        try:
            self._key.verify(signature, body)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """The private half. Its text leaves only through `private_pem`."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key from the system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> SigningKey:
        """Read an unencrypted `BEGIN PRIVATE KEY`; raises UnreadableKey."""
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise UnreadableKey("it is not an unencrypted private key in PEM form") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise UnreadableKey("it is a private key, but not of Ed25519")
        return cls(key)

    @property
    def public(self) -> VerifyingKey:
        """What others check signatures with."""
        return VerifyingKey(self._key.public_key())

    @property
    def private_pem(self) -> bytes:
        """The secret, to be kept in a file that only its owner reads."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def sign(self, body: bytes) -> bytes:
        """64 bytes; the same bytes are always signed the same way."""
        return self._key.sign(body)
