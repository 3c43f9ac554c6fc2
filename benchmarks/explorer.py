"""How many frames a second the explorer draws of 10,000 gates, in headless Chromium.

python benchmarks/explorer.py [--gates N]

The circuit has random wires from layer to layer and random tables, behind an image of 28 × 28
pixels. For some seconds each, the picture is moved and zoomed in every frame, the inputs change in
every frame, and both; then the same closer up. A frame counts when the browser has shown it.
Headless Chromium has no graphics card: the processor that runs everything else makes the pixels,
too.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import trilut
from trilut.data.images import pixel_names
from trilut.report.explorer import explorer_page
from trilut.report.page import machine_facts

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from browser import browser

SECONDS = 4
LAYERS = 4

_RUN = """
const [moves, changes, seconds, done] = arguments;
const { drawing, inputs } = explorer;
const start = performance.now();
let [frames, last, longest] = [0, start, 0];
function tick(now) {
  frames++;
  longest = Math.max(longest, now - last);
  last = now;
  if (moves) drawing.zoom(Math.sin(frames / 20) > 0 ? 1.02 : 1 / 1.02, 300, 300);
  if (moves) drawing.pan(5 * Math.cos(frames / 10), 0);
  if (changes) {
    const values = [...inputs.values];
    for (let each = 0; each < 30; each++) {
      values[(frames * 31 + each * 17) % values.length] = frames % 256;
    }
    inputs.change(() => values);
  }
  if (now - start < 1000 * seconds) requestAnimationFrame(tick);
  else done([frames / seconds, longest]);
}
requestAnimationFrame(tick);
"""


def random_circuit(num_gates: int) -> trilut.Netlist:
    rng = np.random.default_rng(0)
    names = pixel_names(28, 28)
    feature = np.repeat(np.arange(len(names)), 2)
    low = np.tile([60, 150], len(names))
    layer, nets, sources = num_gates // LAYERS, np.arange(len(feature)), []
    for number in range(LAYERS):
        sources.append(rng.choice(nets, (layer, 2)))
        nets = len(feature) + number * layer + np.arange(layer)
    a, b = np.concatenate(sources).T
    return trilut.Netlist.of_gates(
        len(feature),
        rng.integers(-1, 2, (LAYERS * layer, 9), dtype=np.int8),
        a,
        b,
        nets,
        encoder=trilut.Encoder(
            tuple(trilut.Feature(name, 8) for name in names), feature, low, low + 30
        ),
        head=trilut.Head(tuple("0123456789"), tuple(map(len, np.array_split(nets, 10)))),
        name=f"{LAYERS * layer} gates",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gates", type=int, default=10_000)
    netlist = random_circuit(parser.parse_args().gates)
    with tempfile.TemporaryDirectory() as directory, browser() as driver:
        page = Path(directory) / "page.html"
        page.write_text(explorer_page(netlist))
        driver.get(page.as_uri())
        driver.execute_async_script("setTimeout(arguments[0], 1000)")
        version = driver.capabilities["browserVersion"]
        print(json.dumps(machine_facts() | {"chromium": version, "gates": netlist.num_gates}))
        for place, zoom in (("all", 1), ("closer", 3)):
            driver.execute_script(f"explorer.drawing.zoom({zoom})")
            for moves, changes in ((True, False), (False, True), (True, True)):
                rate, longest = driver.execute_async_script(_RUN, moves, changes, SECONDS)
                what = " and ".join(["moved"] * moves + ["inputs change"] * changes)
                print(f"{place}, {what}: {rate:.0f} frames/s, longest {longest:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
