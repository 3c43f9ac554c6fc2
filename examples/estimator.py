"""A scikit-learn estimator whose answers are those of a circuit: breast cancer, in a pipeline.

The estimator is chosen by cross-validation like any other, says where it does not know, and is then
written as Verilog.

Run: python examples/estimator.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split

from trilut import TrilutClassifier


def main() -> None:
    """Choose a setting, measure the circuit once, and write it as hardware."""
    data = load_breast_cancer()
    labels = data.target_names[data.target]
    x, x_test, y, y_test = train_test_split(
        data.data, labels, test_size=0.3, random_state=0, stratify=labels
    )
    circuit = TrilutClassifier(layers=(40,), thresholds=7, steps=300, class_weight="balanced")
    search = GridSearchCV(circuit, {"delta": [0.0, 0.5]}, cv=2).fit(x, y)
    best = search.best_estimator_
    print(f"chosen: delta {best.delta}, {best.netlist_.num_gates} gates")
    print(f"test accuracy {best.score(x_test, y_test):.1%}")

    # With a tenth of the measurements missing, it may say that it does not know.
    generator = np.random.default_rng(0)
    seen = np.where(generator.random(x_test.shape) < 0.1, np.nan, x_test)
    answers = best.set_params(abstain="unknown").predict(seen)
    known = answers != "unknown"
    right = np.mean(answers[known] == y_test[known])
    print(f"a tenth missing: {right:.1%} right of the {np.mean(known):.1%} that it answers")

    with TemporaryDirectory() as directory:
        design = best.to_verilog(Path(directory) / "rtl")
        print(f"{design.path.name}: {len(design.path.read_text().splitlines())} lines of Verilog")


if __name__ == "__main__":
    main()
