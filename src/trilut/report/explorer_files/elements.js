// Elements of the page. Text always goes in as text: names come from files.

/** Make an element with properties, and children that are elements or texts. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  const { dataset, attributes, ...others } = properties;
  Object.assign(made, others);
  Object.assign(made.dataset, dataset);
  for (const [name, value] of Object.entries(attributes ?? {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Find an element of the page by its id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Write a value as people read it. */
export function signOf(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return `${value > 0 ? "+" : "−"}${size === 1 ? "" : size}`;
}

/** Write a value as a word. */
export function wordOf(value, isScore) {
  if (isScore) return `score ${value}`;
  return value > 0 ? "TRUE" : value < 0 ? "FALSE" : "UNKNOWN";
}

/** Write a count with its noun. */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
