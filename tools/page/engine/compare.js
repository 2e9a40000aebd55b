// Comparison of up to four tokenizers on one text: `playground/api/compare.py` and `analysis/compare.py` in JavaScript.

import { encode, head, length } from "./bytes.js";
import { JetonError } from "./core.js";
import { inLanguage } from "./language.js";
import { flag, text, texts } from "./request_fields.js";

const MOST_TOKENIZERS = 4;
const MOST_CHARS = 10_000;

export async function compare(catalog, request) {
  const whole = text(request, "text");
  const special = flag(request, "special");
  const { done, failed } = await tokenizers(catalog, request, (tok) => tok.count(whole, { special }));
  const compared = head(whole, MOST_CHARS);
  const drawings = done.map(({ tok }) => tok.draw(compared, { special }));
  const counts = done.map(({ result }) => result);
  const numBytes = encode(whole).length;
  const { own, cuts } = differences(drawings, encode(compared).length);
  return {
    num_bytes: numBytes,
    num_chars: length(whole),
    spread: Math.min(...counts) ? Math.max(...counts) / Math.min(...counts) - 1 : 0,
    tokenizers: done.map(({ key, tok, result }, index) => ({
      name: key,
      tokens: result,
      bytes_per_token: result ? numBytes / result : 0,
      own: own[index],
      unknown: tok.numUnknown(drawings[index].ids),
    })),
    cuts,
    failed,
    compared_chars: Math.min(length(whole), MOST_CHARS),
    drawings,
  };
}

/** Applies `work` to the tokenizers of a request; those that fail are listed. */
export async function tokenizers(catalog, request, work) {
  const [done, failed] = [[], []];
  let first = null;
  for (const key of texts(request, "tokenizers", 1, MOST_TOKENIZERS)) {
    try {
      const tok = await catalog.get(key);
      done.push({ key, tok, result: work(tok) });
    } catch (error) {
      if (!(error instanceof JetonError)) throw error;
      first ??= error;
      failed.push({ key, error: inLanguage(error.message) });
    }
  }
  if (!done.length) throw first;
  return { done, failed };
}

/** For each drawing the tokens whose span no other one has, and the boundaries that some have. */
function differences(drawings, numBytes) {
  const ends = drawings.map(({ byte_starts: starts, byte_ends: stops }) => {
    const column = new Int32Array(numBytes + 1); // the end of the token that begins at a byte, or 0
    starts.forEach((start, index) => {
      if (start < stops[index]) column[start] = stops[index];
    });
    return column;
  });
  const marks = ends.map((column) => {
    const marked = new Uint8Array(numBytes + 1);
    column.forEach((end, start) => {
      if (end > 0) marked[start] = marked[end] = 1;
    });
    marked[0] = marked[numBytes] = 0;
    return marked;
  });
  const cuts = [];
  for (let at = 0; at <= numBytes; at += 1) {
    const by = marks.flatMap((marked, index) => (marked[at] ? [index] : []));
    if (by.length && by.length < marks.length) cuts.push([at, by]);
  }
  const own = drawings.map(({ byte_starts: starts, byte_ends: stops }) =>
    starts.flatMap((start, index) => {
      const times = ends.reduce((num, column) => num + (column[start] === stops[index] ? 1 : 0), 0);
      return times === 1 && start < stops[index] ? [index] : [];
    }),
  );
  return { own, cuts };
}
