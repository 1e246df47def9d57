"""The published tables of the synthetic car loan and car price data sets, to the digits printed.

NannyML 0.13.1, tutorials on estimated performance and drift; own code on the same rows. Scores are
sorted by the raw score with calibrated mass, the calibrator is isotonic with clipped ends.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import ks_2samp

from monitor.checks.auc import AucEstimate, delong
from monitor.checks.drift.kolmogorov_smirnov import KolmogorovSmirnov
from monitor.checks.estimation.binary import estimate
from monitor.checks.estimation.calibrator import Calibrator, LabelledScores, fit_calibrator
from monitor.checks.estimation.direct_loss import expected_losses, fit_loss_model
from monitor.checks.estimation.served import ServedScores
from monitor.measurement import Measured
from tests.unit.checks.estimation.published import CHUNK, REFERENCE, car_loan, car_prices
from tests.unit.checks.factories import numbers, quantile_cells

CBPE_AUC = (
    *(0.970744, 0.971011, 0.971407, 0.971091, 0.971123),
    *(0.961090, 0.961825, 0.961073, 0.962533, 0.961316),
)
REALISED_AUC = (
    *(0.970962, 0.970248, 0.976282, 0.967721, 0.969886),
    *(0.960050, 0.958530, 0.959041, 0.963094, 0.957556),
)
JENSEN_SHANNON = (
    *(0.031661, 0.030011, 0.031129, 0.029464, 0.030809),
    *(0.028681, 0.043628, 0.029253, 0.030628, 0.028330),
)
KS_NANNYML = (
    *(0.01576, 0.01268, 0.01734, 0.01280, 0.01918, 0.00824, 0.01058, 0.01002, 0.01068, 0.00680),
)
KS_EXACT = (
    *(0.01576, 0.01272, 0.01746, 0.01282, 0.01922, 0.00824, 0.01068, 0.01002, 0.01070, 0.00700),
)
REALISED_RMSE = (
    *(1069.1722, 1067.6459, 1062.4127, 1076.2368, 1060.3234),
    *(910.8180, 910.8751, 890.1049, 914.2849, 908.8100),
)
LIGHTGBM_RMSE = (
    *(1067.21, 1063.13, 1054.16, 1060.67, 1055.23),
    *(928.51, 928.92, 927.92, 930.43, 919.40),
)
DIGITS = 5.1e-7
UNCALIBRATED = Calibrator(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


@pytest.fixture(scope="module")
def calibrator() -> Calibrator:
    data = car_loan()
    reference = slice(0, REFERENCE)
    return fit_calibrator(LabelledScores.of_rows(data.score[reference], data.repaid[reference]))


def served(rows: slice) -> ServedScores:
    data = car_loan()
    return ServedScores.of_rows(data.score[rows], data.predicted[rows])


def realised_auc(rows: slice) -> float:
    return realised(rows).auc


def realised(rows: slice) -> AucEstimate:
    data = car_loan()
    percent = np.rint(data.score[rows] * 100).astype(np.int64)
    positives = np.bincount(percent, data.repaid[rows], 101).astype(np.int64)
    return delong(positives, np.bincount(percent, minlength=101) - positives)


def test_estimated_auc_of_every_chunk(calibrator: Calibrator) -> None:
    found = [estimate(served(car_loan().chunk(k)), calibrator)["auc"] for k in range(10)]
    assert found == pytest.approx(CBPE_AUC, abs=DIGITS)


def test_estimated_accuracy_of_the_first_two_chunks(calibrator: Calibrator) -> None:
    found = [estimate(served(car_loan().chunk(k)), calibrator)["accuracy"] for k in range(2)]
    assert found == pytest.approx([0.941792, 0.943321], abs=DIGITS)


def test_realised_auc_of_every_chunk() -> None:
    found = [realised_auc(car_loan().chunk(k)) for k in range(10)]
    assert found == pytest.approx(REALISED_AUC, abs=DIGITS)


def test_limits_of_the_published_alert_are_three_spreads_of_the_reference_chunks() -> None:
    found = [realised_auc(slice(k * CHUNK, (k + 1) * CHUNK)) for k in range(10)]
    reach = 3 * np.std(found)
    limits = (np.mean(found) - reach, np.mean(found) + reach)
    assert limits == pytest.approx((0.963317, 0.978660), abs=DIGITS)


def test_delong_tells_the_spread_of_chunks_where_the_published_error_is_a_third_too_small() -> None:
    found = [realised(slice(k * CHUNK, (k + 1) * CHUNK)) for k in range(10)]
    assert np.std([one.auc for one in found], ddof=1) == pytest.approx(0.00270, abs=5e-5)
    assert np.mean([one.standard_error for one in found]) == pytest.approx(0.00262, abs=5e-5)


def test_uncalibrated_scores_miss_the_realised_auc_after_drift() -> None:
    found = [estimate(served(car_loan().chunk(k)), UNCALIBRATED)["auc"] for k in range(10)]
    assert found[0] == pytest.approx(0.9735, abs=5e-5)
    assert found[-1] == pytest.approx(0.9453, abs=5e-5)
    after_drift = np.abs(np.array(found) - REALISED_AUC)[5:]
    assert after_drift.max() == pytest.approx(0.0162, abs=5e-5)
    calibrated = np.abs(np.array(CBPE_AUC) - REALISED_AUC)[5:]
    assert calibrated.max() < 0.004


def test_jensen_shannon_of_debt_to_income() -> None:
    # 23 Doane bins of the reference; what lies beyond them is a bin of its own; base 2.
    values = car_loan().debt_to_income
    edges = np.histogram_bin_edges(values[:REFERENCE], "doane")
    assert len(edges) - 1 == 23
    bounds = np.concatenate((edges[:1], edges[1:-1], [np.nextafter(edges[-1], np.inf)]))

    def shares(rows: slice) -> np.ndarray:
        place = np.searchsorted(bounds, values[rows], "right")
        counts = np.bincount(place, minlength=25)
        return np.append(counts[1:24], counts[0] + counts[24]) / len(values[rows])

    reference = shares(slice(0, REFERENCE))
    found = [jensenshannon(reference, shares(car_loan().chunk(k)), base=2) for k in range(10)]
    assert found == pytest.approx(JENSEN_SHANNON, abs=DIGITS)


def test_kolmogorov_smirnov_of_debt_to_income() -> None:
    """Counted in cells the distance can only be shorter than the exact one, as NannyML's is too."""
    values = car_loan().debt_to_income
    reference, cells = values[:REFERENCE], quantile_cells(values[:REFERENCE])
    fitted = KolmogorovSmirnov().fit(numbers(reference, cells))
    for k in range(10):
        window = values[car_loan().chunk(k)]
        exact = ks_2samp(reference, window).statistic
        assert exact == pytest.approx(KS_EXACT[k], abs=5.1e-6)
        assert KS_NANNYML[k] <= KS_EXACT[k]
        counted = KolmogorovSmirnov().compare(fitted, numbers(window, cells))
        assert isinstance(counted, Measured)
        assert exact - 0.01 <= counted.value <= exact + 1e-12


