// The circuit on a canvas: nets that light up by their value, wires, zoom, and what is pointed at.
//
// Wires are painted into a picture of their own (wires.js), nets into pixels (raster.js); names and
// marks are drawn on top.

import { SCORE } from "./circuit.js";
import { Raster, bytesOf } from "./raster.js";
import { STYLES, WirePainter } from "./wires.js";

// Milliseconds in which a change runs through all levels.
const WAVE = 450;
// Pixels around the picture: names of features at the left, classes at the right.
const MARGIN = { left: 124, right: 120, top: 34, bottom: 16 };
const MOST_SCALE = 80;
// Pixels for a net at which it is a shape and not a square, and has its sign written in it.
const SHAPE = 4;
const SIGNS = 15;

const [FALSE, TRUE, UNKNOWN] = [0, 1, 2];
const DIM = 0.18;
const CLEAR = [0, 0, 0, 0];

/** How a value is drawn: as FALSE, TRUE or UNKNOWN; a score by its sign. */
function styleOf(value, kind) {
  if (value === 0) return kind === SCORE ? FALSE : UNKNOWN;
  return value > 0 ? TRUE : FALSE;
}

/** The drawing of a circuit on a canvas. */
export class Drawing {
  constructor(canvas, circuit, layout, controls) {
    this.canvas = canvas;
    this.circuit = circuit;
    this.layout = layout;
    this.controls = controls;
    this.context = canvas.getContext("2d");
    this.view = { x: 0, y: 0, scale: 1 };
    this.shown = new Int8Array(circuit.numNets);
    this.state = { values: this.shown, integers: [], decision: null };
    this.marks = { selected: -1, hovered: -1, found: new Set(), focus: null };
    this.waveStart = null;
    this.painter = new WirePainter(this);
    this.nets = new Raster();
    this.frames = 0;
    this.isAsked = false;
    this.readTheme();
  }

