"""Models, their contracts and their deployments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.contract import Contract
from monitor.contract_embedding import embedding_changes
from monitor.deployment import Tags
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.layout import Layout, extend
from monitor.store.tables import contract, deployment, model
from monitor.store.views import make_view, view_name

MAX_NEW_DEPLOYMENTS_A_DAY = 200
OVERFLOW_DIGEST = "overflow"


@dataclass(frozen=True)
class ModelContext:
    """A model as the working parts need it: its newest contract, layout and known deployments."""

    project_id: int
    model_id: int
    contract: Contract
    contract_version: int
    layout: Layout
    hash_key: bytes
    deployment_ids: frozenset[int]


def apply_contract(
    connection: Connection, project_id: int, wanted: Contract, *, source: str, by: str
) -> int:
    """Store a contract as the model's next version and refresh its readable view; the version.

    The same contract again changes nothing and returns the version it has, unless columns of its
    types have got other slots since: then rows of the new version have them.
    """
    model_id = _ensure_model(connection, project_id, wanted)
    newest = _newest(connection, project_id, model_id)
    body = wanted.model_dump(mode="json")
    held = Layout.from_json(newest.layout) if newest is not None else None
    layout = extend(held, wanted)
    # Compared as contracts: a key that a newer program knows and nobody wrote changes nothing.
    in_force = Contract.model_validate(newest.body) if newest is not None else None
    if in_force is not None:
        _refuse_other_embeddings(in_force, wanted)
    same = in_force == wanted
    if newest is not None and same and layout == held:
        return int(newest.version)
    version = 1 if newest is None else int(newest.version) + 1
    connection.execute(
        sa.insert(contract).values(
            project_id=project_id,
            model_id=model_id,
            version=version,
            body=body,
            source=source,
            layout=layout.to_json(),
            applied_by=by,
        )
    )
    make_view(connection, project_id, model_id, wanted, layout)
    return version


def _refuse_other_embeddings(in_force: Contract, wanted: Contract) -> None:
    before, after = (
        {column.name: column.embedding for column in each.columns} for each in (in_force, wanted)
    )
    problems = embedding_changes(before, after)
    if problems:
        raise ConfigurationError("contract", [Problem(wanted.model, text) for text in problems])


def model_context(
    connection: Connection, project_id: int, name: str, hash_key: bytes
) -> ModelContext | None:
    """Everything intake and jobs need to know of a model, None when there is no such model."""
    row = connection.execute(
        sa.select(model.c.id).where(model.c.project_id == project_id, model.c.name == name)
    ).one_or_none()
    newest = _newest(connection, project_id, row.id) if row is not None else None
    if row is None or newest is None:
        return None
    known = sa.select(deployment.c.id).where(
        deployment.c.project_id == project_id, deployment.c.model_id == row.id
    )
    return ModelContext(
        project_id=project_id,
        model_id=row.id,
        contract=Contract.model_validate(newest.body),
        contract_version=newest.version,
        layout=Layout.from_json(newest.layout),
        hash_key=hash_key,
        deployment_ids=frozenset(connection.scalars(known)),
    )


def model_number(connection: Connection, project_id: int, name: str) -> int:
    """The model's number; UnknownSubject names the models there are."""
    names = {
        row.name: row.id
        for row in connection.execute(
            sa.select(model.c.name, model.c.id).where(model.c.project_id == project_id)
        )
    }
    if name not in names:
        raise UnknownSubject(
            f"no model {name!r}; there are: {', '.join(sorted(names)) or 'none yet'}"
        )
    return int(names[name])


def model_names(connection: Connection, project_id: int) -> list[str]:
    """Names of all models of a project, sorted."""
    query = sa.select(model.c.name).where(model.c.project_id == project_id).order_by(model.c.name)
    return list(connection.scalars(query))


def names_of_models(connection: Connection, project_id: int) -> dict[str, str]:
    """Model names by every name they go by: their own, and `also_known_as` of their contract."""
    own = model_names(connection, project_id)
    found: dict[str, str] = {}
    for name in own:
        newest = _newest(connection, project_id, model_number(connection, project_id, name))
        for other in newest.body.get("also_known_as", ()) if newest is not None else ():
            found.setdefault(other, name)
    return found | {name: name for name in own}