def test_concept_change_is_not_seen(calibrator: Calibrator) -> None:
    # A fifth of the labels of cars above 30,000 turned round from row 25,000 of the later data on.
    data = car_loan()
    later = slice(REFERENCE + 25_000, 2 * REFERENCE)
    rng = np.random.default_rng(0)
    dear = data.car_value[later] > 30_000
    turned = dear & (rng.random(len(dear)) < 0.2)
    before = data.repaid[later]
    after = np.where(turned, 1 - before, before)
    predicted = data.predicted[later]
    assert np.mean(predicted == before) == pytest.approx(0.9158, abs=5e-5)
    assert np.mean(predicted == after) == pytest.approx(0.7852, abs=0.006)  # by chance of the draw
    assert estimate(served(later), calibrator)["accuracy"] == pytest.approx(0.9118, abs=5e-5)


def test_realised_error_of_car_prices() -> None:
    data = car_prices()
    errors = data.predicted - data.price
    found = [float(np.sqrt(np.mean(errors[data.chunk(k)] ** 2))) for k in range(10)]
    assert found == pytest.approx(REALISED_RMSE, abs=5.1e-5)


def test_direct_loss_is_near_the_published_estimates_of_another_learner() -> None:
    # The published ones are LightGBM's on 60,000 rows; these are scikit-learn's trees on 10,000.
    data = car_prices()
    reference = slice(0, data.n_reference, 2)
    model = fit_loss_model(
        data.features[reference], data.predicted[reference], data.price[reference], seed=1
    )
    found = [
        expected_losses(model, data.features[rows], data.predicted[rows], data.size)["rmse"].value
        for rows in (data.chunk(k) for k in range(10))
    ]
    assert found == pytest.approx(LIGHTGBM_RMSE, rel=0.025)
    assert found == pytest.approx(REALISED_RMSE, rel=0.06)
    assert max(found[5:]) < min(found[:5])
