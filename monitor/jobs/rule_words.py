"""The checks and methods that readings can carry: what rules may name."""

from __future__ import annotations

from monitor.checks.registry import CHECKS
from monitor.jobs.conditions.base import CHECK
from monitor.jobs.conditions.registry import CONDITIONS

RULE_WORDS = {
    "check": sorted({CHECK, *(one.check.value for one in CHECKS)}),
    "method": sorted({*(one.method for one in CHECKS), *(one.method for one in CONDITIONS)}),
}
