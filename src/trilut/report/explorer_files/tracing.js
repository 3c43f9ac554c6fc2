// Why a net has its value, and what it depends on: trilut.sim.tracing in JavaScript.

import { BIT, SCORE, readsOf, tableOf } from "./circuit.js";

/**
 * Explain the value of a net: the steps back to the inputs and gates that made it so.
 *
 * An UNKNOWN is followed to the UNKNOWN operands that matter; other values to as few operands as
 * fix the value, preferably known ones. A step is {net, value, role, reads, because}; its role is
 * "input", "makes" (the trace ends at this gate) or "follows". Each net stands after all that read
 * it.
 */
export function trace(circuit, values, of) {
  const ofUnknown = circuit.kinds[of] !== SCORE && values[of] === 0;
  const steps = new Map();
  const waiting = [of];
  while (waiting.length > 0) {
    const net = waiting.pop();
    if (steps.has(net)) continue;
    const step = traceStep(circuit, values, net, ofUnknown);
    steps.set(net, step);
    waiting.push(...step.because);
  }
  return [...steps.values()].sort((left, right) => right.net - left.net);
}

function traceStep(circuit, values, net, ofUnknown) {
  const value = values[net];
  if (net < circuit.numInputs) return { net, value, role: "input", reads: [], because: [] };
  const operands = new Operands(circuit, values, net);
  const because = followed(operands, values, ofUnknown);
  const role = because.length > 0 ? "follows" : "makes";
  return { net, value, role, reads: operands.nets, because };
}

function followed(operands, values, ofUnknown) {
  const { nets } = operands;
  if (operands.fixedBy([])) return [];
  if (ofUnknown) {
    const unknown = nets.filter((net) => values[net] === 0);
    const known = nets.filter((net) => values[net] !== 0);
    const matters = (net) => !operands.fixedBy(nets.filter((other) => other !== net));
    // Some matter only together: none alone would change the value.
    if (!nets.some(matters) && !operands.fixedBy(known)) return unknown;
    return unknown.filter(matters);
  }
  for (let size = 1; size < nets.length; size++) {
    const enough = combinations(nets.length, size)
      .map((places) => places.map((place) => nets[place]))
      .filter((some) => operands.fixedBy(some));
    if (enough.length > 0) return enough.reduce((a, b) => (isBefore(b, a, values) ? b : a));
  }
  return nets;
}

/** Whether one choice of operands comes before another: known ones first, then lower nets. */
function isBefore(some, others, values) {
  for (const key of [(net) => Number(values[net] === 0), (net) => net]) {
    const place = some.findIndex((net, index) => key(net) !== key(others[index]));
    if (place >= 0) return key(some[place]) < key(others[place]);
  }
  return false;
}

function combinations(count, size, first = 0) {
  if (size === 0) return [[]];
  const found = [];
  for (let place = first; place <= count - size; place++) {
    for (const rest of combinations(count, size - 1, place + 1)) found.push([place, ...rest]);
  }
  return found;
}

/** What a gate reads, and what of it is enough to fix the gate's value. */
class Operands {
  constructor(circuit, values, net) {
    const gate = net - circuit.numInputs;
    const sources = [...readsOf(circuit, gate)];
    this.nets = [...new Set(sources)];
    this.values = values;
    const wrong = (value) => value !== values[net];
    // A net has one value, however often it is read.
    this.wrongRows = [...tableOf(circuit, gate)]
      .map((value, row) => (wrong(value) ? rowOf(circuit, sources, row) : null))
      .filter((row) => row !== null);
  }

  /** Say whether the values of some operands leave only one value of the gate. */
  fixedBy(nets) {
    return !this.wrongRows.some((row) => nets.every((net) => row.get(net) === this.values[net]));
  }
}

/** The value of each net on a row of a table; null if a net would have two. */
function rowOf(circuit, sources, row) {
  const found = new Map();
  const slots = rowValues(circuit, sources, row);
  for (const [slot, net] of sources.entries()) {
    if (found.has(net) && found.get(net) !== slots[slot]) return null;
    found.set(net, slots[slot]);
  }
  return found;
}

/** The values in the slots of a gate on a row of its table. */
export function rowValues(circuit, sources, row) {
  const values = [];
  for (const net of [...sources].reverse()) {
    const kind = circuit.kinds[net];
    const level = row % kind;
    values.unshift(kind === BIT ? 2 * level - 1 : level - 1);
    row = Math.floor(row / kind);
  }
  return values;
}

/** The gates that read each net, as lists by net. */
export function readersOf(circuit) {
  const readers = Array.from({ length: circuit.numNets }, () => []);
  for (let gate = 0; gate < circuit.numGates; gate++) {
    const own = circuit.numInputs + gate;
    for (const net of new Set(readsOf(circuit, gate))) readers[net].push(own);
  }
  return readers;
}

/** All nets that a net depends on, itself included. */
export function coneOf(circuit, net) {
  const cone = new Set([net]);
  // A set gives what is added while it is walked, too.
  for (const each of cone) {
    if (each < circuit.numInputs) continue;
    for (const source of readsOf(circuit, each - circuit.numInputs)) cone.add(source);
  }
  return cone;
}
