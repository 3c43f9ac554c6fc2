// What the address of the page says: inputs, margin, selected net and view, to be sent to others.

/** Write integers, null where a feature is missing, as short text: equal neighbours once. */
export function packIntegers(integers) {
  const runs = [];
  for (const integer of integers) {
    const text = integer === null ? "x" : String(integer);
    if (runs.at(-1)?.text === text) runs.at(-1).count++;
    else runs.push({ text, count: 1 });
  }
  return runs.map(({ text, count }) => (count === 1 ? text : `${text}*${count}`)).join(",");
}

/** Read what packIntegers wrote; null if it does not fit the controls. */
export function unpackIntegers(text, controls) {
  const integers = [];
  for (const run of text.split(",")) {
    const match = /^(x|-?\d{1,10})(?:\*(\d{1,8}))?$/.exec(run);
    const count = Number(match?.[2] ?? 1);
    if (!match || integers.length + count > controls.length) return null;
    for (let each = 0; each < count; each++)
      integers.push(match[1] === "x" ? null : Number(match[1]));
  }
  const fits = integers.every((integer, index) => fitsControl(integer, controls[index]));
  return fits && integers.length === controls.length ? integers : null;
}

function fitsControl(integer, { minimum, maximum, step, canMiss }) {
  if (integer === null) return canMiss;
  return integer >= minimum && integer <= maximum && (integer - minimum) % step === 0;
}

/** Read the part of an address after "#" into an object of texts. */
export function readAddress(hash) {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

/** Write an object as the part of an address after "#", without what is undefined. */
export function writeAddress(state) {
  const given = Object.entries(state).filter(([, value]) => value !== undefined);
  // Commas are legal there, and easier to read as they are.
  return new URLSearchParams(given).toString().replaceAll("%2C", ",");
}
