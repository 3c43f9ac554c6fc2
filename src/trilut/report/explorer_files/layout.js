// Where things stand in the drawing: features, nets by level, and classes, from left to right.
//
// Things that are drawn are numbered: nets first, by their own number, then features, then sinks
// (classes, or outputs of a circuit without a head). Positions are in rows of nets.

import { readsOf } from "./circuit.js";

// Columns of at most this many nets are not folded.
const SMALL_COLUMN = 40;
// Rows that a thing of a short column takes at most, and between two columns at least.
const MOST_STEP = 3;
const LEAST_GAP = 4;

/** The level of each net: 0 for an input, one more than its deepest parent for a gate. */
export function levelsOf(circuit) {
  const levels = new Int32Array(circuit.numNets);
  for (let gate = 0; gate < circuit.numGates; gate++) {
    let deepest = 0;
    for (const net of readsOf(circuit, gate)) deepest = Math.max(deepest, levels[net]);
    levels[circuit.numInputs + gate] = deepest + 1;
  }
  return levels;
}

/** The row and the column of each feature that is a pixel; null if they are no image. */
export function imageOf(encoder) {
  const places = encoder?.features.map(({ name }) => /^pixel_(\d+)_(\d+)$/.exec(name));
  if (!places || places.includes(null)) return null;
  const rows = places.map((place) => Number(place[1]));
  const columns = places.map((place) => Number(place[2]));
  const largest = (numbers) => numbers.reduce((most, number) => Math.max(most, number), 0);
  const [height, width] = [largest(rows) + 1, largest(columns) + 1];
  // A circuit may have lost the features that it does not need, but an image is no scatter.
  return height * width <= 65536 ? { rows, columns, height, width } : null;
}

/** The classes, or the outputs of a circuit without a head, each with its nets. */
export function sinksOf(circuit) {
  const numOutputs = circuit.outputs.length - circuit.resets.length;
  if (!circuit.head) {
    return circuit.outputs.map((net, index) => ({
      name: index < numOutputs ? `output ${index}` : `next state ${index - numOutputs}`,
      nets: [net],
    }));
  }
  let first = 0;
  return circuit.head.classes.map((name, index) => {
    const nets = circuit.outputs.slice(first, first + circuit.head.group_sizes[index]);
    first += nets.length;
    return { name, nets };
  });
}

/**
 * Arrange a circuit so that it is about `aspect` times as wide as it is high.
 *
 * Returns {x, y, width, height, columns, wires, levels, sinks, image, pixel, …}; wires are pairs of
 * things, from the left to the right, in one array.
 */
export function arrange(circuit, aspect) {
  const levels = levelsOf(circuit);
  const image = imageOf(circuit.encoder);
  const sinks = sinksOf(circuit);
  const numFeatures = circuit.encoder?.features.length ?? 0;
  const firstFeature = circuit.numNets;
  const firstSink = firstFeature + numFeatures;
  const wires = wiresOf(circuit, sinks, firstFeature, firstSink);
  const groups = groupsOf(circuit, levels, firstFeature, firstSink, sinks.length);
  const places = {
    x: new Float32Array(firstSink + sinks.length),
    y: new Float32Array(firstSink + sinks.length),
  };
  const parents = parentsOf(wires, places.x.length);
  const { columns, pixel } = placeGroups(groups, places, parents, image, aspect);
  const right = columns.at(-1);
  return {
    ...places,
    width: right.x + right.width,
    height: Math.max(...columns.map(({ height }) => height)),
    columns,
    wires,
    levels,
    sinks,
    image,
    pixel,
    firstFeature,
    firstSink,
  };
}

function wiresOf(circuit, sinks, firstFeature, firstSink) {
  const ends = [];
  circuit.encoder?.feature.forEach((feature, net) => ends.push(firstFeature + feature, net));
  for (let gate = 0; gate < circuit.numGates; gate++) {
    for (const net of readsOf(circuit, gate)) ends.push(net, circuit.numInputs + gate);
  }
  sinks.forEach(({ nets }, sink) => nets.forEach((net) => ends.push(net, firstSink + sink)));
  return Int32Array.from(ends);
}

