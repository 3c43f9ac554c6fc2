// What a netlist file means: its nets, its encoder and its head, as docs/netlist-format.md says.
//
// The reference is Netlist.evaluate in Python, and a test compares the two net by net. Values are
// -1 (FALSE), 0 (UNKNOWN) and +1 (TRUE); a score is an integer. A missing feature is null.

export const BIT = 2;
export const TRIT = 3;
export const SCORE = 16;

const KIND_OF_LETTER = { b: BIT, t: TRIT, s: SCORE };
const VALUE_OF_SIGN = { "-": -1, 0: 0, "+": 1 };

/**
 * Read a netlist document of any version into flat arrays.
 *
 * Gate k reads the nets sources[firstSource[k]] … sources[firstSource[k + 1] - 1], and its table is
 * tables[firstRow[k]] … tables[firstRow[k + 1] - 1], the last input changing fastest.
 */
export function readCircuit(document) {
  const gates = document.nodes ? readNodes(document.nodes) : readGates(document);
  const numGates = gates.sources.length;
  const numNets = document.num_inputs + numGates;
  const kinds = document.kinds
    ? Uint8Array.from(document.kinds, (letter) => KIND_OF_LETTER[letter])
    : new Uint8Array(numNets).fill(document.valence);
  return {
    name: document.name,
    numInputs: document.num_inputs,
    numGates,
    numNets,
    kinds,
    outputs: document.outputs,
    encoder: readEncoder(document.encoder),
    head: document.head,
    resets: Array.from(document.reset ?? "", (sign) => VALUE_OF_SIGN[sign]),
    ...flattened(gates),
  };
}

function readGates({ gates, valence }) {
  return {
    sources: gates.id.map((_, gate) => [gates.a[gate], gates.b[gate]]),
    tables: gates.id.map((id) => tableOfId(id, valence)),
  };
}

function tableOfId(id, valence) {
  const values = valence === BIT ? [-1, 1] : [-1, 0, 1];
  return Array.from({ length: valence ** 2 }, (_, row) => {
    return values[Math.floor(id / valence ** row) % valence];
  });
}

function readNodes({ sources, table }) {
  const values = (entry) => {
    return typeof entry === "string" ? Array.from(entry, (sign) => VALUE_OF_SIGN[sign]) : entry;
  };
  return { sources, tables: table.map(values) };
}

function flattened({ sources, tables }) {
  const starts = (lists) => {
    const first = new Int32Array(lists.length + 1);
    lists.forEach((list, index) => (first[index + 1] = first[index] + list.length));
    return first;
  };
  return {
    firstSource: starts(sources),
    sources: Int32Array.from(sources.flat()),
    firstRow: starts(tables),
    tables: Int8Array.from(tables.flat()),
  };
}

function readEncoder(encoder) {
  if (!encoder) return null;
  const { features, feature, low, high, missing } = encoder;
  return {
    features: features.map((each) => ({ ...each, ...limits(each) })),
    feature,
    low,
    high,
    missing: Array.isArray(missing) ? missing : feature.map(() => missing ?? 0),
  };
}

function limits({ bits, signed, seen }) {
  const minimum = signed ? -(2 ** (bits - 1)) : 0;
  const maximum = 2 ** (signed ? bits - 1 : bits) - 1;
  return { minimum, maximum, least: seen?.[0] ?? -Infinity, most: seen?.[1] ?? Infinity };
}

/** The nets that a gate reads, slot by slot. */
export function readsOf(circuit, gate) {
  return circuit.sources.subarray(circuit.firstSource[gate], circuit.firstSource[gate + 1]);
}

/** The truth table of a gate. */
export function tableOf(circuit, gate) {
  return circuit.tables.subarray(circuit.firstRow[gate], circuit.firstRow[gate + 1]);
}

/** The place of a bit or a trit among the values of its kind, counted from 0. */
export function levelOf(value, kind) {
  return kind === BIT ? (value + 1) / 2 : value + 1;
}

/** The integer of a feature for a value of the user; null if it is missing or out of range. */
export function quantize(feature, value) {
  const integer = Math.floor(value * feature.scale + feature.offset);
  // Neither holds for what is not a number.
  if (!(integer >= feature.least && integer <= feature.most)) return null;
  return Math.min(Math.max(integer, feature.minimum), feature.maximum);
}

/** The inputs of the circuit for the integers of its features. */
export function encode(encoder, integers) {
  return Int8Array.from(encoder.feature, (number, trit) => {
    const x = integers[number];
    const { least, most } = encoder.features[number];
    if (x === null || x < least || x > most) return encoder.missing[trit];
    return Number(x >= encoder.high[trit]) - Number(x < encoder.low[trit]);
  });
}

/** The value of every net, for the values of the inputs (states last). */
export function evaluate(circuit, inputs) {
  const { numInputs, numGates, kinds, firstSource, sources, firstRow, tables } = circuit;
  const values = new Int8Array(circuit.numNets);
  values.set(inputs);
  for (let gate = 0; gate < numGates; gate++) {
    let row = 0;
    for (let slot = firstSource[gate]; slot < firstSource[gate + 1]; slot++) {
      const net = sources[slot];
      row = row * kinds[net] + levelOf(values[net], kinds[net]);
    }
    values[numInputs + gate] = tables[firstRow[gate] + row];
  }
  return values;
}

/** The states of the next step, for the values of all nets at this one. */
export function nextStates(circuit, values) {
  const numOutputs = circuit.outputs.length - circuit.resets.length;
  return circuit.outputs.slice(numOutputs).map((net) => values[net]);
}

/**
 * What the head says: scores, chosen class, margin, whether it abstains, what is certain.
 *
 * `certain` means something in a circuit of information-monotone gates only.
 */
export function decide(circuit, values, abstainMargin = circuit.head.abstain_margin) {
  const { group_sizes: sizes, set_margin: setMargin } = circuit.head;
  const scores = [];
  const unknowns = [];
  let output = 0;
  for (const size of sizes) {
    const own = circuit.outputs.slice(output, output + size).map((net) => values[net]);
    scores.push(own.reduce((sum, value) => sum + value, 0));
    unknowns.push(own.filter((value) => value === 0).length);
    output += size;
  }
  const best = scores.reduce((most, score) => Math.max(most, score));
  const chosen = scores.indexOf(best);
  const others = scores.filter((_, index) => index !== chosen);
  const margin = best - others.reduce((most, score) => Math.max(most, score));
  const lowest = best - unknowns[chosen];
  const isBelow = (score, index) => index === chosen || score + unknowns[index] < lowest;
  return {
    scores,
    unknowns,
    chosen,
    margin,
    unknown: margin < abstainMargin,
    certain: scores.every(isBelow),
    members: setMargin === undefined ? null : scores.map((score) => best - score <= setMargin),
  };
}
