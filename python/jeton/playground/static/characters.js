// Characters as Python counts them (code points) ⇄ characters as a browser counts them (UTF-16 units).

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
