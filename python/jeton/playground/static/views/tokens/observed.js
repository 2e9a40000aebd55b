// The most telling observation about the tokens of a text, for one sentence below them.

import { h } from "../../dom.js";
import { shownText } from "../../draw.js";
import { message } from "../../language.js";
import { codePoints, eastAsian, languageOf } from "../../text_units.js";

const LOOKED_AT = 2_000; // characters
const FAVORITE = /^strawberry$/i; // the word of the best-known question
const MOST_TOKENS = 8; // of a word; a sentence does not hold more

/**
 * @param {Object} answer  the response of `tokens`, with its text
 * @returns {{message: string, values: Object<string, Node|string>, at: number}|null}  a message with its values, and the
 *   index of the token that it begins with; null if there is nothing to tell
 */
export function observed({ drawing, text }) {
  const words = [...text.slice(0, LOOKED_AT).matchAll(/\p{L}[\p{L}\p{M}]*/gu)].filter(([word]) => word.length > 2 && !eastAsian(word));
  const longest = words.sort(([one], [other]) => FAVORITE.test(other) - FAVORITE.test(one) || other.length - one.length);
  const found = longest.slice(0, 50).map((match) => tokensOf(drawing, text, match)).filter(Boolean);
  const cut = found.find(({ pieces }) => pieces.length > 1);
  if (cut) {
    const values = { word: h("em", { translate: "no" }, cut.word), pieces: h("strong", { translate: "no" }, cut.pieces.join("·")), count: String(cut.pieces.length), ids: cut.ids.join(", ") };
    return { message: message("{word} is {pieces}: {count} numbers ({ids}), no letters."), values, at: cut.first };
  }
  const split = drawing.groups.findIndex((group, index) => group === drawing.groups[index + 1]);
  if (split >= 0 && split < LOOKED_AT) {
    const part = drawing.table[drawing.looks[split]].parts.at(-1);
    const count = drawing.groups.lastIndexOf(drawing.groups[split]) - split + 1;
    return { message: message("{character} is one character, and {count} tokens share its bytes."), values: { character: h("em", { translate: "no", lang: languageOf(eastAsian(part[4]?.[0] ?? "")) }, part[4]?.[0] ?? ""), count: String(count) }, at: split };
  }
  const [one] = found;
  return one ? { message: message("{word} is one token: the number {id}, no letters."), values: { word: h("em", { translate: "no" }, one.word), id: String(one.ids[0]) }, at: one.first } : null;
}

/** The tokens of a word, with a space before it at most; null if they have other text, too. */
function tokensOf({ ids, looks, table, char_starts, char_ends }, text, { 0: word, index }) {
  const start = codePoints(text, index);
  const end = start + [...word].length;
  let first = char_ends.findIndex((stop) => stop > start);
  if (first < 0) return null;
  const pieces = [];
  for (let at = first; at < ids.length && char_starts[at] < end; at++) {
    const look = table[looks[at]];
    if (look.special || look.parts.some(([kind]) => kind !== "text" && kind !== "space")) return null;
    pieces.push(shownText(look.parts.filter(([kind]) => kind === "text")));
  }
  if (pieces.join("") !== word || pieces.length > MOST_TOKENS) return null;
  return { word, pieces, ids: ids.slice(first, first + pieces.length), first };
}
