// What the page says in words: the decision, a net, why it has its value, and what a search finds.

import { BIT, SCORE, levelOf, readsOf, tableOf } from "./circuit.js";
import { byId, counted, element, signOf, wordOf } from "./elements.js";
import { coneOf, rowValues, trace } from "./tracing.js";

const PORTS = "abcdef";
// Lists of nets end after as many.
const MOST_NETS = 40;
const MOST_STEPS = 400;
const MOST_FOUND = 200;

/** Show the decision of the head: class, margin, what is certain, scores. */
export function showDecision(circuit, decision, abstainMargin, reasonNotCertain) {
  const { classes } = circuit.head;
  const name = classes[decision.chosen];
  const answer = decision.unknown ? "abstains" : name;
  byId("answer").textContent = answer;
  byId("brief").textContent = `${answer}, margin ${decision.margin}`;
  byId("answer").classList.toggle("abstains", decision.unknown);
  byId("instead").textContent = decision.unknown
    ? `${name} has the highest score, but the margin ${decision.margin} is below ${abstainMargin}`
    : `margin ${decision.margin}, which is not below ${abstainMargin}`;
  byId("certain").textContent = reasonNotCertain || certaintyText(decision.certain);
  byId("certain").classList.toggle("quiet", reasonNotCertain !== "");
  const members = decision.members && classes.filter((_, index) => decision.members[index]);
  byId("members").textContent = members ? `prediction set: ${members.join(", ")}` : "";
  showScores(circuit, decision);
}

function certaintyText(isCertain) {
  return isCertain
    ? "Certain: no value of a missing feature can change the class."
    : "Not certain: UNKNOWN outputs could change the class.";
}

/** A bar for each class, and around its end as much as the UNKNOWN outputs could make it. */
function showScores({ head }, { scores, unknowns, chosen }) {
  const limit = head.limit ?? 1;
  const list = byId("scores");
  if (list.childElementCount !== scores.length) {
    list.replaceChildren(...head.classes.map(scoreRow));
  }
  const most = head.group_sizes.reduce((largest, size) => Math.max(largest, size), 1) * limit;
  const place = (score) => 50 + (50 * score) / most;
  scores.forEach((score, index) => {
    const row = list.children[index];
    const [bar, range] = row.querySelectorAll("i");
    row.classList.toggle("chosen", index === chosen);
    row.querySelector("output").textContent = String(score);
    bar.style.left = `${Math.min(50, place(score))}%`;
    bar.style.width = `${Math.abs(place(score) - 50)}%`;
    range.style.left = `${place(Math.max(score - unknowns[index], -most))}%`;
    const reach =
      Math.min(score + unknowns[index], most) - Math.max(score - unknowns[index], -most);
    range.style.width = `${(50 * reach) / most}%`;
    row.title = `${score}, with ${counted(unknowns[index], "UNKNOWN output")}`;
  });
}

function scoreRow(name) {
  const track = element(
    "div",
    { className: "bar" },
    element("i"),
    element("i", { className: "range" }),
  );
  const title = element("span", { className: "name", textContent: name, title: name });
  return element("li", {}, title, track, element("output"));
}

/** Show the outputs of a circuit without a head. */
export function showOutputs(sinks, values, select) {
  const items = sinks.slice(0, MOST_FOUND).map(({ name, nets: [net] }) => {
    return element("li", {}, `${name}: `, netButton(net, values, select));
  });
  byId("outputs").replaceChildren(...items);
}

function netButton(net, values, select, kinds) {
  return element("button", {
    type: "button",
    className: "net",
    textContent: `net ${net} = ${signOf(values[net])}`,
    dataset: { value: kinds?.[net] === SCORE ? "score" : Math.sign(values[net]) },
    onclick: () => select(net),
  });
}

/** All about one net: what it is, its table and logic, what it reads and is read by. */
export class NetPanel {
  constructor(circuit, layout, facts, readers, select) {
    Object.assign(this, { circuit, layout, facts, readers, select });
  }

