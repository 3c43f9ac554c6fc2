from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from conftest import CHECKED, UNCHECKED
from jaxtyping import TypeCheckError

from trilut.training.area import gate_area

TRAINING = Path(__file__).parent.parent / "training"


@pytest.mark.parametrize("name", CHECKED)
def test_module_is_checked(name):
    assert type(import_module(name).__loader__).__module__ == "jaxtyping._import_hook"


def test_modules_that_are_not_checked_are_there():
    assert {path.stem for path in TRAINING.iterdir()} > set(UNCHECKED)


def test_wrong_type_is_refused():
    tables = np.ones((2, 9), dtype=np.float32)
    assert gate_area(tables, is_output=False).shape == (2,)
    with pytest.raises(TypeCheckError):
        gate_area(tables.astype(np.int8), is_output=False)
