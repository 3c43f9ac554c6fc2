"""A scikit-learn estimator: tables in, a circuit out."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from trilut import interrupt
from trilut.app.budget import choose_layers, fill_budget, parse_budget, with_budget
from trilut.app.console import silent
from trilut.app.tune import search_settings
from trilut.arrays import as_weights, is_frame
from trilut.circuit.format import load, save
from trilut.circuit.head import Decisions
from trilut.circuit.netlist import Netlist
from trilut.data import Dataset
from trilut.errors import FormatError, ToolError, TrilutError
from trilut.measure.matching import frame_features
from trilut.training import TrainingConfig
from trilut.training.settings.tables import Effort, table_variants

if TYPE_CHECKING:
    from trilut.hdl import Design, HardwareOptions
    from trilut.report.synthesis import SynthesisReport
    from trilut.training import TrainingResult
    from trilut.verify import Verification

__all__ = ["TrilutClassifier"]

# With fewer samples, all are learned from: what so few say of the others is mostly chance.
_FEWEST_TO_HOLD_BACK = 50

# Parameters that are settings of the training; None stands for what suits the data.
_SETTINGS = (
    "recipe",
    "layers",
    "wiring",
    "thresholds",
    "spacing",
    "delta",
    "steps",
    "batch",
    "learning_rate",
)


# scikit-learn has no types.
class TrilutClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is a circuit: of boosted gates, or of ternary ones if settings say so.

    It is trained as by :func:`trilut.train` and answers as its Verilog does. A value may be missing
    (NaN).

    Parameters
    ----------
    effort : str
        How long to train, where ``steps`` does not say: ``quick``, ``normal``, or ``best`` to
        search for settings, too, by the accuracy on the samples that are held back.
    budget : str, optional
        A number of lookup tables that all of the design may take, such as ``1000lut4`` or
        ``2000lut6``; it chooses the number of gates.
    recipe, wiring, spacing : str, optional
        Settings of the training by these names. Left out, they are what suits the data, as for
        ``trilut train``.
    layers : sequence of int, optional
        Gates of each layer; the last a multiple of the number of classes.
    thresholds, steps, batch : int, optional
        More settings, as above.
    delta, learning_rate : float, optional
        More settings, as above.
    settings : mapping, optional
        All other settings, by their names.
    class_weight : mapping or "balanced", optional
        How much the samples of each class count.
    abstain : optional
        What :meth:`predict` answers where the circuit says that it does not know; by default it
        then answers the class with the highest score, the first of those that are equal.
    abstain_margin : int
        The circuit does not know where the best score is above the second by less than this.
    validation_fraction : float
        Share of the samples that are not learned from: they choose what is kept.
    n_jobs : int, optional
        How many trainings of a search run at a time, each in a process of its own; by default one.
    random_state : int, RandomState or None
        Where the seed of the split and of the training comes from.

    Attributes
    ----------
    netlist_ : Netlist
        The circuit.
    classes_ : array
        The labels, which rise.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str
        Their names, if they had any.
    columns_ : list of str or None
        The columns of the data frame, if it was trained on one; others are then taken by name.
    validation_score_ : float
        Accuracy of the circuit on the samples that were not learned from; of all, if there are too
        few to hold some back.
    """

    def __init__(
        self,
        *,
        effort: Effort = "normal",
        budget: str | None = None,
        recipe: str | None = None,
        layers: Sequence[int] | None = None,
        wiring: str | None = None,
        thresholds: int | None = None,
        spacing: str | None = None,
        delta: float | None = None,
        steps: int | None = None,
        batch: int | None = None,
        learning_rate: float | None = None,
        settings: Mapping[str, Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        abstain: Any = None,
        abstain_margin: int = 1,
        validation_fraction: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.effort = effort
        self.budget = budget
        self.recipe = recipe
        self.layers = layers
        self.wiring = wiring
        self.thresholds = thresholds
        self.spacing = spacing
        self.delta = delta
        self.steps = steps
        self.batch = batch
        self.learning_rate = learning_rate
        self.settings = settings
        self.class_weight = class_weight
        self.abstain = abstain
        self.abstain_margin = abstain_margin
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the circuit.

        Parameters
        ----------
        X : array or frame [sample, feature]
            Numbers, NaN where one is missing. The texts of a frame become categories.
        y : array [sample]
            Labels of any type.
        sample_weight : array [sample], optional
            How much each sample counts.

        Raises
        ------
        ValueError
            If the samples or the parameters cannot be used.
        """
        if is_frame(X):
            # Texts become categories, which scikit-learn's own check would refuse.
            validate_data(self, X, skip_check_array=True)
            samples, labels = X, column_or_1d(y, warn=True)
        else:
            samples, labels = validate_data(self, X, y, ensure_all_finite="allow-nan")
        check_classification_targets(labels)
        seed = int(check_random_state(self.random_state).randint(2**31))
        few = len(labels) < _FEWEST_TO_HOLD_BACK
        with _wrong_values(), interrupt.deferred():
            dataset = Dataset.from_arrays(
                samples,
                labels,
                # All columns of a frame, whatever they look like.
                feature_names=list(map(str, X.columns)) if is_frame(X) else None,
                weights=self._weights(labels, sample_weight),
                validation=0 if few else self.validation_fraction,
                test=0,
                seed=seed,
            )
            self.netlist_ = self._trained(dataset, self._training_settings(seed))
        self.classes_ = np.unique(labels)
        self.columns_ = list(map(str, X.columns)) if is_frame(X) else None
        accuracy: Any = self.netlist_.provenance["accuracy"]
        self.validation_score_ = float(accuracy["hardened"]["validation"])
        return self

    def _trained(self, dataset: Dataset, settings: dict[str, Any]) -> Netlist:
        """Train as ``trilut train`` does, with its efforts and budgets."""
        from trilut.training import train

        budget = None if self.budget is None else parse_budget(self.budget)
        if budget is not None:
            settings["layers"] = choose_layers(dataset, settings, budget, effort=self.effort)
        config = TrainingConfig.for_dataset(dataset, effort=self.effort, **settings)
        if self.effort == "best":
            variants = table_variants(config.settings, dataset.num_classes, given=settings)
            with TemporaryDirectory(prefix="trilut-search-") as scratch, silent() as show:
                stage, margin = show.start("search"), self.abstain_margin
                best = search_settings(
                    dataset, scratch, variants, stage, abstain_margin=margin, jobs=self.n_jobs or 1
                )
                netlist = load(best.net)
        elif budget is None:
            netlist = train(dataset, config, abstain_margin=self.abstain_margin).netlist
        else:

            def train_size(layers: tuple[int, ...]) -> "TrainingResult":
                sized = config.with_layers(layers)
                return train(dataset, sized, abstain_margin=self.abstain_margin)

            netlist = fill_budget(budget, dataset, config.network.layers, train_size)[1].netlist
        return netlist if budget is None else with_budget(netlist, budget)

    def _weights(self, y: NDArray[Any], sample_weight: Any) -> NDArray[np.float64] | None:
        """Return the weight of each sample, if there are any."""
        if sample_weight is None and self.class_weight is None:
            return None
        of_classes = compute_sample_weight(self.class_weight, y)
        weights = 1.0 if sample_weight is None else as_weights(sample_weight, len(y))
        return as_weights(weights * of_classes, len(y))

    def _training_settings(self, seed: int) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _SETTINGS}
        given = {name: value for name, value in own.items() if value is not None}
        return {"seed": seed, **given, **(self.settings or {})}

    def decide(self, X: Any) -> Decisions:
        """Return all that the circuit says: scores, classes by number, margins, and unknowns."""
        from trilut.sim import classify

        check_is_fitted(self)
        return classify(self.netlist_, self._samples(X))

    def _samples(self, X: Any) -> NDArray[Any]:
        """Return the features of the circuit: of a frame by name if it was trained on one."""
        if self.columns_ is not None and is_frame(X):
            with _wrong_values():
                return frame_features(self.netlist_, X)
        x: NDArray[Any] = validate_data(self, X, reset=False, ensure_all_finite="allow-nan")
        assert self.netlist_.encoder is not None
        if self.netlist_.encoder.categories:
            raise ValueError(
                "X has no column names, but the circuit was trained on columns with categories; "
                "expected a data frame"
            )
        return x

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each sample, or ``abstain`` where the circuit does not know."""
        decisions = self.decide(X)
        if self.abstain is None:
            return self.classes_[decisions.chosen]
        answers = _with_marker(self.classes_, self.abstain)
        return answers[np.where(decisions.unknown, len(self.classes_), decisions.chosen)]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the logits [sample, class]; of two classes, how far the second is ahead."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the softmax of the logits [sample, class], by which the circuit was trained."""
        logits = self._logits(X)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def _logits(self, X: Any) -> NDArray[np.float64]:
        scores = self.decide(X).scores
        assert self.netlist_.head is not None
        return scores / self.netlist_.head.tau

    def to_verilog(
        self, directory: str | Path, options: "HardwareOptions | None" = None
    ) -> "Design":
        """Write the circuit as Verilog; see :func:`trilut.write_verilog`."""
        from trilut.hdl import write_verilog

        check_is_fitted(self)
        return write_verilog(self.netlist_, directory, options)

    def verify(self, **settings: Any) -> "Verification":
        """Check that the hardware computes what this does; see :func:`trilut.verify.verify`."""
        check_is_fitted(self)
        return self.netlist_.verify(**settings)

    def synthesize(
        self, target: str = "ecp5", *, directory: str | Path | None = None, **settings: Any
    ) -> "SynthesisReport":
        """Place and route the circuit; see :func:`trilut.app.synth.synthesize_to_directory`.

        Parameters
        ----------
        target : str
            Name of a target, or its file.
        directory : path, optional
            Where the report and the logs go; by default nothing is kept.
        """
        from trilut.app.synth import synthesize_to_directory

        check_is_fitted(self)
        if directory is not None:
            return synthesize_to_directory(self.netlist_, directory, target=target, **settings)
        with TemporaryDirectory(prefix="trilut-synth-") as scratch:
            return synthesize_to_directory(self.netlist_, scratch, target=target, **settings)

    def save(self, path: str | Path) -> None:
        """Write the circuit with the labels and parameters into one ``.trilut`` file.

        Every command takes it as a netlist, and :meth:`load` makes this estimator of it again. No
        code is stored or run.

        Raises
        ------
        TypeError
            If a label or a parameter is none that JSON can hold.
        """
        check_is_fitted(self)
        parameters = {
            name: value for name, value in self.get_params(deep=False).items() if value is not None
        }
        if isinstance(self.class_weight, Mapping):
            # The keys of JSON are texts.
            parameters["class_weight"] = [list(pair) for pair in self.class_weight.items()]
        known = {
            "parameters": {name: _plain(value, name) for name, value in parameters.items()},
            "classes": _plain(self.classes_.tolist(), "classes_"),
            "columns": self.columns_,
            "validation_score": self.validation_score_,
        }
        provenance = {**self.netlist_.provenance, "classifier": known}
        save(dataclasses.replace(self.netlist_, provenance=provenance), path)

    @classmethod
    def load(cls, path: str | Path) -> "TrilutClassifier":
        """Read what :meth:`save` has written.

        Raises
        ------
        FormatError
            If the file cannot be read, or holds no estimator.
        """
        netlist = load(path)
        known: Any = netlist.provenance.get("classifier")
        try:
            parameters = dict(known["parameters"])
            if isinstance(parameters.get("class_weight"), list):
                parameters["class_weight"] = dict(map(tuple, parameters["class_weight"]))
            estimator = cls(**parameters)
            estimator.classes_ = np.array(known["classes"])
            estimator.validation_score_ = float(known["validation_score"])
            columns = known["columns"]
            estimator.columns_ = None if columns is None else list(map(str, columns))
        except (KeyError, TypeError, ValueError):
            raise FormatError(
                f"{str(path)!r} is a netlist that TrilutClassifier.save did not write; "
                "trilut.load reads it"
            ) from None
        if netlist.encoder is None or netlist.head is None:
            raise FormatError(f"{str(path)!r} has no encoder or no head, so it cannot classify")
        if estimator.classes_.shape != (len(netlist.head.classes),):
            raise FormatError(
                f"{str(path)!r} has {estimator.classes_.size} labels, "
                f"expected {len(netlist.head.classes)} as the head has classes"
            )
        estimator.netlist_ = netlist
        estimator.n_features_in_ = len(estimator.columns_ or netlist.encoder.features)
        if estimator.columns_:
            estimator.feature_names_in_ = np.array(estimator.columns_, dtype=object)
        return estimator


@contextmanager
def _wrong_values() -> Iterator[None]:
    """Raise what is wrong with samples or settings as scikit-learn does."""
    try:
        yield
    except (ToolError, FormatError):
        raise
    except TrilutError as error:
        raise ValueError(str(error)) from error


def _with_marker(classes: NDArray[Any], marker: Any) -> NDArray[Any]:
    """Return the labels and the marker behind them, as they are: no number becomes a text."""
    kinds = {classes.dtype.kind, np.asarray(marker).dtype.kind}
    if len(kinds) == 1 or kinds <= set("iuf"):
        return np.append(classes, marker)
    return np.array([*classes.tolist(), marker], dtype=object)


def _plain(value: Any, name: str) -> Any:
    """Return a value as JSON will give it back."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_number))
    except (TypeError, ValueError):
        raise TypeError(f"{name!r} is {value!r}, which a file cannot hold") from None


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError
