"""Decorated functions behave as before, and each call is logged as what it was."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from inferwatch_client.client import Client
from inferwatch_client.decorators import watched
from inferwatch_client.inference import TimeColumns

from tests.client.conftest import Place

STREAM = TimeColumns(parts="tokens")
FIELDS = "outcome, outcome_reason, age, prediction, latency, first_token_time, tokens"


def flushed(place: Place, client: Client, columns: str = FIELDS) -> list[Any]:
    assert client.flush()
    client.close()
    assert client.statistics().dropped == {}
    return place.logged(columns)


def test_a_function_is_logged_with_its_arguments_and_its_answer(
    place: Place, collector: str
) -> None:
    client = place.client(collector)

    @watched(client)
    def predict(age: float, country: str = "DE") -> str:
        """Decide."""
        return "yes"

    assert predict(41.0) == "yes"
    assert (predict.__name__, predict.__doc__) == ("predict", "Decide.")
    [row] = flushed(place, client, f"{FIELDS}, country")
    assert (row.outcome, row.age, row.country, row.prediction) == ("answered", 41.0, "DE", "yes")
    assert row.latency >= 0
    assert row.first_token_time is None


def test_an_error_is_logged_as_an_outcome_without_its_message_and_goes_on(
    place: Place, collector: str
) -> None:
    client = place.client(collector)

    @watched(client)
    def predict(age: float) -> str:
        raise KeyError("a secret of the caller")

    with pytest.raises(KeyError, match="a secret"):
        predict(41.0)
    [row] = flushed(place, client)
    assert (row.outcome, row.outcome_reason, row.age) == ("failed", "KeyError", 41.0)


@pytest.mark.parametrize(
    ("error", "outcome"), [(TimeoutError, "timed_out"), (asyncio.CancelledError, "cancelled")]
)
def test_an_async_function_that_is_cut_off_says_how(
    place: Place, collector: str, error: type[BaseException], outcome: str
) -> None:
    client = place.client(collector)

    @watched(client)
    async def predict() -> None:
        raise error

    with pytest.raises(error):
        asyncio.run(predict())
    assert inspect.iscoroutinefunction(predict)
    [row] = flushed(place, client)
    assert (row.outcome, row.outcome_reason) == (outcome, error.__name__)


def test_a_stream_tells_its_first_part_and_hands_everything_through(
    place: Place, collector: str
) -> None:
    client = place.client(collector)

    @watched(
        client,
        lambda arguments, parts: {"age": arguments["start"], "prediction": "".join(parts)},
        times=STREAM,
        keep_parts=10,
    )
    def generate(start: int) -> Iterator[Any]:
        got = yield "a"
        try:
            yield got
        except ValueError:
            yield "c"
        return "result"

    def whole() -> Iterator[Any]:
        assert (yield from generate(7)) == "result"

    assert inspect.isgeneratorfunction(generate)
    stream = whole()
    assert next(stream) == "a"
    assert stream.send("b") == "b"  # type: ignore[attr-defined]
    assert stream.throw(ValueError()) == "c"  # type: ignore[attr-defined]
    assert next(stream, "end") == "end"
    [row] = flushed(place, client)
    assert (row.outcome, row.age, row.prediction, row.tokens) == ("answered", 7, "abc", 3)
    assert 0 <= row.first_token_time <= row.latency


def test_a_reader_that_leaves_a_stream_cancels_it(place: Place, collector: str) -> None:
    client = place.client(collector)
    closed = []

    @watched(client, lambda arguments, parts: {}, times=STREAM)
    def generate() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.append(True)

    stream = generate()
    next(stream)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert closed == [True]
    [row] = flushed(place, client)
    assert (row.outcome, row.tokens) == ("cancelled", 2)


def test_an_async_stream_is_measured_and_closed_like_a_plain_one(
    place: Place, collector: str
) -> None:
    client = place.client(collector)
    closed = []

    @watched(client, lambda arguments, parts: {}, times=STREAM)
    async def generate(most: int) -> AsyncIterator[Any]:
        try:
            got = yield "first"
            for _ in range(most):
                yield got
        except ValueError:
            yield "mended"
        finally:
            closed.append(True)

    async def read() -> list[Any]:
        stream: Any = generate(5)
        found = [await anext(stream), await stream.asend("sent"), await stream.athrow(ValueError())]
        found += [part async for part in stream]
        left: Any = generate(5)
        await anext(left)
        await left.aclose()
        return found

    assert asyncio.run(read()) == ["first", "sent", "mended"]
    assert closed == [True, True]
    rows = flushed(place, client)
    assert sorted((row.outcome, row.tokens) for row in rows) == [("answered", 3), ("cancelled", 1)]


def test_a_mistake_in_the_columns_is_counted_and_never_reaches_the_caller(
    place: Place, collector: str
) -> None:
    client = place.client(collector)

    @watched(client, lambda arguments, answer: {"age": arguments["agee"]})
    def predict(age: float) -> str:
        return "yes"

    assert predict(1.0) == "yes"
    client.close()
    assert client.statistics().dropped == {"columns_failed": 1}


def test_a_wrong_call_raises_what_it_raised_before(place: Place, collector: str) -> None:
    client = place.client(collector)

    @watched(client)
    def predict(age: float) -> str:
        return "yes"

    with pytest.raises(TypeError):
        predict(1, 2, 3)  # type: ignore[call-arg]
    [row] = flushed(place, client)
    assert (row.outcome, row.outcome_reason) == ("failed", "TypeError")


def test_an_inference_by_hand_can_say_how_it_ended(place: Place, collector: str) -> None:
    client = place.client(collector)
    with client.inference() as one:
        one.add({"age": 3}, prediction="cheap")
        one.end_as("fell_back", "the large model was busy")
    client.log_label(one.request_id, 1)
    assert client.flush()
    client.close()
    [row] = place.logged(FIELDS)
    assert (row.outcome, row.outcome_reason) == ("fell_back", "the large model was busy")
    assert place.rows("select count(*) from label where model_id = :model") == [(1,)]