  /** Show a net; nothing if it is -1. */
  show(net, values, integers) {
    byId("net-panel").hidden = net < 0;
    byId("no-net").hidden = net >= 0;
    if (net < 0) return;
    const { circuit, layout } = this;
    const isScore = circuit.kinds[net] === SCORE;
    byId("net-title").textContent = `net ${net}: ${wordOf(values[net], isScore)}`;
    byId("net-title").dataset.value = isScore ? "score" : Math.sign(values[net]);
    const isGate = net >= circuit.numInputs;
    const parts = [...(isGate ? this.gateLines(net) : this.inputLines(net, integers))];
    const cone = coneOf(circuit, net);
    const numGates = [...cone].filter((each) => each >= circuit.numInputs).length;
    parts.push(`cone: ${counted(numGates, "gate")}, ${counted(cone.size - numGates, "input")}`);
    const feeds = layout.sinks.filter(({ nets }) => nets.includes(net)).map(({ name }) => name);
    if (feeds.length > 0) parts.push(`output of ${feeds.slice(0, 8).join(", ")}`);
    byId("net-facts").replaceChildren(...parts.map((text) => element("li", {}, text)));
    byId("table").replaceChildren(...(isGate ? this.table(net, values) : []));
    this.list(
      "parents",
      isGate ? [...new Set(readsOf(circuit, net - circuit.numInputs))] : [],
      values,
    );
    this.list("readers", this.readers[net], values);
  }

  *inputLines(net, integers) {
    const { circuit } = this;
    const { encoder } = circuit;
    const firstState = circuit.numInputs - circuit.resets.length;
    yield net >= firstState ? `state ${net - firstState}` : `input ${net}`;
    if (!encoder || net >= firstState) return;
    yield inputText(encoder, net, integers);
    const [low, high] = [encoder.low[net], encoder.high[net]];
    yield low === high
      ? `FALSE below ${low}, TRUE from there on`
      : `UNKNOWN from ${low}, TRUE from ${high}`;
  }

  *gateLines(net) {
    const { circuit, layout, facts } = this;
    const gate = net - circuit.numInputs;
    const text = tableText(circuit, gate);
    const name = facts.names[text];
    yield `gate ${gate}, level ${layout.levels[net]}, ${name ? `“${name}”, ` : ""}table ${text}`;
    if (!facts.logic) return;
    yield* facts.logic.texts[facts.logic.of[gate]].split("\n");
    const [lut4, lut6] = [facts.lut4[gate], facts.lut6[gate]];
    yield lut4 === 0
      ? "no LUT: wires alone"
      : `by itself ${counted(lut4, "LUT4")} or ${counted(lut6, "LUT6")}`;
  }

  list(id, nets, values) {
    const { select } = this;
    const buttons = nets
      .slice(0, MOST_NETS)
      .map((net) => netButton(net, values, select, this.circuit.kinds));
    const left = nets.length - buttons.length;
    byId(id).replaceChildren(...buttons, ...(left > 0 ? [` and ${left} more`] : []));
    byId(id).parentElement.hidden = nets.length === 0;
  }

  /** The table of a gate, with the row that is there now, and pale those that never are. */
  table(net, values) {
    const { circuit, facts } = this;
    const gate = net - circuit.numInputs;
    const sources = readsOf(circuit, gate);
    const now = [...sources].reduce((row, source) => {
      return row * circuit.kinds[source] + levelOf(values[source], circuit.kinds[source]);
    }, 0);
    const occurs = facts.rows && facts.rows.texts[facts.rows.of[gate]];
    const isScore = circuit.kinds[net] === SCORE;
    const cell = (row) => {
      const value = tableOf(circuit, gate)[row];
      const isNever = occurs && occurs[row] !== "1";
      return element("td", {
        textContent: signOf(value),
        className: `${row === now ? "now" : ""} ${isNever ? "never" : ""}`,
        title: isNever ? "never occurs" : "",
        dataset: { value: isScore ? "score" : Math.sign(value) },
      });
    };
    return sources.length === 2
      ? squareTable(circuit, sources, cell)
      : longTable(circuit, sources, tableOf(circuit, gate).length, cell);
  }
}

function squareTable(circuit, [a, b], cell) {
  const values = (net) => (circuit.kinds[net] === BIT ? [-1, 1] : [-1, 0, 1]);
  const heading = (text) => element("th", { textContent: text });
  const width = values(b).length;
  const head = element(
    "tr",
    {},
    heading("a \\ b"),
    ...values(b).map((value) => heading(signOf(value))),
  );
  const rows = values(a).map((value, place) => {
    const cells = values(b).map((_, column) => cell(place * width + column));
    return element("tr", {}, heading(signOf(value)), ...cells);
  });
  return [head, ...rows];
}

