"""What was asked of the router, and how many requests the deployment concerned answered.

Both are read from the database: actions as they were recorded, shares from profiles of the requests
that arrived. The router's own settings are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.actions import ActionState
from monitor.demo.summary import OrderTold, ResponsesTold, ShareTold
from monitor.profiles.part import PartKind
from monitor.records import LIVE_LEG
from monitor.store.actions import StoredAction, list_actions
from monitor.store.models import deployment_names
from monitor.store.profile_rows import WHOLE
from monitor.store.tables import profile
from monitor.windows import Grain, Window

BEFORE, REDUCED, RESTORED = "before", "reduced", "restored"


def responses_told(
    connection: Connection, project_id: int, model_id: int, replayed: Window
) -> ResponsesTold:
    """All actions, the oldest first, and shares around the first that was carried out."""
    actions = list_actions(connection, project_id, limit=1_000)[::-1]
    names = deployment_names(connection, project_id, model_id)
    orders = tuple(_order(each, names) for each in actions)
    first = next((each for each in actions if _moved_traffic(each)), None)
    if first is None:
        return ResponsesTold(orders)
    back = next((each for each in actions if _is_return_of(each, first)), None)
    shares = _shares(connection, project_id, model_id, first, back, replayed)
    return ResponsesTold(orders, _names(first.deployments, names), shares)


def _moved_traffic(action: StoredAction) -> bool:
    done = action.state in (ActionState.DONE, ActionState.RETURNED)
    return done and not action.dry_run and not action.drill and action.returns is None


def _is_return_of(action: StoredAction, first: StoredAction) -> bool:
    return action.returns == first.number and action.state is ActionState.DONE


def _shares(
    connection: Connection,
    project_id: int,
    model_id: int,
    first: StoredAction,
    back: StoredAction | None,
    replayed: Window,
) -> tuple[ShareTold, ...]:
    """From the first hour with a request of the deployments on, up to the last with any request."""
    numbers, start = first.deployments, profile.c.window_start
    hours = _live_hours(project_id, model_id, replayed)
    mine = profile.c.deployment_id.in_(numbers)
    began, newest = connection.execute(
        sa.select(sa.func.min(start).filter(mine), sa.func.max(start)).where(*hours)
    ).one()
    if began is None:
        raise AssertionError("an action names deployments that answered requests")
    edges = [began, first.requested_at, *(() if back is None else (back.requested_at,))]
    last = newest + Grain.HOUR.length
    edges.append(last if last > edges[-1] else replayed.end)
    named = zip((BEFORE, REDUCED, RESTORED), pairwise(edges), strict=False)
    return tuple(
        _share(connection, project_id, model_id, name, Window(begin, end), numbers)
        for name, (begin, end) in named
        if begin < end  # an order that runs out at the very end of the replay restores nothing
    )


def _share(
    connection: Connection,
    project_id: int,
    model_id: int,
    name: str,
    span: Window,
    numbers: Sequence[int],
) -> ShareTold:
    mine = profile.c.deployment_id.in_(numbers)
    row = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(profile.c.n), 0),
            sa.func.coalesce(sa.func.sum(profile.c.n).filter(mine), 0),
        ).where(*_live_hours(project_id, model_id, span))
    ).one()
    return ShareTold(name, span.start, span.end, int(row[0]), int(row[1]))


def _live_hours(project_id: int, model_id: int, span: Window) -> tuple[sa.ColumnElement[bool], ...]:
    row = profile.c
    return (
        row.project_id == project_id,
        row.model_id == model_id,
        row.part == int(PartKind.SERVING),
        row.grain == int(Grain.HOUR),
        row.segment_id == WHOLE,
        row.binning_id == 0,
        row.leg == LIVE_LEG,
        row.window_start >= span.start,
        row.window_start < span.end,
    )


def _order(action: StoredAction, names: Mapping[int, str]) -> OrderTold:
    return OrderTold(
        number=action.number,
        at=action.requested_at,
        response=action.response,
        asked_by=action.requested_by,
        deployments=_names(action.deployments, names),
        to_percent=action.to_percent,
        dry_run=action.dry_run,
        returns=action.returns,
        state=action.state.value,
        said=action.detail or action.text,
    )


def _names(numbers: Sequence[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(names.get(number, str(number)) for number in numbers)
