// The most telling observation about the tokens of a text, for one sentence below them.

import { h, number } from "../../dom.js";
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
export function observed(answer) {
  const { drawing, text, num_tokens } = answer;
  const unseen = unknown(answer);
  if (unseen) return unseen;
  const words = [...text.slice(0, LOOKED_AT).matchAll(/\p{L}[\p{L}\p{M}]*/gu)].filter(([word]) => word.length > 2 && !eastAsian(word));
  const longest = words.sort(([one], [other]) => FAVORITE.test(other) - FAVORITE.test(one) || other.length - one.length);
  const found = longest.slice(0, 50).map((match) => tokensOf(drawing, text, match)).filter(Boolean);
  const cut = found.find(({ pieces }) => pieces.length > 1);
  if (cut) {
    const values = { word: h("em", { translate: "no" }, cut.word), pieces: h("strong", { translate: "no" }, cut.pieces.join(" | ")), count: String(cut.pieces.length), ids: cut.ids.join(", ") };
    return { message: message("{word} is {pieces}: {count} numbers ({ids}), no letters."), values, at: cut.first };
  }
  const split = drawing.groups.findIndex((group, index) => group === drawing.groups[index + 1]);
  if (split >= 0 && split < LOOKED_AT) {
    const part = drawing.table[drawing.looks[split]].parts.at(-1);
    const count = drawing.groups.lastIndexOf(drawing.groups[split]) - split + 1;
    return { message: message("{character} is one character, and {count} tokens share its bytes."), values: { character: h("em", { translate: "no", lang: languageOf(eastAsian(part[4]?.[0] ?? "")) }, part[4]?.[0] ?? ""), count: String(count) }, at: split };
  }
  const [one] = found;
  if (one) return { message: message("{word} is one token: the number {id}, no letters."), values: { word: h("em", { translate: "no" }, one.word), id: String(one.ids[0]) }, at: one.first };
  if (num_tokens !== 1 || !text) return null;
  const shown = text.trim() || shownText(drawing.table[drawing.looks[0]].parts);
  return { message: message("{text} is one token: number {id}."), values: { text: h("em", { translate: "no", lang: languageOf(eastAsian(shown)) }, shown), id: String(drawing.ids[0]) }, at: 0 };
}

/** The characters that became unknown tokens; null if there are none. */
function unknown({ drawing, text, num_tokens, unk_id }) {
  const { ids, looks, table, char_starts, char_ends } = drawing;
  let at = ids.indexOf(unk_id);
  if (at < 0) return null;
  const characters = [...text];
  const spelling = shownText(table[looks[at]].parts);
  let [count, first] = [0, null];
  for (; at >= 0; at = ids.indexOf(unk_id, at + 1)) {
    const covered = characters.slice(char_starts[at], char_ends[at]);
    if (covered.join("").trim() === spelling) continue; // the text spells the token
    const before = char_ends[at - 1] === char_starts[at] ? visibleUnder(drawing, at - 1, characters) : 0;
    if (covered.length + before) first ??= before ? at - 1 : at;
    count += covered.length + before;
  }
  if (!count) return null;
  const values = { count: number(count), unk: h("strong", { translate: "no" }, spelling) };
  if (ids.length < num_tokens) return { message: message("At least {count} characters became {unk}: the model cannot see them."), values, at: first };
  if (count === 1) return { message: message("{count} character became {unk}: the model cannot see it."), values, at: first };
  return { message: message("{count} characters became {unk}: the model cannot see them."), values, at: first };
}

/** Number of characters, without white space, that a token of an added space covers: its span is that of the first character. */
function visibleUnder({ looks, table, char_starts, char_ends }, index, characters) {
  if (!/^(20|e29681)+$/.test(table[looks[index]].hex)) return 0;
  return characters.slice(char_starts[index], char_ends[index]).filter((character) => character.trim() && character !== "▁").length;
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
