import jax
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from trilut import TrilutClassifier

# Small, so that the checks are soon done; 24 outputs can be shared by 2, 3, 4 and 6 classes.
QUICK = TrilutClassifier(layers=(24,), steps=60, batch=64, learning_rate=0.1)
NOT_EQUAL = {
    "check_sample_weight_equivalence_on_dense_data": "batches are drawn at random, and thresholds "
    "are fitted to samples without their weights"
}


@pytest.fixture(autouse=True)
def quick_and_complete(monkeypatch):
    # Without it, the check with arrays of another library is skipped.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    # Almost all time goes into compiling, for the shape of each check anew.
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@parametrize_with_checks([QUICK], expected_failed_checks=lambda estimator: NOT_EQUAL)
def test_check_estimator(estimator, check):
    check(estimator)
