"""What every registered channel must hold; a channel is tested by being registered.

Its receiver in examples/receivers.yaml is the one that is opened and sent to here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import Receiver, read_alert_config
from alerts.errors import AlertConfigError, SendFailed, SendFailure
from alerts.service_messages import ping_message
from tests.unit.alerts.factories import NOW
from tests.unit.alerts.told import message

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "receivers.yaml"
SECRETS = {
    "ON_CALL_SECRET": "whsec_" + base64.b64encode(b"k" * 32).decode(),
    "EVENT_BUS_AUTHORIZATION": "Bearer tell-nobody",
    "PAGERDUTY_KEY": "tellnobody" + "x" * 22,
    "JSM_KEY": "tell-nobody-of-this-key",
    "SLACK_WEBHOOK": "https://hooks.example.org/tell-nobody",
    "TEAMS_WORKFLOW": "https://flows.example.org/tell-nobody",
    "MAIL_PASSWORD": "tell-nobody",
    "APPRISE_URL": "jsons://hooks.example.org/tell-nobody",
}
RECEIVERS = read_alert_config(
    EXAMPLES.read_text(encoding="utf-8"), str(EXAMPLES), CHANNELS
).receivers
PUBLIC = [each for each in RECEIVERS if not each.options.get("private_addresses_allowed")]
# Apprise resolves names in a process of its own: tests/unit/alerts/test_apprise.py.
RESOLVED_HERE = [each for each in PUBLIC if each.channel != "apprise"]
every_channel = pytest.mark.parametrize("name", CHANNELS)
every_receiver = pytest.mark.parametrize("receiver", RECEIVERS, ids=lambda each: each.name)
FILE = """
owners:
  - {{name: a, people: [x@example.org], receiver: r}}
receivers:
  - {keys}
rules:
  - {{name: q, when: {{check: drift}}, above: 1, severity: page, owner: a, response: investigate,
     runbook: r.md, impact: i}}
"""


def mistakes_of(keys: str) -> list[str]:
    try:
        read_alert_config(FILE.format(keys=keys), "alerts.yaml", CHANNELS)
    except AlertConfigError as error:
        return [str(problem) for problem in error.problems]
    return []


@every_channel
def test_every_channel_has_an_example_and_is_told_in_the_documents(name: str) -> None:
    assert name in {receiver.channel for receiver in RECEIVERS}
    pages = (ROOT / "docs" / "channels.md").read_text(encoding="utf-8")
    assert f"| `{name}` |" in pages


@every_channel
def test_a_receiver_without_its_keys_is_refused_with_a_remedy(name: str) -> None:
    found = mistakes_of(f"{{name: r, channel: {name}}}")
    assert found
    assert all("is missing" in each for each in found)


@every_channel
def test_unknown_keys_are_refused(name: str) -> None:
    found = mistakes_of(f"{{name: r, channel: {name}, colour: red}}")
    assert any("unknown key 'colour'" in each for each in found)


@every_channel
@pytest.mark.parametrize(
    "key", ["secret", "password", "authorization", "api_key", "routing_key", "token"]
)
def test_no_secret_may_stand_in_the_file(name: str, key: str) -> None:
    found = mistakes_of(f"{{name: r, channel: {name}, {key}: tell-nobody}}")
    assert any(key in each for each in found)
    assert not any("tell-nobody" in each for each in found)


@every_receiver
def test_a_receiver_whose_secrets_are_absent_can_be_mended(receiver: Receiver) -> None:
    if not needs_secret(receiver.options):
        open_channel(receiver, {})
        return
    with pytest.raises(SendFailed) as caught:
        open_channel(receiver, {})
    assert caught.value.reason is SendFailure.NOT_CONFIGURED
    assert not caught.value.permanent
    assert receiver.name in caught.value.detail


def needs_secret(options: Mapping[str, str | bool]) -> bool:
    return any(re.search(r"_(env|file)$", name) for name in options)


@every_receiver
def test_no_channel_shows_its_secrets(receiver: Receiver) -> None:
    shown = repr(open_channel(receiver, SECRETS))
    assert not re.search("tell-?nobody", shown)
    assert SECRETS["ON_CALL_SECRET"] not in shown
    assert repr(b"k" * 32) not in shown


@pytest.mark.parametrize("receiver", RESOLVED_HERE, ids=lambda each: each.name)
@pytest.mark.parametrize("address", ["169.254.169.254", "127.0.0.1", "::ffff:10.0.0.1"])
def test_no_receiver_leads_to_a_private_address_by_its_name(
    receiver: Receiver, address: str
) -> None:
    """Whatever a name resolves to is checked when the connection is made."""
    channel = open_channel(receiver, SECRETS)
    with (
        Outbound(timeout=2.0, resolver=lambda *_: [address]) as http,
        pytest.raises(SendFailed) as caught,
    ):
        channel.send(message(), delivery_id="dlv_1", now=NOW, http=http)
    assert caught.value.reason is SendFailure.ADDRESS_REFUSED
    assert caught.value.permanent


@pytest.mark.parametrize("receiver", RESOLVED_HERE, ids=lambda each: each.name)
def test_a_failure_names_no_secret(receiver: Receiver) -> None:
    channel = open_channel(receiver, SECRETS)
    told = ping_message(receiver.name, "air", "https://w", NOW)

    def unknown(*_: object) -> list[str]:
        raise OSError("no such name")

    with Outbound(timeout=2.0, resolver=unknown) as http, pytest.raises(SendFailed) as caught:
        channel.send(told, delivery_id="dlv_1", now=NOW, http=http)
    assert caught.value.reason is SendFailure.UNRESOLVABLE
    assert not caught.value.permanent
    assert not re.search("tell-?nobody", str(caught.value))
