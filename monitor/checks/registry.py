"""Every check and method that measurements may carry, with unit, direction and what it reads.

A new method is a line here; contract tests, rules and pages read this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from monitor.checks.drift.registry import METHODS
from monitor.checks.operation import COLD_METHODS, GOOD_SHARES, SHARES
from monitor.checks.promise.baseline import VERSION as PROMISE_VERSION
from monitor.checks.serving import PERCENTILES
from monitor.checks.violations import ANY, method_of
from monitor.measurement import Direction
from monitor.profiles.part import PartKind
from monitor.records import ViolationReason


class CheckName(StrEnum):
    """The questions that are asked."""

    DRIFT = "drift"
    MISSING = "missing"
    VIOLATIONS = "violations"
    QUALITY = "quality"
    QUALITY_CHANGE = "quality_change"
    LABEL_FEED = "label_feed"
    CALIBRATION = "calibration"
    ESTIMATE = "estimate"
    GROUPS = "groups"
    GOLDEN = "golden"
    SHADOW = "shadow"
    SIGNAL = "signal"
    CONFIDENCE = "confidence"
    SERVING = "serving"
    LANGUAGE = "language"
    COST = "cost"
    CASCADE = "cascade"
    CONTRAST = "contrast"
    INCIDENT = "incident"


@dataclass(frozen=True)
class CheckEntry:
    """One method of one check. `per_column`: its subject names a column."""

    check: CheckName
    method: str
    unit: str
    direction: Direction
    parts: frozenset[PartKind]
    per_column: bool = False
    version: int = 1


_UP, _DOWN, _BOTH = Direction.HIGHER_IS_WORSE, Direction.LOWER_IS_WORSE, Direction.TWO_SIDED
_COLUMNS = frozenset({PartKind.COLUMNS})
_PAIRS = frozenset({PartKind.PAIRS})
_LABELS = frozenset({PartKind.LABELS})
_SERVING = frozenset({PartKind.SERVING})
_NONE: frozenset[PartKind] = frozenset()


def _entries(
    check: CheckName,
    parts: frozenset[PartKind],
    *rows: tuple[str, str, Direction],
    version: int = 1,
) -> tuple[CheckEntry, ...]:
    return tuple(
        CheckEntry(check, name, unit, bad, parts, version=version) for name, unit, bad in rows
    )


def _column_entries(
    check: CheckName, parts: frozenset[PartKind], *rows: tuple[str, str, Direction]
) -> tuple[CheckEntry, ...]:
    return tuple(CheckEntry(check, name, unit, bad, parts, True) for name, unit, bad in rows)


_DRIFT = tuple(
    CheckEntry(CheckName.DRIFT, m.name, m.unit, m.direction, _COLUMNS, True, m.version)
    for m in METHODS
)
_VIOLATIONS = (ANY, *(method_of(reason) for reason in ViolationReason))

CHECKS: tuple[CheckEntry, ...] = (
    *_DRIFT,
    *_column_entries(CheckName.MISSING, _COLUMNS, ("share", "share", _UP)),
    *_column_entries(
        CheckName.VIOLATIONS, _COLUMNS, *((name, "share", _UP) for name in _VIOLATIONS)
    ),
    CheckEntry(CheckName.DRIFT, "correlation", "correlation", _UP, _PAIRS, False, PROMISE_VERSION),
    CheckEntry(CheckName.DRIFT, "classifier", "auc", _UP, frozenset(), False, PROMISE_VERSION),
    CheckEntry(CheckName.DRIFT, "seasonal", "psi", _UP, _COLUMNS, True, PROMISE_VERSION),
    *_column_entries(CheckName.CONTRAST, _COLUMNS, ("within_hours", "psi", _UP)),
    CheckEntry(CheckName.INCIDENT, "open", "columns", _UP, _COLUMNS, True, PROMISE_VERSION),
    *_entries(  # version 2: limits by entity groups where these are wider
        CheckName.QUALITY,
        _LABELS,
        ("accuracy", "share", _DOWN),
        ("precision", "share", _DOWN),
        ("recall", "share", _DOWN),
        ("f1", "share", _DOWN),
        ("auc", "share", _DOWN),
        ("log_loss", "nats", _UP),
        ("brier", "squared_probability", _UP),
        ("mae", "label", _UP),
        ("rmse", "label", _UP),
        ("mean_error", "label", _BOTH),
        ("r2", "share", _DOWN),
        ("macro_f1", "share", _DOWN),
        version=2,
    ),
    *_entries(
        CheckName.QUALITY,
        _LABELS,
        ("label_coverage", "share", _DOWN),
        ("macro_auc", "share", _DOWN),
        ("confidence_auc", "share", _DOWN),
        ("relative_error", "share", _UP),
        ("mape", "share", _UP),
        ("ndcg_10", "share", _DOWN),
        ("mrr", "share", _DOWN),
        ("recall_1", "share", _DOWN),
        ("recall_10", "share", _DOWN),
        ("accuracy_weighted", "share", _DOWN),
        ("precision_weighted", "share", _DOWN),
        ("recall_weighted", "share", _DOWN),
        ("brier_weighted", "squared_probability", _UP),
        ("mae_weighted", "label", _UP),
        ("accuracy_lowest", "share", _DOWN),
        ("accuracy_highest", "share", _DOWN),
        ("precision_lowest", "share", _DOWN),
        ("precision_highest", "share", _DOWN),
        ("recall_lowest", "share", _DOWN),
        ("recall_highest", "share", _DOWN),
    ),
    *_entries(
        CheckName.QUALITY_CHANGE,
        _LABELS,
        ("accuracy", "share", _DOWN),
        ("precision", "share", _DOWN),
        ("recall", "share", _DOWN),
        ("auc", "share", _DOWN),
        ("brier", "squared_probability", _UP),
        ("mae", "label", _UP),
        ("rmse", "label", _UP),
    ),
    *_entries(
        CheckName.LABEL_FEED,
        frozenset(),
        ("silence", "hours", _UP),
        ("arrival_ratio", "ratio", _DOWN),
    ),
    *_entries(  # version 2: limits by inversion of a noncentral chi-square
        CheckName.CALIBRATION, _LABELS, ("debiased_error", "probability", _UP), version=2
    ),
    *_entries(
        CheckName.CALIBRATION,
        _LABELS,
        ("expected_error", "probability", _UP),
        ("miscalibration", "squared_probability", _UP),
        ("cox_slope", "ratio", _BOTH),
        ("cox_intercept", "logit", _BOTH),
        ("in_the_large", "logit", _BOTH),
        ("spiegelhalter", "z", _BOTH),
        ("hosmer_lemeshow", "chi_square", _UP),
        ("combined_test", "p_value", _DOWN),
        ("change", "probability", _BOTH),
        ("change_test", "p_value", _DOWN),
    ),
    *_column_entries(  # the class stands in the place of the column
        CheckName.CALIBRATION,
        _LABELS,
        ("class_error", "probability", _UP),
        ("class_test", "p_value", _DOWN),
    ),
    *_column_entries(
        CheckName.QUALITY,
        _LABELS,
        ("class_recall", "share", _DOWN),
        ("class_precision", "share", _DOWN),
        ("class_auc", "share", _DOWN),
    ),
    *_entries(
        CheckName.ESTIMATE,
        _LABELS,
        ("accuracy", "share", _DOWN),
        ("f1", "share", _DOWN),
        ("brier", "squared_probability", _UP),
        ("auc", "share", _DOWN),
        ("macro_f1", "share", _DOWN),
        ("mae", "label", _UP),
        ("rmse", "label", _UP),
        ("accuracy_error", "share", _BOTH),
        ("f1_error", "share", _BOTH),
        ("brier_error", "squared_probability", _BOTH),
        ("auc_error", "share", _BOTH),
        ("macro_f1_error", "share", _BOTH),
        ("mae_error", "label", _BOTH),
        ("rmse_error", "label", _BOTH),
    ),
    *_column_entries(
        CheckName.GROUPS,
        _LABELS,
        ("selection_ratio", "ratio", _DOWN),
        ("true_positive_gap", "share", _BOTH),
        ("false_positive_gap", "share", _BOTH),
        ("accuracy_gap", "share", _DOWN),
        ("calibration_gap", "probability", _BOTH),
        ("adjusted_gap", "share", _BOTH),
    ),
    *_entries(CheckName.GROUPS, _LABELS, ("worst_group", "share", _UP)),
    *_entries(
        CheckName.CONFIDENCE,
        _LABELS,
        ("mean_score", "probability", _BOTH),
        ("near_threshold", "share", _UP),
        ("entropy", "bits", _BOTH),
    ),
    *_column_entries(  # bad is what the contract says of the signal
        CheckName.SIGNAL,
        frozenset(),
        ("event_rate", "share", _BOTH),
        ("mean_rating", "rating", _BOTH),
        ("win_rate", "share", _BOTH),
        ("pass_rate", "share", _BOTH),
    ),
    *_column_entries(CheckName.CONFIDENCE, _COLUMNS, ("mean_confidence", "probability", _BOTH)),
    *_column_entries(
        CheckName.SERVING,
        _SERVING,
        ("p50", "column", _UP),
        ("p95", "column", _UP),
        ("p99", "column", _UP),
        *((f"{word}_{p}", "column", _UP) for word in COLD_METHODS for p in PERCENTILES),
        ("saves_mean", "ms", _BOTH),
        ("saves_p95", "ms", _BOTH),
        ("on_path_share", "share", _BOTH),
    ),
    *_entries(
        CheckName.SERVING,
        _SERVING,
        ("error_rate", "share", _UP),
        ("abstention_rate", "share", _UP),
        ("request_rate", "per_second", _BOTH),
        *((name, "share", _DOWN if name in GOOD_SHARES else _UP) for name in SHARES),
        ("retry_share", "share", _UP),
        ("cold_start_share", "share", _UP),
        ("goodput", "per_second", _DOWN),
        ("objective_missed", "share", _UP),
        *((f"path_{p}", "ms", _UP) for p in PERCENTILES),
    ),
    *_entries(
        CheckName.LANGUAGE,
        _SERVING,
        ("cached_token_share", "share", _DOWN),
        ("draft_acceptance", "share", _DOWN),
        ("accepted_length", "tokens", _DOWN),
        ("reasoning_token_share", "share", _BOTH),
        ("refusal_rate", "share", _UP),
        ("empty_output_rate", "share", _UP),
        ("repeated_output_rate", "share", _UP),
        ("truncated_rate", "share", _UP),
        ("policy_hit_rate", "share", _UP),
        ("inter_token_p50", "ms", _UP),
        ("inter_token_p95", "ms", _UP),
        ("inter_token_p99", "ms", _UP),
        ("user_tokens_p5", "per_second", _DOWN),
        ("user_tokens_p50", "per_second", _DOWN),
        ("user_tokens_overall_p5", "per_second", _DOWN),
        ("user_tokens_overall_p50", "per_second", _DOWN),
        ("system_tokens", "per_second", _BOTH),
    ),
    *_column_entries(  # where the time begins, or the reason, stands in the place of the column
        CheckName.LANGUAGE,
        _SERVING,
        ("first_token_p50", "ms", _UP),
        ("first_token_p95", "ms", _UP),
        ("first_token_p99", "ms", _UP),
        ("finish_reason_share", "share", _BOTH),
    ),
    *_entries(
        CheckName.COST,
        _SERVING,
        ("per_request", "currency", _UP),
        ("per_success", "currency", _UP),
        ("energy_per_request", "J", _UP),
        ("energy_per_success", "J", _UP),
    ),
    *_column_entries(  # the route stands in the place of the column
        CheckName.CASCADE, _SERVING, ("route_share", "share", _BOTH)
    ),
    *_entries(
        CheckName.CASCADE,
        _SERVING,
        ("escalated", "share", _BOTH),
        ("threshold_kept", "share", _DOWN),
    ),
    *_entries(
        CheckName.GOLDEN,
        _NONE,
        ("pass_rate", "share", _DOWN),
        ("regressions", "cases", _UP),
        ("max_difference", "column", _UP),
    ),
    *_entries(
        CheckName.SHADOW,
        _NONE,
        ("agreement", "share", _DOWN),
        ("max_difference", "column", _UP),
        ("beyond_tolerance", "share", _UP),
        ("accuracy_difference", "share_difference", _DOWN),
        ("loss_difference", "loss", _UP),
        ("unpaired", "share", _UP),
    ),
)


def entry(check: str, method: str) -> CheckEntry:
    """The entry of a check and method; KeyError when it is not registered."""
    for known in CHECKS:
        if known.check == check and known.method == method:
            return known
    raise KeyError(f"{check}/{method}")
