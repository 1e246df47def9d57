"""Signing in at an OpenID Connect provider: authorization code flow with PKCE, state and nonce.

The provider vouches for who somebody is; whether that person has an account, and which roles, is
kept here. Our own session follows, so that it can be ended here at any time.
"""

from __future__ import annotations

import logging
import secrets
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dashboards.gate import LOGIN
from dashboards.gate_view import GateView
from dashboards.signing_in import PROVIDER_START, Doors, address_of, local_path
from monitor.reports.access import sign_in_by_provider
from monitor.settings import ProviderSettings

with warnings.catch_warnings():
    # authlib tells at import that a later version will use another HTTP client.
    warnings.simplefilter("ignore")
    from authlib.integrations.base_client import OAuthError
    from authlib.integrations.starlette_client import OAuth
    from joserfc.errors import JoseError

log = logging.getLogger("inferwatch.provider")

PROVIDER_BACK = "/oidc/back"
PROVIDER_PATH = "/oidc/"
COOKIE = "inferwatch_provider"
MINUTES = 10
LEEWAY_SECONDS = 60
# Signatures by the provider's private key. Never "none", never one made with our shared secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
              "Ed25519", "EdDSA")  # fmt: skip
REFUSALS = (OAuthError, JoseError, httpx.HTTPError, ValueError, KeyError, RuntimeError)


class ProviderDoor:
    """The way to the provider and back."""

    def __init__(self, doors: Doors, provider: ProviderSettings) -> None:
        self._doors, self._provider = doors, provider
        self._client = _client(provider)

    def app(self) -> Starlette:
        """Both addresses. What must be remembered on the way is in a signed cookie of its own."""
        routes = [Route(PROVIDER_START, self.start), Route(PROVIDER_BACK, self.back)]
        keeps = Middleware(
            SessionMiddleware, secret_key=secrets.token_hex(32), session_cookie=COOKIE,
            max_age=MINUTES * 60, path=PROVIDER_PATH, same_site="lax",
            https_only=self._doors.settings.public_url.startswith("https://"),
        )  # fmt: skip
        return Starlette(routes=routes, middleware=[keeps])

    async def start(self, request: Request) -> Response:
        """Off to the provider."""
        request.session.clear()
        request.session["next"] = local_path(request.query_params.get("next"))
        address = self._doors.settings.public_url.rstrip("/") + PROVIDER_BACK
        try:
            await self._trusted_metadata()
            answer: Response = await self._client.authorize_redirect(request, address)
        except REFUSALS as error:
            return self._failed(request, 502, "The provider can't be reached", error)
        return answer

    async def back(self, request: Request) -> Response:
        """The provider's answer: checked, matched with an account, and in."""
        wanted = local_path(request.session.get("next"))
        try:
            await self._trusted_metadata()
            token = await self._client.authorize_access_token(
                request, claims_options=self._claims(), leeway=LEEWAY_SECONDS
            )
            claims = token["userinfo"]
            subject = str(claims["sub"])
        except REFUSALS as error:
            return self._failed(request, 401, "The provider's answer was refused", error)
        request.session.clear()
        email = claims.get("email") if claims.get("email_verified") is True else None
        made = await self._doors.book.ask(
            sign_in_by_provider, self._provider.issuer, subject, email,
            address_of(request), datetime.now(UTC),
        )  # fmt: skip
        if made is None:
            return self._doors.told(request, _unknown(email))
        return await self._doors.enter(request, made, wanted, email or subject)

    async def _trusted_metadata(self) -> None:
        """The provider's own description, of the issuer we were told and safe signatures only."""
        metadata = await self._client.load_server_metadata()
        told = str(metadata.get("issuer", "")).rstrip("/")
        if told != self._provider.issuer:
            raise ValueError(f"the provider calls itself {told!r}, not {self._provider.issuer!r}")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        safe = [each for each in offered if each in ALGORITHMS]
        if not safe:
            raise ValueError(f"the provider signs with {offered!r}; none of it is safe")
        metadata["id_token_signing_alg_values_supported"] = safe

    def _claims(self) -> dict[str, Any]:
        issuer = self._client.server_metadata["issuer"]
        return {
            "iss": {"essential": True, "value": issuer},
            "sub": {"essential": True},
            "aud": {"essential": True, "value": self._provider.client_id},
            "exp": {"essential": True},
            "iat": {"essential": True},
            "nonce": {"essential": True},
        }

    def _failed(self, request: Request, status: int, title: str, error: Exception) -> Response:
        """The reason goes to the log; a stranger's answer is never shown."""
        log.warning("%s: %s: %.300s", title, type(error).__name__, str(error))
        lines = ("The log of the dashboard says why.",)
        return self._doors.told(request, GateView(status, title, lines, link=(LOGIN, "Try again")))


def _client(provider: ProviderSettings) -> Any:
    registered: Callable[..., Any] = OAuth().register
    return registered(
        name="provider",
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        server_metadata_url=f"{provider.issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email", "code_challenge_method": "S256", "timeout": 10.0},
    )


def _unknown(email: str | None) -> GateView:
    who = f"{email} has" if email is not None else "You have"
    lines = (
        f"{who} no account here that may be used.",
        "An admin makes one: inferwatch user add EMAIL --role viewer",
    )
    if email is None:
        lines = (*lines, "The provider vouched for no verified e-mail address.")
    return GateView(403, "No account", lines, link=(LOGIN, "Try again"))
