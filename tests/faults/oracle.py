"""The oracle: issues readings, remembers what it issued, and compares what came out.

Three properties, after every fault is over: conservation (every alert that fired is told at its
receiver, and every end with its reason), integrity (every message that came was owed, its bytes and
signature are those, no news came under two ids, no end came before its opening) and liveness (a new
alert still gets through).
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row
from standardwebhooks import Webhook

from alerts.message_body import encode_body
from tests.faults.programs import SECRET, Place

SEVERITIES = {"page": "pager", "ticket": "chat"}
BREACH, CLEAR = 1.0, 0.0
EXAMPLES = 20
ISSUES = """
create table if not exists oracle_issue (
  id bigserial primary key, model text not null, subject text not null, severity text not null,
  value double precision not null, at timestamptz not null, taken boolean not null default false);
grant select, update on oracle_issue to inferwatch_worker;
"""


@dataclass
class Oracle:
    """Issues readings of many subjects: each breaches or is clear, as its own chance says."""

    place: Place
    rng: random.Random
    models: int = 3
    subjects: int = 4
    _at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _breaching: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    issued: int = 0

    def prepare(self) -> None:
        """The table that the judge takes readings from."""
        with psycopg.connect(self.place.database_url, autocommit=True) as connection:
            connection.execute(ISSUES)

    def issue(self, count: int) -> None:
        """Some readings; each turns a subject over, from clear to breaching or back."""
        for _ in range(count):
            model = f"model-{self.rng.randrange(self.models)}"
            subject = f"column-{self.rng.randrange(self.subjects)}"
            self.turn(model, subject, self.rng.choice(list(SEVERITIES)))

    def turn(self, model: str, subject: str, severity: str) -> None:
        """One reading that turns a subject over; issued when it is committed."""
        which = (model, subject, severity)
        now_breaching = not self._breaching.get(which, False)
        self._at += timedelta(minutes=1)
        value = BREACH if now_breaching else CLEAR
        statement = (
            "insert into oracle_issue (model, subject, severity, value, at) values (%s,%s,%s,%s,%s)"
        )
        with psycopg.connect(self.place.database_url, autocommit=True) as connection:
            connection.execute(statement, (model, subject, severity, value, self._at))
        self._breaching[which] = now_breaching
        self.issued += 1

    def clear_all(self) -> None:
        """Everything that breaches becomes clear: every alert must end."""
        for model, subject, severity in [key for key, on in self._breaching.items() if on]:
            self.turn(model, subject, severity)

    def open_episodes_expected(self) -> int:
        """How many episodes the issued readings make in all."""
        return (self.issued + sum(self._breaching.values())) // 2


@dataclass
class Verdict:
    """What was expected, what came, and every violation.

    `sent_again` counts repetitions under an id that the receiver knew; `coalesced` episodes that
    were over before anybody could be told, while the next one of the same alert was told.
    """

    issued: int = 0
    openings: int = 0
    ends: int = 0
    messages: int = 0
    sent_again: int = 0
    coalesced: int = 0
    lost_readings: int = 0
    undelivered: int = 0
    lost_openings: int = 0
    lost_ends: int = 0
    wrong_reasons: int = 0
    double_news: int = 0
    overtaken: int = 0
    foreign: int = 0
    changed: int = 0
    unfinished: int = 0
    examples: list[str] = field(default_factory=list)

    VIOLATIONS = (
        *(
            "undelivered",
            "lost_readings",
            "lost_openings",
            "lost_ends",
            "wrong_reasons",
            "double_news",
        ),
        *("overtaken", "foreign", "changed", "unfinished"),
    )

    @property
    def violations(self) -> dict[str, int]:
        """What must be 0 and is not."""
        return {name: n for name in self.VIOLATIONS if (n := getattr(self, name))}

    def blame(self, name: str, when: bool, where: object) -> None:
        """Count a violation; the first few are kept in words."""
        if when:
            setattr(self, name, getattr(self, name) + 1)
            if len(self.examples) < EXAMPLES:
                self.examples.append(f"{name}: {where}")

    def as_json(self) -> dict[str, Any]:
        """All counts, and examples of violations."""
        return asdict(self)


def received(place: Place) -> list[dict[str, Any]]:
    """Every request that the receiver wrote down, in the order of arrival."""
    if not place.received.exists():
        return []
    lines = place.received.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def taken(requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that were answered with 2xx; the receiver drops what has an id it knows."""
    known: set[tuple[str, str]] = set()
    kept = []
    for each in requests:
        which = (each["receiver"], each["headers"].get("webhook-id", ""))
        if 200 <= each["status"] < 300 and each["receiver"] != "switch" and which not in known:
            known.add(which)
            kept.append(each)
    return kept


