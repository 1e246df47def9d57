"""The drift methods that are in use. A new one is a file and a line here."""

from __future__ import annotations

from monitor.checks.drift.base import DriftMethod
from monitor.checks.drift.chi_square import ChiSquare
from monitor.checks.drift.jensen_shannon import JensenShannon
from monitor.checks.drift.kolmogorov_smirnov import KolmogorovSmirnov
from monitor.checks.drift.psi import PopulationStability
from monitor.checks.drift.wasserstein import Wasserstein

METHODS: tuple[DriftMethod, ...] = (
    PopulationStability(),
    JensenShannon(),
    Wasserstein(),
    KolmogorovSmirnov(),
    ChiSquare(),
)
