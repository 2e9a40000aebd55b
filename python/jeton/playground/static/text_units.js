// Characters as Python counts them (code points) ⇄ characters as a browser counts them (UTF-16 units); the direction of a
// text.

const WIDE = /[\ud800-\udbff][\udc00-\udfff]/;

/** How many characters begin before a unit. */
export function codePoints(text, unit) {
  const head = text.slice(0, unit);
  if (!WIDE.test(head)) return unit;
  let count = 0;
  for (const _ of head) count++;
  return count;
}

/** The unit at which a character begins. */
export function units(text, character) {
  let unit = 0;
  for (let left = character; left > 0 && unit < text.length; left--) unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  return unit;
}

// The blocks that Unicode keeps for scripts that are written from right to left (DerivedBidiClass, defaults of R and AL).
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The direction that a text is read in: that of its first letter. */
export const direction = (text) => (RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? "") ? "rtl" : "ltr");