function longTable(circuit, sources, numRows, cell) {
  const heading = (text) => element("th", { textContent: text });
  const head = element(
    "tr",
    {},
    ...[...sources].map((_, slot) => heading(PORTS[slot])),
    heading(""),
  );
  const rows = Array.from({ length: numRows }, (_, row) => {
    const inputs = rowValues(circuit, sources, row).map((value) => heading(signOf(value)));
    return element("tr", {}, ...inputs, cell(row));
  });
  return [head, ...rows];
}

function tableText(circuit, gate) {
  const values = [...tableOf(circuit, gate)];
  const isScore = circuit.kinds[circuit.numInputs + gate] === SCORE;
  return isScore ? `[${values.join(", ")}]` : values.map((value) => "-0+"[value + 1]).join("");
}

function inputText(encoder, net, integers) {
  const number = encoder.feature[net];
  const { name, least, most } = encoder.features[number];
  const x = integers[number];
  if (x === null) return `feature “${name}” is missing`;
  if (x < least || x > most) return `feature “${name}” = ${x} is out of range`;
  if (x < encoder.low[net]) return `feature “${name}” = ${x} is below ${encoder.low[net]}`;
  if (x >= encoder.high[net]) return `feature “${name}” = ${x} is at least ${encoder.high[net]}`;
  return `feature “${name}” = ${x} is at least ${encoder.low[net]} and below ${encoder.high[net]}`;
}

/** Say why a net has its value, as `trilut trace` does; return the steps. */
export function showTrace(circuit, facts, values, integers, net, select) {
  const steps = trace(circuit, values, net);
  const depth = new Map([[net, 0]]);
  const items = steps.slice(0, MOST_STEPS).map((step) => {
    for (const each of step.because) {
      depth.set(each, Math.max(depth.get(each) ?? 0, depth.get(step.net) + 1));
    }
    return traceItem(circuit, facts, values, integers, step, depth.get(step.net), select);
  });
  const left = steps.length - items.length;
  if (left > 0) items.push(element("li", {}, `and ${counted(left, "more net")}`));
  byId("trace").replaceChildren(...items);
  return steps;
}

function traceItem(circuit, facts, values, integers, step, depth, select) {
  const item = element("li", {}, netButton(step.net, values, select, circuit.kinds), " ");
  item.style.paddingLeft = `${Math.min(depth, 12) * 0.7}rem`;
  if (step.role === "input") {
    const isFeature = circuit.encoder && step.net < circuit.encoder.feature.length;
    item.append(isFeature ? inputText(circuit.encoder, step.net, integers) : "input");
    return item;
  }
  const text = tableText(circuit, step.net - circuit.numInputs);
  const operands = step.reads.map((each) => {
    const isFollowed = step.because.includes(each);
    return `net ${each} = ${signOf(values[each])}${isFollowed ? "" : " (not followed)"}`;
  });
  item.append(`${facts.names[text] ?? text}(${operands.join(", ")})`);
  if (step.role === "makes") item.append(element("b", { textContent: " made here" }));
  return item;
}

/** Find things by number of net or gate, or by name of feature, class or gate. */
export function find(circuit, layout, facts, wanted) {
  const text = wanted.trim().toLowerCase();
  if (text === "") return [];
  const numbered = /^(net|gate|n|g)?\s*(\d+)$/.exec(text);
  const found = [];
  if (numbered) {
    const isGate = numbered[1]?.startsWith("g");
    const net = Number(numbered[2]) + (isGate ? circuit.numInputs : 0);
    if (net < circuit.numNets) found.push({ thing: net, text: `net ${net}` });
  }
  const add = (name, thing, what) => {
    if (found.length < MOST_FOUND && name.toLowerCase().includes(text)) {
      found.push({ thing, text: `${what} ${name}` });
    }
  };
  circuit.encoder?.features.forEach(({ name }, index) =>
    add(name, layout.firstFeature + index, "feature"),
  );
  layout.sinks.forEach(({ name }, index) =>
    add(name, layout.firstSink + index, circuit.head ? "class" : ""),
  );
  for (let gate = 0; gate < circuit.numGates && found.length < MOST_FOUND; gate++) {
    const table = tableText(circuit, gate);
    const isMatch = table === text || facts.names[table]?.toLowerCase() === text;
    const net = circuit.numInputs + gate;
    if (isMatch) found.push({ thing: net, text: `net ${net}: ${facts.names[table] ?? table}` });
  }
  return found;
}
