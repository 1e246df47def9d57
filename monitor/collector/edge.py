"""What a route does with a call: who, which model, read the body, store it, answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from monitor.collector.auth import authenticate, sent_key
from monitor.collector.bodies import BodyLimits, content_coding, inflate, read_body
from monitor.collector.deployment_body import read_deployment
from monitor.collector.gate import Gate
from monitor.collector.groups import SMALL_BODY_ROWS, GroupWriter
from monitor.collector.intake import (
    Batch,
    Counted,
    Limits,
    intake_context,
    names_unknown_deployment,
    parse_current,
    store_one,
)
from monitor.collector.metrics import Metrics
from monitor.collector.ports import Store
from monitor.collector.producer_store import ProducerAnswer, ProducerStore, Sender
from monitor.collector.schemas import MAX_LISTED_REJECTIONS
from monitor.collector.text_models import TextModels
from monitor.errors import RequestRefused, UnknownSubject
from monitor.intake.base import IntakeContext, LabelFormat, RequestFormat
from monitor.intake.legs import is_leg
from monitor.intake.producer_record import Read
from monitor.intake.registry import LABEL_FORMATS, REQUEST_FORMATS, TOLD_FORMATS
from monitor.origin import Origin, product_of
from monitor.records import LIVE_LEG, IntakeAnswer
from monitor.settings import Settings
from monitor.store.models import ModelContext
from monitor.store.projects import Principal, Scope

LEGS = "leg is live, batch, shadow:NAME or replay:RUN"
INLINE_BYTES = 16 << 10
LOOKUP_THREADS = 2
_MODEL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}", re.ASCII)
Result = TypeVar("Result")


class Edge:
    """Everything the routes share in one process."""

    def __init__(self, settings: Settings, store: Store, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.metrics = Metrics()
        self._clock = clock
        self._limits = BodyLimits(
            settings.max_body_bytes,
            settings.max_inflated_bytes,
            settings.max_inflate_ratio,
            settings.body_timeout_seconds,
        )
        self._records = Limits(settings.max_records, settings.max_inflated_bytes)
        self._gate = Gate(settings.max_waiting_bodies)
        self._pool = ThreadPoolExecutor(settings.intake_threads, "intake")
        self._lookups = ThreadPoolExecutor(LOOKUP_THREADS, "lookup")
        self._groups = GroupWriter(store, self._pool)
        self.producers = ProducerStore(store, TextModels(settings.text_models))
        self.metrics.waiting.set_function(lambda: self._gate.inside)

    def close(self) -> None:
        """Finish what was begun, then close the store."""
        self._pool.shutdown()
        self._lookups.shutdown()
        self.store.close()

    async def take_requests(self, request: Request, model: str, leg: str) -> bytes:
        """Store a body of requests; the answer as JSON."""
        told = TOLD_FORMATS.get(content_type(request))
        if told is not None:
            return await self._take_told(request, model, leg, told)
        return await self._take(request, "requests", model, leg, Scope.INGEST, REQUEST_FORMATS)

    async def take_labels(self, request: Request, model: str) -> bytes:
        """Store a body of labels; the answer as JSON."""
        return await self._take(request, "labels", model, LIVE_LEG, Scope.LABELS, LABEL_FORMATS)

    async def register_deployment(self, request: Request, model: str) -> bytes:
        """Store the tags of a deployment; its number as JSON."""
        principal, found = await self._look_up(request, model, Scope.INGEST)
        with self._gate.enter():
            body = await self._read(request)
            now = self._clock()
            told = read_deployment(body, now)
            ids = (principal.project_id, found.model_id)
            try:
                number, created, registration = await self._run(
                    self._lookups, told.store_in, self.store.registrations, *ids, now
                )
            except UnknownSubject as error:
                raise RequestRefused(422, "name_taken", str(error)) from None
        answer = {"deployment": number, "created": created}
        if registration is not None:
            answer["registration"] = registration
        return msgspec.json.encode(answer)

    async def read_told(self, request: Request, scope: Scope) -> tuple[Principal, bytes]:
        """Who sends and the plain body, for formats that name their models inside."""
        header = request.headers.get("authorization")
        principal = await self._run(
            self._lookups, authenticate, self.store, header, self._clock(), scope
        )
        with self._gate.enter():
            return principal, await self._read(request)

    async def principal(self, request: Request, scope: Scope) -> Principal:
        """Who sends; a key that was looked up a moment ago costs no other thread."""
        header = request.headers.get("authorization")
        if self.store.knows(sent_key(header)):
            return authenticate(self.store, header, self._clock(), scope)
        return await self._run(
            self._lookups, authenticate, self.store, header, self._clock(), scope
        )

    def may_label(self, principal: Principal, labels: Sequence[object]) -> None:
        """Raises RequestRefused 403 when there are labels and the key may not send any."""
        if labels and Scope.LABELS not in principal.scopes:
            what = f"the key lacks the scope {Scope.LABELS.value}; use one that has it"
            raise RequestRefused(403, "missing_scope", what)

    async def plain_body(self, request: Request) -> bytes:
        """The body without gzip, within the limits; the caller holds a gate of its own."""
        return await self._read(request)

    async def keep_told(
        self, origin: Origin, principal: Principal, read: Read, *, model: str, leg: str
    ) -> ProducerAnswer:
        """Store what a producer told; returns after the commits."""
        anytime = Scope.BACKFILL in principal.scopes
        sender = Sender(principal.project_id, self._clock(), model, leg, anytime, origin)
        with self._gate.enter():
            return await self._run(self._pool, self.producers.keep, sender, read)

    async def _take_told(
        self, request: Request, model: str, leg: str, read: Callable[[bytes, int], Read]
    ) -> bytes:
        started = time.monotonic()
        principal, found = await self._look_up(request, model, Scope.INGEST)
        if not is_leg(leg):
            raise RequestRefused(422, "bad_leg", LEGS)
        with self._gate.enter():
            body = await self._read(request)
            told = await self._run(self._pool, read, body, self._records.max_records)
        origin = origin_of(principal, request)
        kept = await self.keep_told(origin, principal, told, model=found.contract.model, leg=leg)
        answer = kept.as_answer()
        self.metrics.answered("requests", answer, 0, time.monotonic() - started)
        return encode_answer(answer)

    async def ready(self) -> bytes:
        """Raises DatabaseUnavailable or DatabaseNotReady unless bodies can be stored."""
        await self._run(self._lookups, self.store.ready)
        return b'{"status":"ready"}'

    async def _take(
        self,
        request: Request,
        kind: str,
        model: str,
        leg: str,
        scope: Scope,
        formats: Mapping[str, RequestFormat] | Mapping[str, LabelFormat],
    ) -> bytes:
        started = time.monotonic()
        principal, found = await self._look_up(request, model, scope)
        if not is_leg(leg):
            raise RequestRefused(422, "bad_leg", LEGS)
        form = _format_of(request, formats)
        content_coding(request)
        with self._gate.enter():
            body = await self._read(request, inflated=False)
            anytime = kind == "labels" or Scope.BACKFILL in principal.scopes
            origin = origin_of(principal, request)
            context = intake_context(
                found, leg, self._clock(), self._records, anytime=anytime, origin=origin
            )
            counted = await self._store(request, model, body, form, context)
        seconds = time.monotonic() - started
        self.metrics.answered(kind, counted.answer, counted.skewed, seconds)
        return encode_answer(counted.answer)

    async def _store(
        self,
        request: Request,
        model: str,
        body: bytes,
        form: RequestFormat | LabelFormat,
        context: IntakeContext,
    ) -> Counted:
        packed = content_coding(request) == "gzip"
        if len(body) > INLINE_BYTES or packed:
            done = await self._run(
                self._pool, self._parse_and_store, model, body, packed, form, context
            )
        else:  # a small body is read faster than another thread is woken
            batch = form.parse(body, context)
            done = (batch, context)
            if names_unknown_deployment(batch) or batch.table.num_rows > SMALL_BODY_ROWS:
                done = await self._run(
                    self._pool, self._parse_and_store, model, body, packed, form, context
                )
        if isinstance(done, Counted):
            return done
        return await self._groups.store(*done)

    def _parse_and_store(
        self,
        model: str,
        body: bytes,
        packed: bool,
        form: RequestFormat | LabelFormat,
        context: IntakeContext,
    ) -> Counted | tuple[Batch, IntakeContext]:
        """Store a body of many rows, parsed here; one of few rows is handed back for a group."""
        batch, context = self._parse(model, body, packed, form, context)
        if batch.table.num_rows <= SMALL_BODY_ROWS:
            return batch, context
        return store_one(self.store, batch, context)

    def _parse(
        self,
        model: str,
        body: bytes,
        packed: bool,
        form: RequestFormat | LabelFormat,
        context: IntakeContext,
    ) -> tuple[Batch, IntakeContext]:
        plain = inflate(body, self._limits) if packed else body
        return parse_current(self.store, model, context, lambda now: form.parse(plain, now))

    async def _look_up(
        self, request: Request, model: str, scope: Scope
    ) -> tuple[Principal, ModelContext]:
        header = request.headers.get("authorization")
        if self.store.remembers(sent_key(header), model):
            return self._find(header, model, scope)
        return await self._run(self._lookups, self._find, header, model, scope)

    def _find(self, header: str | None, model: str, scope: Scope) -> tuple[Principal, ModelContext]:
        principal = authenticate(self.store, header, self._clock(), scope)
        found = None
        if _MODEL_NAME.fullmatch(model):
            found = self.store.model_context(principal.project_id, model)
            found = found or self.store.model_context(principal.project_id, model, refresh=True)
        if found is None:
            raise RequestRefused(
                404, "unknown_model", "no such model in the key's project; apply its contract first"
            )
        return principal, found

    async def _read(self, request: Request, *, inflated: bool = True) -> bytes:
        packed = content_coding(request) == "gzip"
        body = await read_body(request, self._limits)
        if packed and inflated:
            return await self._run(self._pool, inflate, body, self._limits)
        return body

    async def _run(
        self, pool: ThreadPoolExecutor, work: Callable[..., Result], *arguments: Any
    ) -> Result:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)


def encode_answer(answer: IntakeAnswer) -> bytes:
    """The answer of intake as JSON, with the first MAX_LISTED_REJECTIONS rejections."""
    listed = answer.rejections[:MAX_LISTED_REJECTIONS]
    return msgspec.json.encode(
        {
            "accepted": answer.accepted,
            "duplicate": answer.duplicate,
            "conflict": answer.conflict,
            "rejected": answer.rejected,
            "violations": answer.violations,
            "rejections": [
                {
                    "place": rejection.place,
                    "reason": rejection.reason.value,
                    "message": rejection.message,
                    "request_id": rejection.request_id,
                }
                for rejection in listed
            ],
            "rejections_not_listed": answer.rejected - len(listed),
        }
    )


def origin_of(principal: Principal, request: Request) -> Origin:
    """Who sends, by the name of the key and the product that the User-Agent names."""
    return Origin(principal.key_name, product_of(request.headers.get("user-agent")))


def content_type(request: Request) -> str:
    """The body's content type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _format_of(request: Request, formats: Mapping[str, Any]) -> Any:
    form = formats.get(content_type(request))
    if form is None:
        raise RequestRefused(
            415, "unsupported_type", f"Content-Type is one of {', '.join(formats)}"
        )
    return form
