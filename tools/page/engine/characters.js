// Properties of characters, from tables that `tools/build_page.py` writes from Python's `unicodedata`, so that both sides have the
// same version of Unicode.

let tables = {};

/** @param {Object<string, number[]>} given  name → starts and ends of half-open ranges, each less the number before it */
export function useTables(given) {
  tables = Object.fromEntries(Object.entries(given).map(([name, steps]) => {
    let at = 0;
    return [name, Uint32Array.from(steps, (step) => (at += step))];
  }));
}

/** Tests for a property: "mark", "nonspacing", "hidden", "ltr" or "rtl". */
export function is(name, character) {
  const [table, code] = [tables[name], character.codePointAt(0)];
  let [low, high] = [0, table.length]; // the number of limits that are not above the code
  while (low < high) {
    const middle = (low + high) >> 1;
    if (table[middle] <= code) low = middle + 1;
    else high = middle;
  }
  return low % 2 === 1;
}
