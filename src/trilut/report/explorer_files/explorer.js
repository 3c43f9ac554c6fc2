// The page: it joins inputs, circuit, drawing and panels, and keeps its state in the address.

import { decide, encode, evaluate, nextStates, readCircuit, readsOf } from "./circuit.js";
import { Drawing } from "./drawing.js";
import { byId, counted, element } from "./elements.js";
import { InputPanel, controlsOf } from "./inputs.js";
import { arrange } from "./layout.js";
import { NetPanel, find, showDecision, showOutputs, showTrace } from "./panels.js";
import { packIntegers, readAddress, unpackIntegers, writeAddress } from "./state.js";
import { coneOf, readersOf } from "./tracing.js";

// Milliseconds of rest after which the address is written.
const REST = 250;
// Pixels that the arrow keys move the drawing by.
const STRIDE = 60;

class Explorer {
  constructor({ netlist, facts, samples }) {
    this.facts = facts;
    this.circuit = readCircuit(netlist);
    const { clientWidth, clientHeight } = byId("stage");
    this.layout = arrange(this.circuit, Math.min(Math.max(clientWidth / clientHeight, 0.8), 2));
    this.controls = controlsOf(this.circuit, this.layout.image, samples);
    this.states = [...this.circuit.resets];
    this.steps = 0;
    this.margin = this.circuit.head?.abstain_margin ?? 1;
    this.selected = -1;
    this.isWhy = false;
    this.drawing = new Drawing(byId("drawing"), this.circuit, this.layout, this.controls);
    const select = (net) => this.select(net, { isRevealed: true });
    this.inputs = new InputPanel(this.circuit, this.layout, this.controls, samples, () =>
      this.run(),
    );
    const readers = readersOf(this.circuit);
    this.readers = readers;
    this.net = new NetPanel(this.circuit, this.layout, facts, readers, select);
    this.build();
    this.restore();
  }

