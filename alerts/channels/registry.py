"""The channels that receivers in alerts.yaml can name. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from alerts.channels.base import Channel
from alerts.channels.webhook import Webhook
from alerts.config import Receiver

CHANNELS: Mapping[str, type[Channel]] = MappingProxyType(
    {
        "webhook": Webhook,
    }
)


def open_channel(receiver: Receiver, environment: Mapping[str, str]) -> Channel:
    """The channel to a receiver. Raises SendFailed (not_configured) when a secret is missing."""
    return CHANNELS[receiver.channel].open(receiver, environment)