/** The things of each column, from left to right, with the title of the column. */
function groupsOf(circuit, levels, firstFeature, firstSink, numSinks) {
  const range = (first, count) => Array.from({ length: count }, (_, index) => first + index);
  const byLevel = [];
  levels.forEach((level, net) => (byLevel[level] ??= []).push(net));
  const features = range(firstFeature, firstSink - firstFeature);
  const title = (level) => (level === 0 ? "inputs" : `level ${level}`);
  return [
    // People know the order of features and classes.
    { title: "features", things: features, keepsOrder: true },
    ...byLevel.map((things, level) => ({ title: title(level), things })),
    {
      title: circuit.head ? "classes" : "outputs",
      things: range(firstSink, numSinks),
      keepsOrder: true,
    },
  ].filter(({ things }) => things.length > 0);
}

/** The things that each thing reads, as {first, list} in one array. */
function parentsOf(wires, numThings) {
  const first = new Int32Array(numThings + 1);
  for (let end = 1; end < wires.length; end += 2) first[wires[end] + 1]++;
  for (let thing = 0; thing < numThings; thing++) first[thing + 1] += first[thing];
  const next = first.slice();
  const list = new Int32Array(wires.length / 2);
  for (let end = 0; end < wires.length; end += 2) list[next[wires[end + 1]]++] = wires[end];
  return { first, list };
}

/** Give every thing of every group its place, each near the middle of what it reads. */
function placeGroups(groups, { x, y }, parents, image, aspect) {
  const total = groups.reduce((sum, { things }) => sum + things.length, 0);
  const largest = groups.reduce((most, { things }) => Math.max(most, things.length), 1);
  // Half of the width is for wires.
  const folded = Math.max(SMALL_COLUMN, Math.ceil(Math.sqrt((2 * total) / aspect)));
  const height = Math.max(Math.min(largest, folded), MOST_STEP);
  const pixel = image ? pixelSize(image, height, aspect) : 1;
  const isImage = ({ title }) => image !== null && title === "features";
  const widthOf = (group) => {
    return isImage(group) ? image.width : Math.ceil(group.things.length / height);
  };
  const used = groups.reduce(
    (sum, group) => sum + widthOf(group) * (isImage(group) ? pixel : 1),
    0,
  );
  const gap = Math.max(LEAST_GAP, (aspect * height - used) / (groups.length - 1));
  const columns = [];
  let left = 0;
  for (const group of groups) {
    const { title, things, keepsOrder } = group;
    const width = widthOf(group);
    const rows = isImage(group) ? image.height : Math.ceil(things.length / width);
    // Few things are spread over the height, as much as looks like a column still.
    const step = isImage(group)
      ? pixel
      : Math.min(height / rows, title === "classes" ? Infinity : MOST_STEP);
    const top = (height - rows * step) / 2;
    const right = isImage(group) ? pixel : 1;
    const order = keepsOrder ? things : sorted(things, y, parents);
    order.forEach((thing, index) => {
      const row = isImage(group) ? image.rows[index] : Math.floor(index / width);
      const column = isImage(group) ? image.columns[index] : index % width;
      x[thing] = left + (column + 0.5) * right;
      y[thing] = top + (row + 0.5) * step;
    });
    columns.push({ title, x: left, width: width * right, height });
    left += width * right + gap;
  }
  return { columns, pixel };
}

/** The side of a pixel: an image takes a quarter of the width, and no more than the height. */
function pixelSize({ width, height: rows }, height, aspect) {
  return Math.min(height / rows, (0.25 * aspect * height) / width, MOST_STEP);
}

function sorted(things, y, { first, list }) {
  const middle = things.map((thing) => {
    let sum = 0;
    for (let place = first[thing]; place < first[thing + 1]; place++) sum += y[list[place]];
    const count = first[thing + 1] - first[thing];
    return count > 0 ? sum / count : 0;
  });
  const order = things.map((_, index) => index);
  order.sort((a, b) => middle[a] - middle[b] || a - b);
  return order.map((index) => things[index]);
}
