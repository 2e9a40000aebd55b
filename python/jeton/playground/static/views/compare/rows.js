// Rows of drawings side by side: lines of the text, as far as all tokenizers have a token boundary at their end.

/**
 * @param {Object[]} drawings  of one text
 * @param {string} text
 * @returns {number[][]}  for each drawing, the first token of each row; all have the same number of rows
 */
export function sharedRows(drawings, text) {
  const bytes = new TextEncoder().encode(text);
  const starts = drawings.map(({ byte_starts }) => new Map(byte_starts.map((byte, index) => [byte, index]).reverse()));
  const rows = drawings.map(() => [0]);
  bytes.forEach((byte, at) => {
    const next = at + 1;
    if (byte !== 10 || !starts.every((known) => known.get(next) > 0)) return;
    starts.forEach((known, index) => rows[index].push(known.get(next)));
  });
  return rows;
}