def model_numbers_by_any_name(connection: Connection, project_id: int) -> dict[str, int]:
    """Model numbers by every name they go by."""
    named = names_of_models(connection, project_id)
    numbers = {name: model_number(connection, project_id, name) for name in set(named.values())}
    return {name: numbers[own] for name, own in named.items()}


def register_deployment(
    connection: Connection,
    project_id: int,
    model_id: int,
    tags: Tags,
    name: str | None,
    now: datetime,
) -> tuple[int, bool]:
    """The deployment's number and whether it is new. The same tags are always the same deployment.

    Beyond MAX_NEW_DEPLOYMENTS_A_DAY new ones a day, all further tags share one overflow deployment.
    """
    key = (deployment.c.project_id == project_id, deployment.c.model_id == model_id)
    known = connection.scalar(
        sa.select(deployment.c.id).where(*key, deployment.c.digest == tags.digest())
    )
    if known is not None:
        return int(known), False
    recent = connection.scalar(
        sa.select(sa.func.count()).where(*key, deployment.c.first_seen_at > now - timedelta(days=1))
    )
    values: dict[str, Any] = {"digest": tags.digest(), "tags": tags.as_dict(), "name": name}
    if (recent or 0) >= MAX_NEW_DEPLOYMENTS_A_DAY:
        values = {"digest": OVERFLOW_DIGEST, "tags": {}, "name": None, "overflow": True}
    statement = insert(deployment).values(
        project_id=project_id, model_id=model_id, first_seen_at=now, **values
    )
    made = connection.scalar(statement.on_conflict_do_nothing().returning(deployment.c.id))
    if made is not None:
        return int(made), True
    found = connection.scalar(
        sa.select(deployment.c.id).where(*key, deployment.c.digest == values["digest"])
    )
    if found is None:
        raise UnknownSubject(
            f"the deployment name {name!r} is taken by other tags; choose another name"
        )
    return int(found), False


def deployment_tags(connection: Connection, project_id: int, model_id: int) -> dict[int, Tags]:
    """Tags of all deployments of a model, by number."""
    rows = connection.execute(
        sa.select(deployment.c.id, deployment.c.tags).where(
            deployment.c.project_id == project_id, deployment.c.model_id == model_id
        )
    )
    return {row.id: Tags.of(row.tags) for row in rows}


def deployment_names(connection: Connection, project_id: int, model_id: int) -> dict[int, str]:
    """Names of the deployments that have one, by number."""
    rows = connection.execute(
        sa.select(deployment.c.id, deployment.c.name).where(
            deployment.c.project_id == project_id, deployment.c.model_id == model_id
        )
    )
    return {row.id: row.name for row in rows if row.name}


def _ensure_model(connection: Connection, project_id: int, wanted: Contract) -> int:
    """The model's number. A model that was retired is in use again with its contract."""
    _refuse_shared_view(connection, project_id, wanted.model)
    _refuse_shared_names(connection, project_id, wanted)
    facts = {"owner": wanted.owner, "purpose": wanted.purpose, "risk_tier": wanted.risk_tier.value}
    statement = insert(model).values(project_id=project_id, name=wanted.model, **facts)
    statement = statement.on_conflict_do_update(
        index_elements=["project_id", "name"],
        set_={**facts, "retired_at": None, "retired_by": None},
    )
    return int(connection.scalar(statement.returning(model.c.id)))


def _refuse_shared_view(connection: Connection, project_id: int, name: str) -> None:
    others = [one for one in model_names(connection, project_id) if one != name]
    taken = [one for one in others if view_name(one) == view_name(name)]
    if taken:
        what = f"{name!r} and the model {taken[0]!r} would share the view {view_name(name)}"
        raise ConfigurationError("contract", [Problem("model", f"{what}; choose another name")])


def _refuse_shared_names(connection: Connection, project_id: int, wanted: Contract) -> None:
    held = names_of_models(connection, project_id)
    problems = [
        Problem("also_known_as", f"{name!r} is a name of the model {held[name]!r} already")
        for name in wanted.also_known_as
        if held.get(name, wanted.model) != wanted.model
    ]
    if problems:
        raise ConfigurationError("contract", problems)


def _newest(connection: Connection, project_id: int, model_id: int) -> Any:
    return connection.execute(
        sa.select(contract)
        .where(contract.c.project_id == project_id, contract.c.model_id == model_id)
        .order_by(contract.c.version.desc())
        .limit(1)
    ).one_or_none()
