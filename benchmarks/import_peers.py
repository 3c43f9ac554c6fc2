"""Networks trained by difflogic and torchlogix, through our flow.

Each trains 784→3×2000→10 on MNIST for some steps, in its own environment, and saves the module and
its own sums of the 10,000 test samples. We import the file, compare all sums, prove the RTL, and
map it to the ECP5. What is shown is not how well they train: the steps are few.

Run: python benchmarks/import_peers.py [--only NAME] [--steps N] [--no-proof] [--json FILE]
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from area import KEPT, TARGET
from peers import peer_package, peer_python

from trilut import Netlist, load_dataset, sim
from trilut.hdl import HardwareOptions, write_verilog
from trilut.interchange import import_netlist
from trilut.synth import SynthesisSettings, synthesize
from trilut.synth.cache import Cache
from trilut.verify import verify_design

PEERS = ("difflogic", "torchlogix")
TORCHLOGIX = ("torchlogix==0.2.2", "rich")

# What runs in the environment of the peers.
TRAIN = """
import contextlib, io, itertools, sys, types
import numpy as np, torch
name, steps, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)
torch.set_num_threads(1)
if name == "difflogic":
    from difflogic import GroupSum, LogicLayer
    def layer(low, high):
        return LogicLayer(low, high, device="cpu", implementation="python")
    head = GroupSum(10, 10.0, device="cpu")
else:
    sys.modules["torchlogix.circuit"] = types.ModuleType("circuit")
    sys.modules["torchlogix.circuit"].Circuit = None
    from torchlogix.layers import GroupSum, LogicDense as layer
    head = GroupSum(10, 10.0)
with np.load(directory + "/data.npz") as data:
    train, labels, test = (torch.from_numpy(data[key]) for key in ("train", "labels", "test"))
layers = [layer(low, high) for low, high in itertools.pairwise([784, 2000, 2000, 2000])]
model = torch.nn.Sequential(*layers, head)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
with contextlib.redirect_stdout(io.StringIO()):
    for step in range(steps):
        rows = torch.randint(0, len(train), (64,))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(train[rows].float()), labels[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        sums = torch.cat([model(part.float()) for part in test.split(500)]) * head.tau
torch.save(model, directory + "/model.pt")
np.save(directory + "/sums.npy", sums.round().to(torch.int64).numpy())
"""


def trained(name: str, steps: int, data: dict[str, np.ndarray], directory: Path) -> np.ndarray:
    """Let a peer train and save a network in a directory; return its sums of the test samples."""
    np.savez(directory / "data.npz", **data)
    python = peer_python()
    place = peer_package("torchlogix", *TORCHLOGIX) if name == "torchlogix" else directory
    command = [str(python), "-c", TRAIN, name, str(steps), str(directory)]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(place)})
    return np.load(directory / "sums.npy")


def through_our_flow(netlist: Netlist, directory: Path, *, proof: bool) -> dict[str, object]:
    """Return what the proof says, and the cells that the same file is mapped to."""
    facts: dict[str, object] = {}
    design = write_verilog(netlist, directory, HardwareOptions().for_part("ecp5"))
    if proof:
        start = time.perf_counter()
        verification = verify_design(design, work=directory, levels=["formal"])
        facts["proof"] = {result.level: str(result.outcome) for result in verification.levels}
        facts["proof_seconds"] = round(time.perf_counter() - start)
    cells = synthesize(
        design.path,
        design.top,
        TARGET,
        settings=SynthesisSettings(timeout=3600, cache=Cache(KEPT)),
        out=directory,
        blocks=False,
    ).cells
    return {**facts, "lut4": cells.lut4, "lut4_equivalents": cells.lut4_equivalents, "ff": cells.ff}


def measured(
    name: str, steps: int, data: dict[str, np.ndarray], *, proof: bool
) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        sums = trained(name, steps, data, directory)
        netlist = import_netlist(directory / "model.pt", name)
        decisions = sim.classify(netlist, data["test"].astype(np.float64))
        # Ours are one more for TRUE and one less for FALSE.
        agree = (decisions.scores == 2 * sums - netlist.head.group_sizes[0]).all(axis=1)
        return {
            "network": name,
            "gates": netlist.num_gates,
            "samples": len(sums),
            "equal": int(agree.sum()),
            "accuracy": float((decisions.chosen == data["test_labels"]).mean()),
            **through_our_flow(netlist, directory, proof=proof),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PEERS)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--no-proof", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    images = load_dataset("mnist")
    data = {
        "train": (images.train.x > 127).astype(np.uint8).reshape(-1, 784),
        "labels": images.train.y.astype(np.int64),
        "test": (images.test.x > 127).astype(np.uint8).reshape(-1, 784),
        "test_labels": images.test.y.astype(np.int64),
    }
    found = []
    for name in (args.only,) if args.only else PEERS:
        found.append(measured(name, args.steps, data, proof=not args.no_proof))
        print(json.dumps(found[-1]), flush=True)
        assert found[-1]["equal"] == found[-1]["samples"]
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
