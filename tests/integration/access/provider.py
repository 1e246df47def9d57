"""A small OpenID Connect provider over real HTTP, with a real key; it can be told to misbehave."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "inferwatch", "a secret of the two of us, 32 bytes"
Claims = dict[str, Any]


@dataclass
class Provider:
    """What the provider knows and does. `change` alters the claims it signs."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    change: Callable[[Claims], Claims] = lambda claims: claims
    sign: Callable[[Provider, Claims], str] | None = None
    metadata: Claims = field(default_factory=dict)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)

    def description(self) -> Claims:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            **self.metadata,
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where a browser goes on to, as somebody who signed in at once."""
        code = secrets.token_urlsafe(16)
        self.asked[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, Claims]:
        asked = self.asked.pop(form.get("code", ""), None)
        if asked is None:
            return self._refused("unknown code")
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if authorization != f"Basic {basic}":
            return self._refused("wrong client")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked.get("code_challenge_method") != "S256" or asked["code_challenge"] != challenge:
            return self._refused("wrong verifier")
        now = int(time.time())
        claims = self.change(
            {
                "iss": self.issuer, "sub": "17", "aud": CLIENT_ID, "nonce": asked["nonce"],
                "iat": now, "exp": now + 300, "email": "ada@example.org", "email_verified": True,
            }
        )  # fmt: skip
        signed = (self.sign or signed_well)(self, claims)
        return 200, {"access_token": "at", "token_type": "Bearer", "id_token": signed}

    def _refused(self, why: str) -> tuple[int, Claims]:
        self.refusals.append(why)
        return 400, {"error": "invalid_grant", "error_description": why}


def signed_well(provider: Provider, claims: Claims) -> str:
    """By the provider's own key."""
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, provider.key)


def signed_by_a_stranger(_provider: Provider, claims: Claims) -> str:
    """By another key that claims to be the provider's."""
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, stranger)


def signed_by_the_shared_secret(_provider: Provider, claims: Claims) -> str:
    """By HMAC with the client's secret, which more than the provider know."""
    key = OctKey.import_key(CLIENT_SECRET)
    return jwt.encode({"alg": "HS256", "kid": "one"}, claims, key, algorithms=["HS256"])


def signed_by_nobody(_provider: Provider, claims: Claims) -> str:
    """`alg: none`."""
    parts = ({"alg": "none", "kid": "one"}, claims)
    coded = (base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in parts)
    return ".".join(each.rstrip("=") for each in coded) + "."


def altered(provider: Provider, claims: Claims) -> str:
    """Signed well, and then one claim is another."""
    head, _, signature = signed_well(provider, claims).split(".")
    body = json.dumps({**claims, "email": "root@example.org", "sub": "1"}).encode()
    return f"{head}.{base64.urlsafe_b64encode(body).decode().rstrip('=')}.{signature}"


@contextmanager
def running_provider() -> Iterator[Provider]:
    """The provider while it is served."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.end_headers()
            elif parts.path == "/keys":
                self._json(200, {"keys": [provider.key.as_dict(private=False)]})
            else:
                self._json(200, provider.description())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._json(*provider.token(form, self.headers.get("Authorization", "")))

        def _json(self, status: int, value: Claims) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
