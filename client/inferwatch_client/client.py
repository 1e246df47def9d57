"""The client: logs requests and labels, registers deployments. Each call takes microseconds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from inferwatch_client.counters import DROP_REASONS, LOGGER, Statistics
from inferwatch_client.frozen import NotLoggable, frozen
from inferwatch_client.inference import Inference
from inferwatch_client.items import Item, Kind, Lane
from inferwatch_client.options import Options, environment_options
from inferwatch_client.pipeline import Pipeline
from inferwatch_client.processes import close_with_multiprocessing, watch_process

NO_COLLECTOR = "http://collector.invalid"
ROW_BYTES = 64


class Client:
    """Logs to one collector, in the background.

    Settings are those of `Options`; mistakes in them raise ValueError here, at start. No other
    method raises; `flush` and `close` alone wait. Made before a fork, it works in the children too.
    """

    def __init__(self, url: str, key: str, **settings: Any) -> None:
        self._set_up(Options(url, key, **settings), enabled=True)

    @classmethod
    def from_environment(cls, **settings: Any) -> Client:
        """A client of what INFERWATCH_COLLECTOR_URL, INFERWATCH_KEY (or INFERWATCH_KEY_FILE),
        INFERWATCH_MODEL and INFERWATCH_SPOOL say; `settings` win.

        Without an address or a key it warns once, and drops and counts everything.
        """
        found: dict[str, Any] = {**environment_options(), **settings}
        if found.get("url") and found.get("key"):
            return cls(**found)
        made = cls.__new__(cls)
        made._set_up(Options(**{**found, "url": NO_COLLECTOR, "key": "none"}), enabled=False)
        LOGGER.warning("no collector is configured: nothing is logged to Inferwatch")
        return made

    def _set_up(self, options: Options, *, enabled: bool) -> None:
        self.options = options
        self._enabled = enabled
        self._pipeline = Pipeline(options, close_with_multiprocessing)
        self._common: dict[str, Any] = {}
        self._lane = self._other_lane(None, None)
        if options.deployment is not None:
            self._common["deployment"] = options.deployment
        self.set_tags(options.tags)
        watch_process(self)

    def log_request(
        self,
        columns: Mapping[str, Any],
        *,
        request_id: str | None = None,
        event_time: datetime | int | None = None,
        outcome: str | None = None,
        outcome_reason: str | None = None,
        tags: Mapping[str, str] | None = None,
        deployment: int | None = None,
        model: str | None = None,
        leg: str | None = None,
    ) -> str:
        """Log one request; returns its id, by which a label finds it.

        `event_time` is an aware datetime or nanoseconds since 1970, now if left out. `columns` are
        copied. `tags` or `deployment` stand in place of the client's own.
        """
        pipeline = self._pipeline
        chosen = f"{pipeline.id_prefix}{next(pipeline.id_numbers):x}"
        try:
            if request_id is not None:
                chosen = str(request_id)
            envelope: dict[str, Any] = {
                "request_id": chosen,
                "event_time": time.time_ns() if event_time is None else event_time,
            }
            if tags is not None or deployment is not None:
                envelope.update(_named(tags, deployment))
            else:
                envelope.update(self._common)
            if outcome is not None:
                envelope["outcome"] = outcome
            if outcome_reason is not None:
                envelope["outcome_reason"] = outcome_reason
            lane = self._lane if model is None and leg is None else self._other_lane(model, leg)
            if lane is None:
                self._drop_unplaced(1)
                return chosen
            copied, size = frozen(columns)
            item = Item(Kind.REQUEST, lane, envelope, copied, 1, size)
            if not pipeline.waiting.put(item):
                pipeline.put(item)
        except Exception as error:  # noqa: BLE001 - nothing may ever reach the model
            self._drop_failed(error, 1)
        return chosen

    def log_requests(
        self,
        columns: Mapping[str, Sequence[Any]],
        *,
        request_ids: Sequence[str] | None = None,
        event_time: datetime | int | None = None,
        model: str | None = None,
        leg: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Log the rows of a batch: one sequence or array a column, all equally long; their ids.

        Costs a copy of the arrays, whatever the number of rows.
        """
        count = 0
        chosen: list[str] = []
        try:
            count = max((len(values) for values in columns.values()), default=0)
            given = [self.next_id() for _ in range(count)] if request_ids is None else request_ids
            chosen = [str(one) for one in given]
            if {len(chosen), *(len(values) for values in columns.values())} - {count}:
                raise NotLoggable("columns of different lengths can't be logged")
            envelope: dict[str, Any] = {
                "request_ids": chosen,
                "event_time": time.time_ns() if event_time is None else event_time,
                **(self._common if tags is None else {"tags": dict(tags)}),
            }
            if count:
                self._put(Kind.ROWS, self._other_lane(model, leg), envelope, columns, count)
        except Exception as error:  # noqa: BLE001 - nothing may ever reach the model
            self._drop_failed(error, max(count, 1))
        return chosen

    def log_label(
        self,
        request_id: str,
        value: bool | float | str,
        *,
        observed_at: datetime | int | None = None,
        label: str | None = None,
        source: str | None = None,
        event_time: datetime | int | None = None,
        model: str | None = None,
        leg: str | None = None,
    ) -> None:
        """Log what turned out to be true for a request, or a signal; `label` is its name.

        `observed_at` is now if left out. `event_time` is the request's, and makes it found sooner.
        """
        given = {"label": label, "source": source, "event_time": event_time, "leg": leg}
        envelope = {
            "request_id": request_id,
            "observed_at": time.time_ns() if observed_at is None else observed_at,
            **{name: fact for name, fact in given.items() if fact is not None},
        }
        self._put(Kind.LABEL, self._lane_of("labels", model), envelope, {"value": value})

    def register_deployment(
        self,
        tags: Mapping[str, str],
        *,
        name: str | None = None,
        joins: Mapping[str, str] | None = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        evidence: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> None:
        """Register a set of version tags, perhaps for requests that carry the marks `joins`.

        The number comes later, in `statistics().registered`. Requests need not wait for it: they
        carry the client's tags.
        """
        given = {
            "tags": tags,
            "name": name,
            "joins": joins,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "evidence": evidence,
        }
        registration = {key: fact for key, fact in given.items() if fact is not None}
        self._put(
            Kind.REGISTRATION, self._lane_of("deployments", model), {}, registration, records=0
        )

    def set_tags(self, tags: Mapping[str, str] | None) -> None:
        """From now on requests carry these version tags; None for none."""
        self._common = {name: fact for name, fact in self._common.items() if name != "tags"}
        if tags:
            self._common = {"tags": dict(tags)}

    def inference(self, *, request_id: str | None = None, **settings: Any) -> Inference:
        """Measure one inference: `with client.inference() as one: …; one.add(score=0.2)`.

        Settings are those of Inference.
        """
        return Inference(self, request_id=request_id, **settings)

    def flush(self, seconds: float = 10.0) -> bool:
        """Wait until nothing waits any more, at most so long; whether that came about."""
        return self._pipeline.flush(seconds)

    def close(self, seconds: float | None = None) -> None:
        """Send what waits, at most so long (`exit_seconds` if left out), and stop.

        Runs by itself at the end of the process.
        """
        self._pipeline.close(self.options.exit_seconds if seconds is None else seconds)

    def statistics(self) -> Statistics:
        """What became of the records that this process logged."""
        return self._pipeline.statistics()

    def count_drop(self, reason: str, records: int, detail: str) -> None:
        """Count records that were lost before they could be logged."""
        self._pipeline.counters.logged += records
        self._pipeline.counters.drop(reason, records, detail)

    def next_id(self) -> str:
        """A new request id, unique among all processes."""
        return f"{self._pipeline.id_prefix}{next(self._pipeline.id_numbers):x}"

    def start_anew(self) -> None:
        """In a forked child: what waited in the parent is the parent's."""
        self._pipeline.abandon()
        self._pipeline = Pipeline(self.options, close_with_multiprocessing)

    def _put(
        self,
        kind: Kind,
        lane: Lane | None,
        envelope: dict[str, Any],
        columns: Mapping[str, Any],
        records: int = 1,
    ) -> None:
        if lane is None:
            self._drop_unplaced(records)
            return
        try:
            copied, size = frozen(columns)
            size += (records - 1) * ROW_BYTES if records > 1 else 0
            self._pipeline.put(Item(kind, lane, envelope, copied, records, size))
        except Exception as error:  # noqa: BLE001 - nothing may ever reach the model
            self._drop_failed(error, records)

    def _other_lane(self, model: str | None, leg: str | None) -> Lane | None:
        return self._lane_of("requests", model, leg or self.options.leg)

    def _lane_of(self, route: str, model: str | None, leg: str = "") -> Lane | None:
        model = model or self.options.model
        return Lane(route, model, leg) if self._enabled and model is not None else None

    def _drop_unplaced(self, records: int) -> None:
        reason = "no_model" if self._enabled else "disabled"
        self.count_drop(reason, records, DROP_REASONS[reason])

    def _drop_failed(self, error: Exception, records: int) -> None:
        detail = str(error) if isinstance(error, NotLoggable) else type(error).__name__
        self.count_drop("not_encodable", records, detail)


def _named(tags: Mapping[str, str] | None, deployment: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if tags is None else {"tags": dict(tags)}
    if deployment is not None:
        found["deployment"] = deployment
    return found
