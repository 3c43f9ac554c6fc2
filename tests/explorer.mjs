// Run the explorer's own modules outside of a browser, on what a test asks for:
// node explorer.mjs MODULES_DIRECTORY < cases.json > answers.json

import { readFileSync } from "node:fs";

const [circuits, traces, states, layouts] = await Promise.all(
  ["circuit", "tracing", "state", "layout"].map((name) => import(`${process.argv[2]}/${name}.js`)),
);

function answer({ netlist, vectors, trits, real, sequences, traced }) {
  const circuit = circuits.readCircuit(netlist);
  const inputs = trits ?? vectors.map((integers) => circuits.encode(circuit.encoder, integers));
  const values = inputs.map((each) => circuits.evaluate(circuit, each));
  const controls = circuit.encoder?.features.map((feature) => ({
    ...feature,
    step: 1,
    canMiss: true,
  }));
  return {
    values: values.map((each) => [...each]),
    decisions: circuit.head && values.map((each) => circuits.decide(circuit, each)),
    integers: real?.map((row) => {
      // JSON has no NaN.
      return row.map((value, index) =>
        circuits.quantize(circuit.encoder.features[index], value ?? NaN),
      );
    }),
    outputs: sequences?.map((steps) => run(circuit, steps)),
    traces: traced?.map(([sample, net]) => traces.trace(circuit, values[sample], net)),
    kept: vectors?.map((each) => states.unpackIntegers(states.packIntegers(each), controls)),
    levels: [...layouts.levelsOf(circuit)],
    isPlaced: isPlaced(layouts.arrange(circuit, 1.5)),
  };
}

function run(circuit, steps) {
  let now = circuit.resets;
  return steps.map((inputs) => {
    const values = circuits.evaluate(circuit, [...inputs, ...now]);
    now = circuits.nextStates(circuit, values);
    return circuit.outputs.slice(0, circuit.outputs.length - now.length).map((net) => values[net]);
  });
}

/** Whether everything has a place within the picture, and no two things have the same. */
function isPlaced({ x, y, width, height }) {
  const places = [...x].map((place, thing) => `${place} ${y[thing]}`);
  const isInside = (place, most) => place > 0 && place < most;
  return (
    x.every((place) => isInside(place, width)) &&
    y.every((place) => isInside(place, height)) &&
    new Set(places).size === places.length
  );
}

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map(answer)));
