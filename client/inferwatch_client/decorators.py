"""A decorator that logs each call of a function: plain, async, or one that yields its answer."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import Any, TypeVar, cast

from inferwatch_client.client import Client
from inferwatch_client.inference import STANDARD_TIMES, Inference, TimeColumns

Columns = Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
Function = TypeVar("Function", bound=Callable[..., Any])
_PLAIN = (bool, int, float, str)


def watched(
    client: Client,
    columns: Columns | None = None,
    *,
    answer: str = "prediction",
    times: TimeColumns = STANDARD_TIMES,
    keep_parts: int = 0,
    model: str | None = None,
    leg: str | None = None,
) -> Callable[[Function], Function]:
    """Log each call of the function, with its latency and its outcome.

    `columns(arguments, answer)` gives what to log, from the arguments by name and the answer.
    Without it, arguments that are numbers, texts, booleans or mappings of such are logged under
    their names, and so is the answer, under `answer` if it is a single value. A function that
    yields is a stream: its answer is the list of its first `keep_parts` parts. Exceptions are
    logged as outcomes and go on; they have no answer, so `columns` is given None.
    """

    def decorate(function: Function) -> Function:
        watch = _Watch(
            function,
            columns or functools.partial(plain_columns, name=answer),
            functools.partial(Inference, client, times=times, model=model, leg=leg),
            keep_parts,
        )
        return cast(Function, functools.wraps(function)(watch.wrapper()))

    return decorate


def plain_columns(arguments: Mapping[str, Any], answer: Any, *, name: str = "") -> dict[str, Any]:
    """Arguments and answer as far as they are plain values or mappings of such."""
    found: dict[str, Any] = {}
    for key, value in (*arguments.items(), (name, answer)):
        if isinstance(value, Mapping):
            found.update({str(inner): each for inner, each in value.items() if _is_plain(each)})
        elif _is_plain(value):
            found[key] = value
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or type(value).__module__ == "numpy"


class _Watch:
    """Wraps one function according to its kind."""

    def __init__(
        self,
        function: Callable[..., Any],
        columns: Columns,
        begin: Callable[[], Inference],
        keep_parts: int,
    ) -> None:
        self._function = function
        self._columns = columns
        self._begin = begin
        self._keep_parts = keep_parts
        self._signature = inspect.signature(function)

    def wrapper(self) -> Callable[..., Any]:
        """The function to put in place of the wrapped one."""
        if inspect.isasyncgenfunction(self._function):
            return self._async_stream()
        if inspect.isgeneratorfunction(self._function):
            return self._stream()
        if inspect.iscoroutinefunction(self._function):
            return self._async_call()
        return self._call()

    def _call(self) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            inference = self._begin()
            try:
                answer = self._function(*given, **named)
            except BaseException as error:
                self._finish(inference, given, named, error=error)
                raise
            self._finish(inference, given, named, answer)
            return answer

        return call

    def _async_call(self) -> Callable[..., Any]:
        async def call(*given: Any, **named: Any) -> Any:
            inference = self._begin()
            try:
                answer = await self._function(*given, **named)
            except BaseException as error:
                self._finish(inference, given, named, error=error)
                raise
            self._finish(inference, given, named, answer)
            return answer

        return call

    def _stream(self) -> Callable[..., Any]:
        def stream(*given: Any, **named: Any) -> Generator[Any, Any, Any]:
            inference, kept = self._begin(), _Parts(self._keep_parts)
            try:
                inner = self._function(*given, **named)
                result = yield from _Tap(inner, inference, kept)
            except BaseException as error:
                self._finish(inference, given, named, kept.parts, error)
                raise
            self._finish(inference, given, named, kept.parts)
            return result

        return stream

    def _async_stream(self) -> Callable[..., Any]:
        async def stream(*given: Any, **named: Any) -> AsyncGenerator[Any, Any]:
            inference, kept = self._begin(), _Parts(self._keep_parts)
            inner = self._function(*given, **named)
            step = inner.asend(None)
            try:
                while True:
                    try:
                        part = await step
                    except StopAsyncIteration:
                        break
                    inference.part()
                    kept.add(part)
                    try:
                        sent = yield part
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:  # noqa: BLE001 - it is the wrapped function's
                        step = inner.athrow(error)
                    else:
                        step = inner.asend(sent)
            except BaseException as error:
                self._finish(inference, given, named, kept.parts, error)
                raise
            self._finish(inference, given, named, kept.parts)

        return stream

    def _finish(
        self,
        inference: Inference,
        given: tuple[Any, ...],
        named: dict[str, Any],
        answer: Any = None,
        error: BaseException | None = None,
    ) -> None:
        try:
            bound = self._signature.bind(*given, **named)
            bound.apply_defaults()
            inference.add(self._columns(bound.arguments, answer))
        except Exception as problem:  # noqa: BLE001 - a mistake in `columns` is not the model's
            if error is None:
                inference.drop("columns_failed", type(problem).__name__)
                return
        if error is not None:
            inference.fail(error)
        inference.finish()


class _Parts:
    """The first parts of a stream."""

    def __init__(self, most: int) -> None:
        self.parts: list[Any] = []
        self._most = most

    def add(self, part: Any) -> None:
        if len(self.parts) < self._most:
            self.parts.append(part)


class _Tap:
    """A generator that notes each part of another; `yield from` hands everything through."""

    def __init__(self, inner: Generator[Any, Any, Any], inference: Inference, kept: _Parts) -> None:
        self._inner = inner
        self._inference = inference
        self._kept = kept

    def __iter__(self) -> _Tap:
        return self

    def __next__(self) -> Any:
        return self._note(next(self._inner))

    def send(self, value: Any) -> Any:
        return self._note(self._inner.send(value))

    def throw(self, *error: Any) -> Any:
        return self._note(self._inner.throw(*error))

    def close(self) -> None:
        self._inner.close()

    def _note(self, part: Any) -> Any:
        self._inference.part()
        self._kept.add(part)
        return part
