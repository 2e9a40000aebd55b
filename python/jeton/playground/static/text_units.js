// Conversion between offsets in code points (Python) and in UTF-16 units (JavaScript); base direction of a text.

const WIDE = /[\ud800-\udbff][\udc00-\udfff]/;

/** Converts an offset in UTF-16 units to code points. */
export function codePoints(text, unit) {
  const head = text.slice(0, unit);
  if (!WIDE.test(head)) return unit;
  let count = 0;
  for (const _ of head) count++;
  return count;
}

/** Converts an offset in code points to UTF-16 units. */
export function units(text, character) {
  let unit = 0;
  for (let left = character; left > 0 && unit < text.length; left--) unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  return unit;
}

// Unicode blocks of right-to-left scripts (DerivedBidiClass, defaults of R and AL).
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Base direction of a text: that of its first letter. */
export const direction = (text) => (RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? "") ? "rtl" : "ltr");
