"""The channels that receivers in alerts.yaml can name. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from alerts.channels.alertmanager import Alertmanager
from alerts.channels.alertmanager_webhook import AlertmanagerWebhook
from alerts.channels.apprise_notice import AppriseNotice
from alerts.channels.base import Channel
from alerts.channels.cloudevents import CloudEvents
from alerts.channels.jsm import JiraServiceManagement
from alerts.channels.mail import Mail
from alerts.channels.pagerduty import PagerDuty
from alerts.channels.slack import Slack
from alerts.channels.teams import Teams
from alerts.channels.webhook import Webhook
from alerts.config import Receiver

CHANNELS: Mapping[str, type[Channel]] = MappingProxyType(
    {
        "webhook": Webhook,
        "cloudevents": CloudEvents,
        "alertmanager_webhook": AlertmanagerWebhook,
        "alertmanager": Alertmanager,
        "pagerduty": PagerDuty,
        "jsm": JiraServiceManagement,
        "slack": Slack,
        "teams": Teams,
        "email": Mail,
        "apprise": AppriseNotice,
    }
)


def open_channel(receiver: Receiver, environment: Mapping[str, str]) -> Channel:
    """The channel to a receiver. Raises SendFailed (not_configured) when a secret is missing."""
    return CHANNELS[receiver.channel].open(receiver, environment)
