"""Sends bodies to the collector and does what its answers ask for. Runs in a background thread."""

from __future__ import annotations

import random
import time
from datetime import datetime, timezone

import httpx

from inferwatch_client.answers import Judged, Verdict, judge
from inferwatch_client.bodies import REGISTRATIONS, Body
from inferwatch_client.counters import Counters
from inferwatch_client.options import Options
from inferwatch_client.outbox import Outbox

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
CHANGE_WAIT = 10.0
MOST_FAILURES = 8
MAX_ANSWER_BYTES = 1 << 20


class Sender:
    """Sends one body at a time; after a failure all wait, longer each time."""

    def __init__(self, options: Options, outbox: Outbox, counters: Counters) -> None:
        self._options = options
        self._outbox = outbox
        self._counters = counters
        self._http: httpx.Client | None = None
        self._failures = 0
        self.not_before = 0.0

    @property
    def failing(self) -> bool:
        """Whether the last try reached no collector that takes bodies."""
        return self._failures > 0

    def step(self, now: float) -> bool:
        """Try the body that is due; whether there was one."""
        if now < self.not_before:
            return False
        body = self._outbox.due(now)
        if body is None:
            return False
        payload = self._outbox.payload(body)
        if payload is not None:
            self._follow(body, payload, self._post(body, payload))
        return True

    def wait(self, now: float) -> float | None:
        """Seconds until something is due; None when nothing waits."""
        due = self._outbox.next_due()
        return None if due is None else max(due, self.not_before, now) - now

    def hurry(self) -> None:
        """Try everything once more now."""
        self.not_before = 0.0
        self._outbox.hurry()

    def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def _post(self, body: Body, payload: bytes) -> Judged:
        headers = {"Content-Type": "application/x-ndjson"}
        parameters = {"model": body.lane.model}
        if body.lane.route == REGISTRATIONS:
            headers["Content-Type"] = "application/json"
        if body.lane.leg:
            parameters["leg"] = body.lane.leg
        if body.packed:
            headers["Content-Encoding"] = "gzip"
        try:
            with self._client().stream(
                "POST",
                f"/v1/{body.lane.route}",
                params=parameters,
                content=payload,
                headers=headers,
            ) as answer:
                content = _bounded(answer)
                moment = datetime.now(timezone.utc)
                return judge(answer.status_code, answer.headers, content, moment)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Judged(Verdict.LATER, type(error).__name__)

    def _client(self) -> httpx.Client:
        if self._http is None:
            limit = self._options.answer_seconds
            self._http = httpx.Client(
                base_url=self._options.url,
                headers={"Authorization": f"Bearer {self._options.key}"},
                timeout=httpx.Timeout(limit, connect=self._options.connect_seconds),
                follow_redirects=False,
            )
        return self._http

    def _follow(self, body: Body, payload: bytes, judged: Judged) -> None:
        if judged.verdict is not Verdict.LATER:
            self._failures = 0
        match judged.verdict:
            case Verdict.STORED:
                self._count(body, judged)
            case Verdict.LATER:
                self._wait_for_collector(judged)
            case Verdict.AFTER_CHANGE:
                self._wait_for_change(body, judged)
            case Verdict.FAILED:
                self._wait_for_repair(body, judged)
            case Verdict.SPLIT:
                if not self._outbox.split(body, payload):
                    self._lose(body, "too_large", judged.reason)
            case Verdict.REFUSED:
                self._lose(body, "refused", judged.reason)

    def _count(self, body: Body, judged: Judged) -> None:
        if not self._outbox.done(body):
            return
        if body.lane.route != REGISTRATIONS:
            self._counters.stored(judged.counts, judged.rejected, body.records)
        elif judged.deployment is not None:
            self._counters.registered[body.lane.model] = judged.deployment

    def _wait_for_collector(self, judged: Judged) -> None:
        self._failures += 1
        self._counters.retries += 1
        wait = judged.wait
        if wait is None:
            wait = min(FIRST_WAIT * 2 ** min(self._failures - 1, 16), LONGEST_WAIT)
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads senders, hides nothing
        self.not_before = time.monotonic() + wait
        self._counters.warn(
            "collector", "the collector takes nothing now: %s; tried again", judged.reason
        )

    def _wait_for_change(self, body: Body, judged: Judged) -> None:
        now = time.monotonic()
        wait = CHANGE_WAIT if judged.wait is None else judged.wait
        refused_for = self._outbox.postpone(body, now + wait, refused_at=now)
        self._counters.retries += 1
        if refused_for >= self._options.patience:
            self._lose(body, "refused", judged.reason)
            return
        self._counters.warn(
            f"change {body.lane.model}",
            "the collector refuses model %s: %s; tried again for %d s",
            body.lane.model,
            judged.reason,
            self._options.patience,
        )

    def _wait_for_repair(self, body: Body, judged: Judged) -> None:
        body.attempts += 1
        self._counters.retries += 1
        if body.attempts >= MOST_FAILURES:
            self._lose(body, "server_errors", judged.reason)
            return
        wait = judged.wait
        if wait is None:
            wait = min(FIRST_WAIT * 2**body.attempts, LONGEST_WAIT)
        self._outbox.postpone(body, time.monotonic() + wait)

    def _lose(self, body: Body, reason: str, detail: str) -> None:
        if not self._outbox.done(body):
            return
        if body.lane.route == REGISTRATIONS:
            self._counters.warn("registration", "a registration was dropped: %s", detail)
        else:
            self._counters.drop(reason, body.records, detail)


def _bounded(answer: httpx.Response) -> bytes:
    """At most MAX_ANSWER_BYTES: an address may be wrong and answer without an end."""
    parts, size = [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            break
    return b"".join(parts)
