"""Webhooks over TLS: an unknown certificate is refused, one the operator vouches for accepted."""

from __future__ import annotations

import base64
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from alerts.channels.outbound import Outbound
from alerts.channels.registry import open_channel
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity

from .factories import NOW
from .receiver import listening

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
MESSAGE = Message(EventType.OPENED, "r", Severity.PAGE, "t", (), {"type": "finding.opened"}, ())


def certificate_for(names: list[x509.GeneralName], folder: Path) -> ssl.SSLContext:
    """A self-signed certificate, written to `folder`, and a server context that shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "receiver of the test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


def send(url: str) -> int | None:
    options: dict[str, str | bool] = {
        "url": url,
        "secret_env": "S",
        "private_addresses_allowed": True,
    }
    channel = open_channel(Receiver("r", "webhook", options=options), {"S": SECRET})
    with Outbound(timeout=5.0) as http:
        return channel.send(MESSAGE, delivery_id="d", now=NOW, http=http).status


@pytest.mark.parametrize(
    ("names", "trusted", "taken"),
    [
        ([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))], True, True),
        ([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))], False, False),
        ([x509.DNSName("another.example.org")], True, False),
    ],
)
def test_only_a_vouched_for_certificate_of_the_right_name_is_accepted(
    names: list[x509.GeneralName],
    trusted: bool,
    taken: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = certificate_for(names, tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with listening(context) as receiver:
        if taken:
            assert send(receiver.url) == 200
            return
        with pytest.raises(SendFailed) as caught:
            send(receiver.url)
        assert caught.value.reason is SendFailure.CONNECTION_FAILED
        assert "certificate" in str(caught.value).lower()
        assert receiver.received == []
