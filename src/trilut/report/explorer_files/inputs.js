// The inputs of the circuit: a pad to draw on, sliders, samples, and switches for the sensors.

import { BIT } from "./circuit.js";
import { byId, counted, element } from "./elements.js";

// More rows than this make a page slow; the others are found by name.
const MOST_ROWS = 120;

/**
 * What can be set: the features, or the inputs themselves if there is no encoder.
 *
 * A control is {name, minimum, maximum, top, step, canMiss, text}; `top` is the largest value that is
 * seen in samples, as dark as a feature gets in the drawing.
 */
export function controlsOf(circuit, image, samples) {
  if (circuit.encoder) {
    const tops = topsOf(circuit.encoder, image, samples);
    return circuit.encoder.features.map((feature, index) => ({
      top: tops[index],
      name: feature.name,
      minimum: feature.minimum,
      maximum: feature.maximum,
      step: 1,
      canMiss: true,
      text: (integer) => realText(feature, integer),
    }));
  }
  const count = circuit.numInputs - circuit.resets.length;
  return Array.from({ length: count }, (_, net) => ({
    name: `input ${net}`,
    minimum: -1,
    maximum: 1,
    top: 1,
    step: circuit.kinds[net] === BIT ? 2 : 1,
    canMiss: false,
    text: (value) => (value > 0 ? "TRUE" : value < 0 ? "FALSE" : "UNKNOWN"),
  }));
}

function topsOf({ features }, image, samples) {
  const tops = features.map((_, index) => {
    return samples.reduce((most, { values }) => Math.max(most, values[index] ?? most), -Infinity);
  });
  const darkest = tops.reduce((most, top) => Math.max(most, top), -Infinity);
  return features.map(({ minimum, maximum }, index) => {
    const top = image ? darkest : tops[index];
    return top > minimum ? top : maximum;
  });
}

