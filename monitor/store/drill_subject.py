"""What a drill is about where its rule leaves that open: a real model and deployment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.responses import MOVES_TRAFFIC
from alerts.rules import Matcher, Rule
from monitor.store.live_share import live_counts
from monitor.store.models import deployment_names, model_names, model_number
from monitor.store.tables import project


def drill_subject(
    connection: Connection,
    project_id: int,
    config: AlertConfig,
    rule: Rule,
    given: Mapping[str, str],
) -> dict[str, str]:
    """Labels of a drill: those `given`, and project, model and deployment where they are not.

    The model is one that rule and response are about, else the first by name. Where traffic would
    move, the deployment is the one with the least of it.
    """
    name = connection.scalar(sa.select(project.c.name).where(project.c.id == project_id))
    labels = {"project": str(name), **given}
    response = next((each for each in config.responses if each.name == rule.response_name), None)
    automatic = response.automatic if response is not None else None
    matchers = (*rule.when, *(automatic.scope if automatic is not None else ()))
    names = model_names(connection, project_id)
    if "model" not in labels and names:
        fitting = [each for each in names if _fits(matchers, "model", each)]
        labels["model"] = (fitting or names)[0]
    if "deployment" in labels or labels.get("model") not in names:
        return labels
    if automatic is None or rule.response not in MOVES_TRAFFIC:
        return labels
    model_id = model_number(connection, project_id, labels["model"])
    counts = live_counts(connection, project_id, model_id)
    known = deployment_names(connection, project_id, model_id)
    fitting_numbers = [each for each in counts if _fits(matchers, "deployment", str(each))]
    if fitting_numbers:
        least = min(fitting_numbers, key=lambda each: (counts[each], each))
        labels["deployment"] = str(least)
        labels["deployment_name"] = known.get(least, str(least))
    return labels


def _fits(matchers: Iterable[Matcher], label: str, value: str) -> bool:
    return all(each.matches({label: value}) for each in matchers if each.label == label)