  build() {
    const { circuit, layout } = this;
    const depth = layout.levels.reduce((most, level) => Math.max(most, level), 0);
    const features = circuit.encoder
      ? `${counted(circuit.encoder.features.length, "feature")}, `
      : "";
    byId("about").textContent =
      `${features}${counted(circuit.numInputs, "input")}, ${counted(circuit.numGates, "gate")} ` +
      `in ${counted(depth, "level")}`;
    byId("decision").hidden = !circuit.head;
    byId("outputs-panel").hidden = Boolean(circuit.head);
    byId("steps-panel").hidden = circuit.resets.length === 0;
    byId("step").onclick = () => this.step();
    byId("reset").onclick = () => this.reset();
    if (circuit.head) this.buildMargin();
    byId("why").onclick = () => this.toggleWhy();
    byId("fit").onclick = () => this.drawing.fit();
    byId("closer").onclick = () => this.drawing.zoom(1.4);
    byId("farther").onclick = () => this.drawing.zoom(1 / 1.4);
    this.buildSearch();
    this.buildPointer();
    document.addEventListener("keydown", (event) => this.key(event));
    byId("drawing").addEventListener("keydown", (event) => this.drawingKey(event));
    matchMedia("(prefers-color-scheme: dark)").onchange = () => {
      this.drawing.readTheme();
      this.inputs.show();
    };
    new ResizeObserver(() => this.resize()).observe(byId("drawing"));
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.written) this.restore();
    });
  }

  buildMargin() {
    const { limit, group_sizes: sizes } = this.circuit.head;
    const most = 2 * (limit ?? 1) * Math.max(...sizes) + 1;
    const range = byId("margin");
    Object.assign(range, { min: 1, max: Math.max(most, Math.min(this.margin, 1e6)) });
    range.oninput = () => {
      this.margin = Number(range.value);
      this.showResult();
      this.save();
    };
  }

  buildSearch() {
    const search = byId("search");
    search.oninput = () => this.search();
    search.onkeydown = (event) => {
      if (event.key === "Escape") search.value = "";
      else if (event.key !== "Enter" || !this.found?.length) return;
      if (event.key === "Enter") this.take(this.found[0].thing);
      this.search();
      event.preventDefault();
    };
    search.onblur = () => setTimeout(() => (byId("found").hidden = true), REST);
    search.onfocus = () => this.search();
  }

  search() {
    this.found = find(this.circuit, this.layout, this.facts, byId("search").value);
    const items = this.found.slice(0, 12).map(({ thing, text }) => {
      return element(
        "li",
        {},
        element("button", { type: "button", textContent: text, onclick: () => this.take(thing) }),
      );
    });
    const isWanted = byId("search").value.trim() !== "";
    if (isWanted && items.length === 0) items.push(element("li", { textContent: "nothing found" }));
    byId("found").replaceChildren(...items);
    byId("found").hidden = !isWanted;
    this.drawing.mark({ found: new Set(this.found.map(({ thing }) => thing)) });
  }

  /** Go to a thing: select it if it is a net. */
  take(thing) {
    this.drawing.reveal(thing);
    if (thing < this.circuit.numNets) this.select(thing);
  }

  buildPointer() {
    const canvas = byId("drawing");
    const pointers = new Map();
    let isMoved = false;
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      isMoved = false;
    };
    canvas.onpointermove = (event) => {
      const now = [event.offsetX, event.offsetY];
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(this.drawing.pick(...now));
      const [right, down] = [now[0] - before[0], now[1] - before[1]];
      if (!isMoved && Math.hypot(right, down) < 4) return;
      isMoved = true;
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      const spread = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      if (other) this.drawing.zoom(spread(now) / spread(before), ...other);
      else this.drawing.pan(right, down);
      pointers.set(event.pointerId, now);
      this.save();
    };
    canvas.onpointerup = canvas.onpointercancel = (event) => {
      const isClick = pointers.delete(event.pointerId) && !isMoved && event.type === "pointerup";
      if (isClick) this.click(this.drawing.pick(event.offsetX, event.offsetY));
    };
    canvas.onpointerleave = () => this.hover(-1);
    canvas.onwheel = (event) => {
      event.preventDefault();
      this.drawing.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      this.save();
    };
  }

  click(thing) {
    const isFeature = thing >= this.layout.firstFeature && thing < this.layout.firstSink;
    if (isFeature) {
      const index = thing - this.layout.firstFeature;
      this.inputs.set(index, this.inputs.values[index] === null ? this.inputs.kept[index] : null);
    } else this.select(thing < this.circuit.numNets ? thing : -1);
  }

  hover(thing) {
    if (thing === this.hovered) return;
    this.hovered = thing;
    this.drawing.mark({ hovered: thing });
    this.focus();
    byId("pointed").textContent = thing < 0 ? "" : this.describe(thing);
  }

  describe(thing) {
    const { layout, circuit } = this;
    if (thing < circuit.numNets) return `net ${thing}`;
    if (thing >= layout.firstSink) return layout.sinks[thing - layout.firstSink].name;
    const index = thing - layout.firstFeature;
    const value = this.inputs.values[index];
    const { name, text } = this.controls[index];
    const [now, next] = value === null ? ["missing", "on"] : [text(value), "off"];
    return `${name}: ${now} (click to switch ${next})`;
  }

  /** Light the cone of what is pointed at or selected, or what the trace follows. */
  focus() {
    const { circuit, layout } = this;
    const pointed = this.hovered >= 0 ? this.hovered : this.selected;
    if (pointed < 0 || (pointed >= layout.firstFeature && pointed < layout.firstSink)) {
      return this.drawing.mark({ focus: null });
    }
    const followed = new Map();
    const isTrace = this.isWhy && pointed === this.selected;
    if (isTrace) for (const step of this.traced) followed.set(step.net, step.because);
    const nets =
      pointed < circuit.numNets ? [pointed] : layout.sinks[pointed - layout.firstSink].nets;
    if (pointed >= circuit.numNets) followed.set(pointed, nets);
    for (const net of isTrace ? [] : nets) this.addCone(followed, net);
    for (const net of [...followed.keys()]) {
      const feature = circuit.encoder?.feature[net];
      if (feature === undefined || net >= circuit.numInputs) continue;
      followed.set(net, [layout.firstFeature + feature]);
      followed.set(layout.firstFeature + feature, []);
    }
    this.drawing.mark({ focus: followed });
  }

  addCone(followed, net) {
    const { circuit } = this;
    for (const each of coneOf(circuit, net)) {
      followed.set(
        each,
        each < circuit.numInputs ? [] : readsOf(circuit, each - circuit.numInputs),
      );
    }
  }

  select(net, { isRevealed = false } = {}) {
    this.selected = net;
    this.drawing.mark({ selected: net });
    if (isRevealed && net >= 0) this.drawing.reveal(net);
    this.showNet();
    this.save();
  }

  toggleWhy() {
    this.isWhy = !this.isWhy;
    this.showNet();
    this.save();
  }

  showNet() {
    this.net.show(this.selected, this.values, this.inputs.values);
    const isShown = this.isWhy && this.selected >= 0;
    byId("why").setAttribute("aria-pressed", String(this.isWhy));
    byId("trace").hidden = !isShown;
    if (this.selected >= 0) {
      const isUnknown = byId("net-title").dataset.value === "0";
      byId("why").textContent = isUnknown ? "Why is this UNKNOWN?" : "Why this value?";
    }
    if (isShown) {
      const select = (net) => this.select(net, { isRevealed: true });
      const { circuit, facts, values, inputs, selected } = this;
      this.traced = showTrace(circuit, facts, values, inputs.values, selected, select);
    }
    this.focus();
  }

  /** Compute everything for the inputs as they are, and show it. */
  run({ atOnce = false } = {}) {
    const { circuit, inputs } = this;
    const trits = circuit.encoder ? encode(circuit.encoder, inputs.values) : inputs.values;
    this.values = evaluate(circuit, [...trits, ...this.states]);
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.showResult({ atOnce: atOnce || isStill });
    this.save();
  }

  showResult(options = { atOnce: true }) {
    const { circuit, values, margin } = this;
    const decision = circuit.head ? decide(circuit, values, margin) : null;
    if (decision) {
      byId("margin").value = margin;
      byId("margin-text").textContent = String(margin);
      showDecision(circuit, decision, margin, this.facts.not_certain);
    } else showOutputs(this.layout.sinks, values, (net) => this.select(net, { isRevealed: true }));
    byId("step-count").textContent = `step ${this.steps}`;
    const unknown = values.reduce((count, value) => count + Number(value === 0), 0);
    byId("unknown-count").textContent = `${counted(unknown, "net")} UNKNOWN`;
    this.drawing.show(
      { values, integers: circuit.encoder ? this.inputs.values : [], decision },
      options,
    );
    this.showNet();
  }

  step() {
    this.states = nextStates(this.circuit, this.values);
    this.steps++;
    this.run();
  }

  reset() {
    this.states = [...this.circuit.resets];
    this.steps = 0;
    this.run();
  }

  resize() {
    this.drawing.resize();
    if (this.isPlaced || !this.drawing.width) return;
    this.isPlaced = true;
    if (this.wantedView) this.drawing.setView(this.wantedView);
    else this.drawing.fit();
  }

  key(event) {
    const isTyping =
      /^(INPUT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const actions = {
      "/": () => byId("search").focus(),
      n: () => this.inputs.take(this.inputs.sample + 1),
      p: () => this.inputs.take(this.inputs.sample - 1),
      w: () => this.toggleWhy(),
      0: () => this.drawing.fit(),
      "+": () => this.drawing.zoom(1.4),
      "=": () => this.drawing.zoom(1.4),
      "-": () => this.drawing.zoom(1 / 1.4),
      Escape: () => this.select(-1),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    actions[event.key]();
    event.preventDefault();
  }

  /** Arrow keys walk from net to net; with Shift they move the drawing. */
  drawingKey(event) {
    const moves = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (!(event.key in moves)) return;
    event.preventDefault();
    const [right, down] = moves[event.key];
    if (event.shiftKey) return this.drawing.pan(right * STRIDE, down * STRIDE);
    this.select(this.neighbour(right, down), { isRevealed: true });
  }

  /** The net beside the selected one: what it reads, what reads it, or the next of its level. */
  neighbour(left, up) {
    const { circuit, layout, selected } = this;
    if (selected < 0) return 0;
    if (left > 0)
      return selected < circuit.numInputs
        ? selected
        : readsOf(circuit, selected - circuit.numInputs)[0];
    if (left < 0) return this.readers[selected][0] ?? selected;
    const level = layout.levels[selected];
    const place = (net) => layout.y[net] * 4096 + layout.x[net];
    const own = [...layout.levels.keys()].filter((net) => layout.levels[net] === level);
    own.sort((a, b) => place(a) - place(b));
    return own[(own.indexOf(selected) - up + own.length) % own.length];
  }

  /** Take the state that the address names, as far as it fits this circuit. */
  restore() {
    const given = readAddress(location.hash);
    const integers = given.x === undefined ? null : unpackIntegers(given.x, this.controls);
    if (integers) this.inputs.change(() => integers, { isQuiet: true });
    else if (this.inputs.samples.length > 0) {
      this.inputs.change(() => this.inputs.samples[0].values, { isQuiet: true });
    } else this.inputs.show();
    const margin = Number(given.m);
    if (Number.isInteger(margin) && margin >= 1 && this.circuit.head) this.margin = margin;
    const view = given.v?.split(",").map(Number) ?? [];
    const isView = view.length === 3 && view.every(Number.isFinite) && view[2] > 0;
    this.wantedView = isView ? { x: view[0], y: view[1], scale: view[2] } : null;
    if (this.isPlaced && isView) this.drawing.setView(this.wantedView);
    this.isWhy = given.w === "1";
    const net = Number(given.n ?? -1);
    const isNet = Number.isInteger(net) && net >= 0 && net < this.circuit.numNets;
    this.selected = isNet ? net : -1;
    this.drawing.mark({ selected: this.selected });
    this.run({ atOnce: true });
  }

  /** Write the state into the address, once nothing has changed for a moment. */
  save() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      const { x, y, scale } = this.drawing.view;
      this.written = writeAddress({
        x: packIntegers(this.inputs.values),
        m: this.circuit.head ? this.margin : undefined,
        n: this.selected >= 0 ? this.selected : undefined,
        w: this.isWhy ? 1 : undefined,
        v: [x, y, scale].map((number) => Number(number.toPrecision(5))).join(","),
      });
      history.replaceState(null, "", `#${this.written}`);
    }, REST);
  }
}

// For the console, and for tests.
globalThis.explorer = new Explorer(JSON.parse(byId("data").textContent));
