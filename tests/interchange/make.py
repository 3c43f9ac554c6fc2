"""Make the models of this directory, and what the projects themselves say about them.

They are committed, so that no test needs PyTorch. To make them again: with the interpreter of
benchmarks/peers.py, and torchlogix on PYTHONPATH (benchmarks/training_peers.py installs it),
python tests/interchange/make.py
"""

import itertools
import sys
import types
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
SIZES = (12, 20, 18, 15)


def samples() -> torch.Tensor:
    return torch.randint(0, 2, (64, SIZES[0])).float()


def shapes() -> list[tuple[int, int]]:
    return list(itertools.pairwise(SIZES))


def keep(name: str, model: torch.nn.Module, saved: object, answers: dict[str, np.ndarray]) -> None:
    """Save what is given, and the sums of the model."""
    x = samples()
    model.eval()
    torch.save(saved, HERE / f"{name}.pt")
    answers[f"{name}.x"] = x.numpy().astype(np.uint8)
    answers[f"{name}.sums"] = model(x).detach().numpy()


def difflogic(answers: dict[str, np.ndarray]) -> None:
    from difflogic import GroupSum, LogicLayer

    layers = [LogicLayer(*shape, device="cpu", implementation="python") for shape in shapes()]
    model = torch.nn.Sequential(*layers, GroupSum(5, device="cpu"))
    keep("difflogic_module", model, model, answers)
    state = dict(model.state_dict())
    for name, layer in model.named_modules():
        if hasattr(layer, "indices"):
            state[f"{name}.indices"] = torch.stack(layer.indices)
    keep("difflogic_state", model, state, answers)


def torchlogix(answers: dict[str, np.ndarray]) -> None:
    # It imports packages for other parts of it.
    sys.modules["torchlogix.circuit"] = types.ModuleType("circuit")
    sys.modules["torchlogix.circuit"].Circuit = None
    from torchlogix.layers import GroupSum, LogicDense

    def network(**settings: object) -> torch.nn.Module:
        settings = {"device": "cpu", **settings}
        init = {"weight_init": "random"}
        layers = [LogicDense(*s, parametrization_kwargs=init, **settings) for s in shapes()]
        return torch.nn.Sequential(*layers, GroupSum(5))

    for name, settings in {
        "torchlogix_raw": {},
        "torchlogix_warp": {"parametrization": "warp"},
        "torchlogix_six": {"parametrization": "warp", "lut_rank": 6},
        "torchlogix_light": {"parametrization": "light", "lut_rank": 4},
    }.items():
        model = network(**settings)
        keep(name, model, model, answers)
    model = network(connections="learnable", connections_kwargs={"num_candidates": 3})
    keep("torchlogix_state", model, model.state_dict(), answers)


if __name__ == "__main__":
    torch.manual_seed(0)
    answers: dict[str, np.ndarray] = {}
    difflogic(answers)
    torchlogix(answers)
    np.savez_compressed(HERE / "answers.npz", **answers)
