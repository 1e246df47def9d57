"""Settings from the environment: the only reader of os.environ.

Every variable may also be given as NAME_FILE, whose content is the value (secrets stay out of
process lists). Unset means the default written here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from monitor.errors import ConfigurationError, Problem

PREFIX = "INFERWATCH_"
_PLACE = re.compile(r"([a-z0-9][a-z0-9_-]*)=([A-Za-z_][\w.]*:[A-Za-z_]\w*)")


LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ProviderSettings:
    """The OpenID Connect provider that people sign in with."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True)
class Settings:
    """All settings of one installation. `docs/settings.md` lists the variables."""

    database_url: str | None
    home: Path
    postgres_bin: Path | None
    host: str
    collector_port: int
    dashboard_port: int
    public_url: str
    api_url: str
    max_body_bytes: int
    max_inflated_bytes: int
    max_inflate_ratio: int
    max_records: int
    body_timeout_seconds: float
    intake_threads: int
    max_waiting_bodies: int
    exchange_seconds: int
    trace_seconds: int
    text_models: Mapping[str, str]
    dashboard_auth: bool
    oidc_issuer: str | None
    oidc_client_id: str | None
    oidc_client_secret: str | None = field(repr=False)
    signing_key: str | None = field(default=None, repr=False)
    audit_webhook: str | None = field(default=None, repr=False)
    audit_webhook_secret: str | None = field(default=None, repr=False)
    audit_webhook_private: int = 0

    @property
    def provider(self) -> ProviderSettings | None:
        """The OpenID Connect provider, None where there is none."""
        if self.oidc_issuer is None or self.oidc_client_id is None:
            return None
        return ProviderSettings(
            self.oidc_issuer.rstrip("/"), self.oidc_client_id, self.oidc_client_secret or ""
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read settings; raises ConfigurationError naming every variable that can't be used."""
        reader = _Reader(os.environ if environ is None else environ)
        home = Path(reader.text("HOME", str(Path.home() / ".inferwatch")))
        host = reader.text("HOST", "127.0.0.1")
        dashboard_port = reader.number("DASHBOARD_PORT", 8501, 0, 65535)
        collector_port = reader.number("COLLECTOR_PORT", 8700, 0, 65535)
        settings = cls(
            database_url=reader.plain("DATABASE_URL"),
            home=home,
            postgres_bin=Path(found) if (found := reader.plain(PREFIX + "PG_BIN")) else None,
            host=host,
            collector_port=collector_port,
            dashboard_port=dashboard_port,
            public_url=reader.text("PUBLIC_URL", f"http://{host}:{dashboard_port}"),
            api_url=reader.text("API_URL", f"http://{host}:{collector_port}"),
            max_body_bytes=reader.number("MAX_BODY_BYTES", 16 << 20, 1024, 1 << 30),
            max_inflated_bytes=reader.number("MAX_INFLATED_BYTES", 64 << 20, 1024, 1 << 31),
            max_inflate_ratio=reader.number("MAX_INFLATE_RATIO", 100, 2, 10_000),
            max_records=reader.number("MAX_RECORDS", 50_000, 1, 1_000_000),
            body_timeout_seconds=float(reader.number("BODY_TIMEOUT_SECONDS", 15, 1, 600)),
            intake_threads=reader.number("INTAKE_THREADS", 2, 1, 64),
            max_waiting_bodies=reader.number("MAX_WAITING_BODIES", 64, 1, 10_000),
            trace_seconds=reader.number("TRACE_SECONDS", 10, 0, 3_600),
            text_models=reader.places("TEXT_MODELS"),
            exchange_seconds=reader.number("EXCHANGE_SECONDS", 300, 1, 86_400),
            dashboard_auth=reader.switch("DASHBOARD_AUTH", default=True),
            oidc_issuer=reader.plain(PREFIX + "OIDC_ISSUER"),
            oidc_client_id=reader.plain(PREFIX + "OIDC_CLIENT_ID"),
            oidc_client_secret=reader.plain(PREFIX + "OIDC_CLIENT_SECRET"),
            signing_key=reader.plain(PREFIX + "SIGNING_KEY"),
            audit_webhook=reader.plain(PREFIX + "AUDIT_WEBHOOK"),
            audit_webhook_secret=reader.plain(PREFIX + "AUDIT_WEBHOOK_SECRET"),
            audit_webhook_private=reader.number("AUDIT_WEBHOOK_PRIVATE", 0, 0, 1),
        )
        reader.check_provider(settings)
        if not settings.dashboard_auth:
            reader.only_on_loopback(settings.host)
        reader.finish()
        return settings


def process_environment() -> dict[str, str]:
    """A copy of the whole environment, for child processes and for receivers that name a variable.

    Alert rules name the variables that hold their secrets, so these can't be listed beforehand.
    """
    return dict(os.environ)


class _Reader:
    """Collects values and every problem, so that a person sees all mistakes at once."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._problems: list[Problem] = []

    def plain(self, name: str) -> str | None:
        value, file = self._environ.get(name), self._environ.get(name + "_FILE")
        if value is not None and file is not None:
            self._problems.append(Problem(name, f"set {name} or {name}_FILE, not both"))
        if file is None:
            return value.strip() or None if value is not None else None
        try:
            return Path(file).read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError) as error:
            self._problems.append(Problem(f"{name}_FILE", f"can't read {file}: {error}"))
            return None

    def text(self, name: str, default: str) -> str:
        return self.plain(PREFIX + name) or default

    def number(self, name: str, default: int, low: int, high: int) -> int:
        raw = self.plain(PREFIX + name)
        if raw is None:
            return default
        if not raw.isascii() or not raw.isdigit() or not low <= int(raw[:12]) <= high:
            wanted = f"a whole number from {low} to {high}"
            self._problems.append(Problem(PREFIX + name, f"{raw[:40]!r} is not {wanted}"))
            return default
        return int(raw)

    def places(self, name: str) -> dict[str, str]:
        """`NAME=package.module:function`, several apart by commas."""
        found = {}
        for part in filter(None, (self.plain(PREFIX + name) or "").split(",")):
            match = _PLACE.fullmatch(part.strip())
            if match is None:
                wanted = "NAME=package.module:function, several apart by commas"
                self._problems.append(Problem(PREFIX + name, f"{part[:80]!r} is not {wanted}"))
            else:
                found[match[1]] = match[2]
        return found

    def switch(self, name: str, *, default: bool) -> bool:
        raw = self.plain(PREFIX + name)
        if raw not in (None, "on", "off"):
            self._problems.append(Problem(PREFIX + name, f"{raw[:40]!r} is neither on nor off"))
        return default if raw is None else raw == "on"

    def check_provider(self, settings: Settings) -> None:
        """All three settings of the OpenID Connect provider, or none."""
        issuer = settings.oidc_issuer
        values = (issuer, settings.oidc_client_id, settings.oidc_client_secret)
        names = tuple(
            PREFIX + each for each in ("OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET")
        )
        for name, value in zip(names, values, strict=True):
            if value is None and values != (None, None, None):
                told = f"is missing: set {', '.join(names)} together"
                self._problems.append(Problem(name, told))
        if issuer is not None and not _is_safe_address(issuer):
            told = f"{issuer[:80]!r} is not an https:// address (http:// only on this machine)"
            self._problems.append(Problem(names[0], told))

    def only_on_loopback(self, host: str) -> None:
        if host not in LOOPBACK_NAMES:
            self._problems.append(_open_to_others(host))

    def finish(self) -> None:
        if self._problems:
            raise ConfigurationError("environment", self._problems)


def refuse_open_dashboard(settings: Settings, host: str) -> None:
    """Raises ConfigurationError when a dashboard without sign-in would listen beyond loopback."""
    if not settings.dashboard_auth and host not in LOOPBACK_NAMES:
        raise ConfigurationError("environment", [_open_to_others(host)])


def _open_to_others(host: str) -> Problem:
    told = f"off is for loopback only, and the dashboard would listen at {host[:80]}"
    return Problem(PREFIX + "DASHBOARD_AUTH", f"{told}; leave it on, or listen at 127.0.0.1")


def _is_safe_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    on_this_machine = parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES
    return bool(parts.hostname) and (parts.scheme == "https" or on_this_machine)