function realText({ scale, offset }, integer) {
  const value = (integer - offset) / scale;
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

/** Values to start with: an empty image, else in the middle, or UNKNOWN. */
function startOf(controls, image) {
  return controls.map(({ minimum, maximum, step }) => {
    return image || step === 2 ? minimum : Math.round((minimum + maximum) / 2);
  });
}

/** The panel of inputs; `changed` is called with the values after every change by the user. */
export class InputPanel {
  constructor(circuit, layout, controls, samples, changed) {
    this.circuit = circuit;
    this.controls = controls;
    this.samples = samples;
    this.changed = changed;
    this.values = startOf(controls, layout.image);
    this.kept = [...this.values];
    this.sample = -1;
    this.rows = layout.image ? new Pad(this, layout.image) : new Rows(this, circuit.encoder);
    this.build();
  }

  build() {
    const { samples } = this;
    byId("samples").hidden = samples.length === 0;
    byId("previous").onclick = () => this.take(this.sample - 1);
    byId("next").onclick = () => this.take(this.sample + 1);
    byId("sensors").hidden = !this.controls.some(({ canMiss }) => canMiss);
    byId("all-on").onclick = () => this.change(() => this.kept);
    byId("all-off").onclick = () => this.change(() => this.controls.map(() => null));
    byId("some-off").onclick = () => this.switchSomeOff();
  }

  /** Take one of the samples, counted around. */
  take(sample) {
    if (this.samples.length === 0) return;
    this.sample = (sample + this.samples.length) % this.samples.length;
    this.change(() => this.samples[this.sample].values, { isSample: true });
  }

  /** Switch a tenth of the sensors that are on off, at least one, at random. */
  switchSomeOff() {
    const on = this.values.flatMap((value, index) => (value === null ? [] : [index]));
    const count = Math.ceil(on.length / 10);
    for (let place = 0; place < count; place++) {
      const other = place + Math.floor(Math.random() * (on.length - place));
      [on[place], on[other]] = [on[other], on[place]];
    }
    const off = new Set(on.slice(0, count));
    this.change(() => this.values.map((value, index) => (off.has(index) ? null : value)));
  }

  /** Give one control a value. */
  set(index, value) {
    this.change(() => this.values.with(index, value));
  }

  change(make, { isSample = false, isQuiet = false } = {}) {
    this.values = [...make()];
    this.values.forEach((value, index) => {
      if (value !== null) this.kept[index] = value;
    });
    if (!isSample) this.sample = this.sampleNow();
    this.show();
    if (!isQuiet) this.changed(this.values);
  }

  /** The sample that the values are; -1 if none is. */
  sampleNow() {
    const isNow = ({ values }) => values.every((value, index) => value === this.values[index]);
    return this.samples.findIndex(isNow);
  }

  show() {
    const { samples, sample } = this;
    const label = samples[sample]?.label;
    byId("sample").textContent =
      sample < 0
        ? counted(samples.length, "test sample")
        : `sample ${sample + 1} of ${samples.length}${label === undefined ? "" : `: ${label}`}`;
    const off = this.values.filter((value) => value === null).length;
    byId("off-count").textContent = off === 0 ? "all sensors on" : `${counted(off, "sensor")} off`;
    this.rows.show();
  }
}

/** A slider and a switch for each control. */
class Rows {
  constructor(panel, encoder) {
    this.panel = panel;
    this.rows = new Map();
    this.bands = encoder ? bandsOf(encoder) : new Map();
    byId("pad-panel").hidden = true;
    byId("filter-panel").hidden = panel.controls.length <= MOST_ROWS;
    byId("filter").oninput = () => this.list();
    this.list();
  }

  /** Make the rows of the controls whose name has what is in the filter. */
  list() {
    const { controls } = this.panel;
    const wanted = byId("filter").value.toLowerCase();
    const found = controls.flatMap(({ name }, index) => {
      return name.toLowerCase().includes(wanted) ? [index] : [];
    });
    this.rows = new Map(found.slice(0, MOST_ROWS).map((index) => [index, this.row(index)]));
    byId("rows").replaceChildren(...[...this.rows.values()].map(({ item }) => item));
    const left = found.length - this.rows.size;
    byId("rows-left").textContent =
      left > 0 ? `and ${left.toLocaleString("en")} more: find them by name` : "";
    if (this.panel.rows) this.show();
  }

  row(index) {
    const { panel } = this;
    const { name, minimum, maximum, step, canMiss } = panel.controls[index];
    const range = element("input", {
      type: "range",
      min: minimum,
      max: maximum,
      step,
      oninput: () => panel.set(index, Number(range.value)),
      attributes: { "aria-label": name },
    });
    const on = element("input", {
      type: "checkbox",
      hidden: !canMiss,
      title: "sensor on or off",
      onchange: () => panel.set(index, on.checked ? panel.kept[index] : null),
      attributes: { "aria-label": `${name} is on` },
    });
    const text = element("output");
    const bands = element("div", { className: "bands" }, ...(this.bands.get(index) ?? []));
    const title = element("span", { className: "name", textContent: name, title: name });
    const item = element(
      "li",
      {},
      on,
      title,
      text,
      element("div", { className: "track" }, range, bands),
    );
    return { item, range, on, text };
  }

  show() {
    const { values, kept, controls } = this.panel;
    for (const [index, { item, range, on, text }] of this.rows) {
      const value = values[index];
      item.classList.toggle("off", value === null);
      range.value = value ?? kept[index];
      range.disabled = value === null;
      on.checked = value !== null;
      text.textContent = value === null ? "missing" : controls[index].text(value);
      range.setAttribute("aria-valuetext", text.textContent);
    }
  }
}

/** Marks below the slider of each feature: where its trits are UNKNOWN, or change. */
function bandsOf(encoder) {
  const bands = new Map();
  encoder.feature.forEach((number, trit) => {
    const { minimum, maximum } = encoder.features[number];
    const place = (x) =>
      Math.min(Math.max((100 * (x - minimum)) / (maximum - minimum || 1), 0), 100);
    const [left, right] = [place(encoder.low[trit]), place(encoder.high[trit])];
    const band = element("i");
    band.style.left = `${left}%`;
    band.style.width = `max(1px, ${right - left}%)`;
    if (!bands.has(number)) bands.set(number, []);
    if (bands.get(number).length < 64) bands.get(number).push(band);
  });
  return bands;
}

/** A pad to draw an image on, with a brush of ink, an eraser, and one that switches pixels off. */
class Pad {
  constructor(panel, image) {
    this.panel = panel;
    this.image = image;
    this.canvas = byId("pad");
    this.cursor = 0;
    this.byPlace = new Map(
      image.rows.map((row, index) => [row * image.width + image.columns[index], index]),
    );
    byId("rows-panel").hidden = true;
    byId("clear").onclick = () => panel.change(() => panel.controls.map(({ minimum }) => minimum));
    const { canvas } = this;
    canvas.width = canvas.height = 0;
    canvas.style.aspectRatio = `${image.width} / ${image.height}`;
    canvas.onpointerdown = (event) => this.begin(event);
    canvas.onpointermove = (event) => this.move(event);
    canvas.onpointerup = canvas.onpointercancel = () => (this.last = null);
    canvas.onkeydown = (event) => this.key(event);
    canvas.onfocus = canvas.onblur = () => this.show();
    new ResizeObserver(() => this.show()).observe(canvas);
    this.last = null;
  }

  get brush() {
    return document.querySelector("input[name=brush]:checked").value;
  }

  placeOf(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return [share[0] * this.image.width, share[1] * this.image.height];
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.placeOf(event);
    this.stroke(this.last, this.last);
  }

  move(event) {
    if (this.last === null) return;
    const now = this.placeOf(event);
    this.stroke(this.last, now);
    this.last = now;
  }

  /** Paint along a line, with a brush that suits the size of the image. */
  stroke(from, to) {
    const radius = Math.max(0.75, this.image.width / 20);
    const steps = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) * 2) + 1;
    const values = [...this.panel.values];
    for (let step = 1; step <= steps; step++) {
      const at = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / steps);
      this.dab(values, at, radius);
    }
    this.panel.change(() => values);
  }

  dab(values, [x, y], radius) {
    const reach = Math.ceil(radius);
    for (let row = Math.floor(y) - reach; row <= y + reach; row++) {
      for (let column = Math.floor(x) - reach; column <= x + reach; column++) {
        const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y) / radius;
        const index =
          column >= 0 && column < this.image.width
            ? this.byPlace.get(row * this.image.width + column)
            : undefined;
        if (index !== undefined && distance < 1.2) this.touch(values, index, 1.4 - distance);
      }
    }
  }

  touch(values, index, strength) {
    const { minimum, top } = this.panel.controls[index];
    if (this.brush === "off") values[index] = null;
    else if (this.brush === "erase") values[index] = minimum;
    else {
      const ink = minimum + Math.round(Math.min(1, strength) * (top - minimum));
      values[index] = Math.max(values[index] ?? minimum, ink);
    }
  }

  key(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const { width, height } = this.image;
    const [row, column] = [Math.floor(this.cursor / width), this.cursor % width];
    if (event.key in steps) {
      const [down, right] = steps[event.key];
      this.cursor = ((row + down + height) % height) * width + ((column + right + width) % width);
      this.show();
    } else if (event.key === " " || event.key === "Enter") {
      const values = [...this.panel.values];
      const index = this.byPlace.get(this.cursor);
      if (index !== undefined) this.touch(values, index, 1);
      this.panel.change(() => values);
    } else return;
    event.preventDefault();
  }

  show() {
    const { canvas, image, panel } = this;
    const ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    const cell = Math.max(1, Math.round((canvas.clientWidth * ratio) / image.width));
    if (canvas.width !== cell * image.width) {
      canvas.width = cell * image.width;
      canvas.height = cell * image.height;
    }
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    context.clearRect(0, 0, canvas.width, canvas.height);
    for (const [place, index] of this.byPlace) {
      const { minimum, top } = panel.controls[index];
      const value = panel.values[index];
      context.globalAlpha =
        value === null ? 0.85 : Math.min(1, (value - minimum) / (top - minimum));
      context.fillStyle = style.getPropertyValue(value === null ? "--unknown" : "--ink");
      const [x, y] = [(place % image.width) * cell, Math.floor(place / image.width) * cell];
      context.fillRect(x, y, cell, cell);
    }
    context.globalAlpha = 1;
    if (document.activeElement !== canvas) return;
    context.strokeStyle = style.getPropertyValue("--link");
    context.lineWidth = 2 * ratio;
    const [x, y] = [this.cursor % image.width, Math.floor(this.cursor / image.width)];
    context.strokeRect(x * cell, y * cell, cell, cell);
  }
}