def compare(place: Place, oracle: Oracle) -> Verdict:
    """Hold what came against what is stored and what was issued."""
    requests = received(place)
    kept = taken(requests)
    all_taken = sum(200 <= r["status"] < 300 and r["receiver"] != "switch" for r in requests)
    verdict = Verdict(issued=oracle.issued, messages=len(kept), sent_again=all_taken - len(kept))
    with psycopg.connect(place.database_url, row_factory=dict_row) as connection:
        connection.execute("select set_config('app.project', %s, false)", (str(place.project_id),))
        _conserved(connection, kept, oracle, verdict)
        _intact(connection, kept, verdict)
    return verdict


def _conserved(
    connection: psycopg.Connection[dict[str, Any]],
    kept: list[dict[str, Any]],
    oracle: Oracle,
    verdict: Verdict,
) -> None:
    news = _news((each["receiver"], each["headers"]["webhook-id"], json.loads(each["body"]))
                 for each in kept)  # fmt: skip
    rows = connection.execute("select receiver, delivery_key, body from delivery").fetchall()
    owed = _news((row["receiver"], row["delivery_key"], row["body"]["body"]) for row in rows)
    for which in owed.keys() - news.keys():
        verdict.blame("undelivered", True, which)
    episodes = connection.execute(
        "select a.fingerprint, a.severity, t.episode, t.to_state, t.reason"
        " from alert_transition t join alert a on a.id = t.alert_id"
        " where t.to_state = 'firing' and t.from_state in ('ok', 'pending', 'resolved')"
        "    or t.to_state = 'resolved'"
    ).fetchall()
    for row in episodes:
        where = (SEVERITIES[row["severity"]], f"{row['fingerprint']}/{row['episode']}")
        if row["to_state"] == "firing":
            verdict.openings += 1
            if _is_coalesced(row, news, owed):
                verdict.coalesced += 1
                continue
            verdict.blame("lost_openings", (*where, "opened") not in news, where)
        else:
            verdict.ends += 1
            if _is_coalesced(row, news, owed):
                continue
            ends = news.get((*where, "ended"), [])
            verdict.blame("lost_ends", not ends, where)
            wrong = any(reason != row["reason"] for _, _, reason in ends)
            verdict.blame("wrong_reasons", wrong, (where, row["reason"], ends))
    verdict.lost_readings = abs(oracle.open_episodes_expected() - verdict.openings)
    for (receiver, finding, change), told in news.items():
        double = len({key for _, key, _ in told}) > 1
        verdict.blame("double_news", double, (receiver, finding, change, told))
        if change == "ended":
            opened = news.get((receiver, finding, "opened"), [])
            overtaken = bool(opened) and told[0][0] < opened[0][0]
            verdict.blame("overtaken", overtaken, (receiver, finding, told, opened))


News = dict[tuple[str, str, str], list[tuple[int, str, str | None]]]


def _news(messages: Iterable[tuple[str, str, dict[str, Any]]]) -> News:
    """Receiver, finding and change -> place in the order, id and reason of each telling."""
    news: News = defaultdict(list)
    for place, (receiver, key, body) in enumerate(messages):
        if not body["type"].startswith("finding."):
            continue
        for alert in body["data"]["alerts"]:
            finding = f"{alert['fingerprint']}/{alert['episode']}"
            if alert["change"] in ("opened", "ended"):
                news[(receiver, finding, alert["change"])].append((place, key, alert["reason"]))
    return dict(news)


def _is_coalesced(row: dict[str, Any], news: News, owed: News) -> bool:
    """Whether no message was ever owed of an episode, and a later one of the alert was told."""
    receiver = SEVERITIES[row["severity"]]
    mine = f"{row['fingerprint']}/{row['episode']}"
    if any((receiver, mine, change) in owed for change in ("opened", "ended")):
        return False
    later = (
        int(finding.rpartition("/")[2])
        for name, finding, change in news
        if name == receiver and change == "opened" and finding.startswith(row["fingerprint"])
    )
    return any(episode > row["episode"] for episode in later)


def _intact(
    connection: psycopg.Connection[dict[str, Any]],
    kept: list[dict[str, Any]],
    verdict: Verdict,
) -> None:
    rows = connection.execute("select delivery_key, body, state from delivery").fetchall()
    owed = {row["delivery_key"]: encode_body(row["body"]["body"]) for row in rows}
    for each in kept:
        key = each["headers"]["webhook-id"]
        verdict.foreign += key not in owed
        verdict.changed += owed.get(key) != each["body"].encode() or not _is_signed(each)
    verdict.unfinished += sum(row["state"] == "waiting" for row in rows)
    one = connection.execute(
        "select (select count(*) from oracle_issue where not taken)"
        " + (select count(*) from alert where not settled and state <> 'firing') as n"
    ).fetchone()
    verdict.unfinished += one["n"] if one else 0


def _is_signed(request: dict[str, Any]) -> bool:
    """The signature as the public library computes it (which refuses old messages itself)."""
    headers = request["headers"]
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    made = Webhook(SECRET).sign(headers["webhook-id"], at, request["body"])
    return made in headers["webhook-signature"].split(" ")