  /** Read the colours of the page again, which change with its theme. */
  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = ["paper", "ink", "quiet", "link", ...STYLES];
    this.colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
    this.bytes = Object.fromEntries(names.map((name) => [name, bytesOf(colour(name))]));
    this.stamps = new Map();
    this.painter.isStale = true;
    this.ask();
  }

  /** Take the size of the page's element. */
  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = Math.min(globalThis.devicePixelRatio || 1, 2);
    [this.width, this.height] = [clientWidth, clientHeight];
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.painter.isStale = true;
    this.ask();
  }

  /** Show the whole circuit. */
  fit() {
    const { layout } = this;
    const narrow = this.width < 500 ? 0.5 : 1;
    const [left, right] = [MARGIN.left * narrow, MARGIN.right * narrow];
    const room = [this.width - left - right, this.height - MARGIN.top - MARGIN.bottom];
    const scale = Math.min(room[0] / layout.width, room[1] / layout.height, 40);
    this.setView({
      scale,
      x: layout.width / 2 - (left + room[0] / 2) / scale,
      y: layout.height / 2 - (MARGIN.top + room[1] / 2) / scale,
    });
  }

  setView(view) {
    this.view = view;
    this.painter.isStale = true;
    this.ask();
  }

  /** Move by pixels. */
  pan(right, down) {
    const { x, y, scale } = this.view;
    this.setView({ x: x - right / scale, y: y - down / scale, scale });
  }

  /** Zoom so that what is at a pixel stays there. */
  zoom(factor, atX = this.width / 2, atY = this.height / 2) {
    const { x, y, scale } = this.view;
    const least = Math.min(0.5 * (this.width / this.layout.width), 2);
    const next = Math.min(Math.max(scale * factor, least), MOST_SCALE);
    const moved = 1 / scale - 1 / next;
    this.setView({ x: x + atX * moved, y: y + atY * moved, scale: next });
  }

  /** Move a thing into sight, and close enough to be seen. */
  reveal(thing) {
    const [x, y] = this.place(thing);
    const isThere = x > 20 && y > 20 && x < this.width - 20 && y < this.height - 20;
    const scale = Math.max(this.view.scale, 8);
    if (isThere && scale === this.view.scale) return;
    const { x: left, y: top } = this.layout;
    this.setView({
      scale,
      x: left[thing] - this.width / 2 / scale,
      y: top[thing] - this.height / 2 / scale,
    });
  }

  /** The pixel of a thing. */
  place(thing) {
    const { x, y, scale } = this.view;
    return [(this.layout.x[thing] - x) * scale, (this.layout.y[thing] - y) * scale];
  }

  /** The thing nearest to a pixel, if it is near; -1 if none is. */
  pick(atX, atY) {
    const reach = Math.max(0.6 * this.view.scale, 7) ** 2;
    let [best, nearest] = [-1, reach];
    for (let thing = 0; thing < this.layout.x.length; thing++) {
      const [x, y] = this.place(thing);
      const distance = (x - atX) ** 2 + (y - atY) ** 2;
      if (distance < nearest) [best, nearest] = [thing, distance];
    }
    return best;
  }

  /** Show new values; they run through the circuit level by level unless `atOnce`. */
  show(state, { atOnce = false } = {}) {
    this.shown = Int8Array.from(this.state.values);
    this.state = state;
    this.waveStart = atOnce ? null : performance.now();
    if (atOnce) this.shown = state.values;
    this.painter.isStale = true;
    this.ask();
  }

  /** Mark things: {selected, hovered, found, focus}; focus maps a thing to what it follows. */
  mark(marks) {
    if ("focus" in marks && marks.focus !== this.marks.focus) this.painter.isStale = true;
    Object.assign(this.marks, marks);
    this.ask();
  }

  /** Ask for a frame. */
  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame((now) => {
      this.isAsked = false;
      this.draw(now);
    });
  }

  draw(now) {
    if (!this.width || !this.height) return;
    this.frames++;
    this.runWave(now);
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const isMore = this.painter.work();
    this.painter.show(context);
    this.drawTitles();
    this.drawFeatures();
    this.drawNets();
    this.drawSinks();
    this.drawMarks();
    if (isMore || this.waveStart !== null) this.ask();
  }

  runWave(now) {
    if (this.waveStart === null) return;
    const { levels } = this.layout;
    const { values } = this.state;
    const depth = levels.reduce((most, level) => Math.max(most, level), 0) + 1;
    const reached = Math.floor(((now - this.waveStart) / WAVE) * depth);
    let isChanged = false;
    for (let net = 0; net < values.length; net++) {
      if (levels[net] <= reached && this.shown[net] !== values[net]) {
        this.shown[net] = values[net];
        isChanged = true;
      }
    }
    if (isChanged) this.painter.isStale = true;
    if (reached >= depth) this.waveStart = null;
  }

  /** How a thing at the start of a wire is drawn. */
  sourceStyle(thing) {
    if (thing < this.circuit.numNets) return styleOf(this.shown[thing], this.circuit.kinds[thing]);
    return this.state.integers[thing - this.layout.firstFeature] === null ? UNKNOWN : FALSE;
  }

  isDim(thing) {
    return this.marks.focus !== null && !this.marks.focus.has(thing);
  }

  /** Call a function with each thing of a range that is in sight, and its pixel. */
  eachInSight(first, end, visit) {
    const { x: left, y: top, scale } = this.view;
    const { x: xs, y: ys } = this.layout;
    const border = scale;
    for (let thing = first; thing < end; thing++) {
      const x = (xs[thing] - left) * scale;
      const y = (ys[thing] - top) * scale;
      if (x > -border && y > -border && x < this.width + border && y < this.height + border) {
        visit(thing, x, y);
      }
    }
  }

  drawTitles() {
    const { context, view, layout } = this;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillStyle = this.colours.quiet;
    let end = -Infinity;
    for (const { title, x, width } of layout.columns) {
      const middle = (x + width / 2 - view.x) * view.scale;
      const half = context.measureText(title).width / 2 + 4;
      // A title that would touch the one before is left out.
      if (middle - half < end) continue;
      context.fillText(title, middle, Math.max(16, -view.y * view.scale - 8));
      end = middle + half;
    }
  }

  drawNets() {
    const { context, circuit, view, ratio, nets } = this;
    const size = Math.max(1, 0.76 * view.scale);
    nets.begin(this.canvas.width, this.canvas.height, CLEAR);
    this.eachInSight(0, circuit.numNets, (net, x, y) => {
      const style = styleOf(this.shown[net], circuit.kinds[net]);
      nets.stamp(this.stampOf(style, size, this.isDim(net)), x * ratio, y * ratio);
    });
    nets.end();
    context.drawImage(nets.canvas, 0, 0, this.width, this.height);
    if (size < SIGNS) return;
    this.eachInSight(0, circuit.numNets, (net, x, y) => {
      context.globalAlpha = this.isDim(net) ? DIM : 1;
      this.drawSign(net, x, y, size);
    });
    context.globalAlpha = 1;
  }

  drawSign(net, x, y, size) {
    const { context } = this;
    const value = this.shown[net];
    const isScore = this.circuit.kinds[net] === SCORE;
    const sign = isScore && value !== 0 ? Math.abs(value) : "";
    const isUnknown = styleOf(value, this.circuit.kinds[net]) === UNKNOWN;
    context.fillStyle = isUnknown ? this.colours.unknown : this.colours.paper;
    context.font = `600 ${Math.round(size * 0.6)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(`${value > 0 ? "+" : value < 0 ? "−" : "0"}${sign}`, x, y + size * 0.04);
  }

  /** A small picture of a net: a disc if it is known, a ring if it is not; a dot if it is tiny. */
  stampOf(style, size, isDim) {
    const side = Math.round(size * this.ratio);
    const key = side * 8 + style * 2 + Number(isDim);
    if (!this.stamps.has(key)) this.stamps.set(key, this.newStamp(style, side, isDim));
    return this.stamps.get(key);
  }

  newStamp(style, side, isDim) {
    const context = new OffscreenCanvas(side, side).getContext("2d");
    const line = style === UNKNOWN ? Math.max(1.2, side * 0.16) : 0;
    context.globalAlpha = isDim ? DIM : 1;
    context.beginPath();
    if (side < SHAPE * this.ratio) context.rect(0, 0, side, side);
    else context.arc(side / 2, side / 2, (side - line) / 2, 0, 2 * Math.PI);
    const isRing = style === UNKNOWN && side >= SHAPE * this.ratio;
    context.fillStyle = isRing ? this.colours.paper : this.colours[STYLES[style]];
    context.fill();
    if (isRing) {
      context.strokeStyle = this.colours.unknown;
      context.lineWidth = line;
      context.stroke();
    }
    const { data } = context.getImageData(0, 0, side, side);
    return { size: side, pixels: new Uint32Array(data.buffer) };
  }

  drawFeatures() {
    const { context, layout, view } = this;
    const { firstFeature, firstSink } = layout;
    const size = Math.max(1, (layout.image ? layout.pixel : 0.76) * view.scale);
    const hasNames = !layout.image && view.scale >= 9;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    this.eachInSight(firstFeature, firstSink, (thing, x, y) => {
      const { name, minimum, top } = this.controls[thing - firstFeature];
      const integer = this.state.integers[thing - firstFeature];
      const isMissing = integer === null;
      const share = isMissing ? 1 : 0.05 + 0.9 * Math.min(1, (integer - minimum) / (top - minimum));
      context.globalAlpha = this.isDim(thing) ? DIM : share;
      context.fillStyle = isMissing ? this.colours.unknown : this.colours.ink;
      context.fillRect(x - size / 2, y - size / 2, size, size);
      context.globalAlpha = this.isDim(thing) ? DIM : 1;
      if (isMissing && size >= 6) this.drawCross(x, y, size);
      if (!layout.image) {
        context.strokeStyle = isMissing ? this.colours.unknown : this.colours.quiet;
        context.lineWidth = 1;
        context.strokeRect(x - size / 2, y - size / 2, size, size);
      }
      if (hasNames) {
        context.fillStyle = this.colours.ink;
        context.fillText(shortened(name, 16), x - size / 2 - 6, y);
      }
    });
    context.globalAlpha = 1;
  }

  drawCross(x, y, size) {
    const { context } = this;
    const arm = size * 0.28;
    context.strokeStyle = this.colours.paper;
    context.lineWidth = Math.max(1, size * 0.1);
    context.beginPath();
    context.moveTo(x - arm, y - arm);
    context.lineTo(x + arm, y + arm);
    context.moveTo(x + arm, y - arm);
    context.lineTo(x - arm, y + arm);
    context.stroke();
  }

  drawSinks() {
    const { context, layout, state, circuit, view } = this;
    const size = Math.min(Math.max(6, view.scale), 22);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const count = layout.sinks.length;
    const hasNames = (layout.height / Math.min(count, layout.height)) * view.scale >= 11;
    this.eachInSight(layout.firstSink, layout.firstSink + count, (thing, x, y) => {
      const sink = thing - layout.firstSink;
      const isChosen = state.decision !== null && state.decision.chosen === sink;
      const isSure = isChosen && !state.decision.unknown;
      context.globalAlpha = this.isDim(thing) ? 0.4 : 1;
      context.fillStyle = isSure ? this.colours.link : this.colours.paper;
      context.strokeStyle = isChosen ? this.colours.link : this.colours.quiet;
      if (!circuit.head) {
        const net = layout.sinks[sink].nets[0];
        const style = styleOf(this.shown[net], circuit.kinds[net]);
        context.strokeStyle = this.colours[STYLES[style]];
        context.fillStyle = style === UNKNOWN ? this.colours.paper : context.strokeStyle;
      }
      context.lineWidth = 1.5;
      context.beginPath();
      context.rect(x - size / 2, y - size / 2, size, size);
      context.fill();
      context.stroke();
      if (!hasNames) return;
      const score = state.decision ? `  ${state.decision.scores[sink]}` : "";
      context.font = `${isChosen ? "600 " : ""}12px system-ui, sans-serif`;
      context.fillStyle = this.colours.ink;
      context.fillText(shortened(layout.sinks[sink].name, 14) + score, x + size / 2 + 6, y);
    });
    context.globalAlpha = 1;
  }

  drawMarks() {
    const { context, marks, view } = this;
    const ring = (thing, colour, width) => {
      const [x, y] = this.place(thing);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.arc(x, y, Math.max(0.62 * view.scale, 5), 0, 2 * Math.PI);
      context.stroke();
    };
    for (const thing of marks.found) ring(thing, this.colours.link, 1.5);
    if (marks.hovered >= 0) ring(marks.hovered, this.colours.ink, 1.5);
    if (marks.selected >= 0) ring(marks.selected, this.colours.ink, 3);
  }
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
