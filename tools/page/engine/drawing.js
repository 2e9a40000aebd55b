// Tokens and their spans → a drawing: `jeton/drawing/describe.py` in JavaScript, which describes it.

import { continues, decode, decodeIgnoring, decodeStrict, encode, isAt, length, sizeAt, toHex } from "./bytes.js";
import { cutCharacter, partsOf } from "./look_parts.js";

const LONGEST_GAP = 256; // longer dropped text is displayed as its number of bytes

// CRC-32 (ISO 3309, as in gzip): the remainder of each byte
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit += 1) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

/** The hue of a token's bytes: their CRC-32 modulo 360. */
export function hue(data) {
  let rest = 0xffffffff;
  for (const byte of data) rest = REMAINDERS[(rest ^ byte) & 0xff] ^ (rest >>> 8);
  return ((rest ^ 0xffffffff) >>> 0) % 360;
}

/**
 * Draws the tokens of a text.
 *
 * @param {Uint8Array} text
 * @param {number[]} ids
 * @param {Uint8Array[]} tokens  the bytes of each
 * @param {number[][]} byteSpans
 * @param {number[][]|null} charSpans  null: computed from `byteSpans`
 * @param {Map<number, Uint8Array>} special  id → spelling
 */
export function described(text, ids, tokens, byteSpans, charSpans, special) {
  const describer = new Describer(text, special);
  const drawing = describer.add(ids, tokens, byteSpans);
  const spans = charSpans ?? charSpansOf(text, byteSpans);
  return {
    ids,
    ...drawing,
    byte_starts: byteSpans.map(([start]) => start),
    byte_ends: byteSpans.map(([, end]) => end),
    char_starts: spans.map(([start]) => start),
    char_ends: spans.map(([, end]) => end),
    text_bytes: text.length,
    text_chars: length(decode(text)),
  };
}

/** The look of one token without neighbors. */
export const lookOf = (id, data, isSpecial = false) => described(data, [id], [data], [[0, data.length]], null, new Map(isSpecial ? [[id, data]] : [])).table[0];

/** The first tokens of a drawing. */
export function first(drawing, num) {
  if (num >= drawing.ids.length) return drawing;
  const looks = drawing.looks.slice(0, num);
  const used = [...new Set(looks)].sort((one, other) => one - other);
  const renumbered = new Map(used.map((look, number) => [look, number]));
  const cut = (name) => drawing[name].slice(0, num);
  return {
    ...drawing,
    ids: cut("ids"),
    looks: looks.map((look) => renumbered.get(look)),
    groups: cut("groups"),
    byte_starts: cut("byte_starts"),
    byte_ends: cut("byte_ends"),
    char_starts: cut("char_starts"),
    char_ends: cut("char_ends"),
    table: used.map((look) => drawing.table[look]),
    dropped: drawing.dropped.filter(({ before }) => before < num),
  };
}

class Describer {
  table = [];
  #known = new Map(); // id → look of a token that covers its own bytes and splits no character
  #numbers = new Map();
  #text;
  #special;

  constructor(text, special) {
    this.#text = text;
    this.#special = special;
  }

  add(ids, tokens, byteSpans) {
    const text = this.#text;
    const [looks, groups, dropped] = [[], [], []];
    let [group, at] = [-1, 0];
    ids.forEach((id, index) => {
      const [data, [start, end]] = [tokens[index], byteSpans[index]];
      const cutBefore = continues(text, start);
      const cutAfter = continues(text, end);
      let look;
      let shares = false;
      if (start !== at || !data.length || this.#special.has(id) || !isAt(data, text, start, end)) {
        const following = index + 1 < byteSpans.length ? byteSpans[index + 1][0] : text.length;
        const odd = this.#oddLook(id, data, at, start, end, following);
        [look, at] = [odd.look, odd.at];
        if (odd.gap.length) dropped.push({ before: index, parts: odd.gap });
        shares = cutBefore && !odd.gap.length && cutCharacter(text, start) !== null;
      } else if (cutBefore || cutAfter) {
        look = this.#number(id, data, partsOf(text, start, end));
        shares = cutBefore && cutCharacter(text, start) !== null;
        at = end;
      } else {
        if (!this.#known.has(id)) this.#known.set(id, this.#number(id, data, partsOf(data, 0, data.length)));
        [look, at] = [this.#known.get(id), end];
      }
      group += !shares || group < 0 ? 1 : 0;
      groups.push(group);
      looks.push(look);
    });
    if (at < text.length) dropped.push({ before: ids.length, parts: gapParts(text, at, text.length) });
    return { looks, groups, dropped, table: this.table };
  }

  #number(id, data, parts) {
    const key = `${id} ${JSON.stringify(parts)}`;
    if (!this.#numbers.has(key)) {
      this.#numbers.set(key, this.table.length);
      this.table.push({ id, hue: hue(data), special: this.#special.has(id), hex: toHex(data), parts });
    }
    return this.#numbers.get(key);
  }

  /** A token that differs from its bytes or follows dropped text. */
  #oddLook(id, data, at, start, end, following) {
    const text = this.#text;
    if (this.#special.has(id)) {
      const spelling = this.#special.get(id);
      const parts = specialParts(spelling, charactersOf(text, start, end));
      return { look: this.#number(id, spelling, parts), gap: gapParts(text, at, start), at: Math.max(end, at) };
    }
    let [from, behind] = [start, end];
    if (!isAt(data, text, start, end)) {
      // White space that was dropped from the text, and that decoding the token restores, is drawn once.
      const lead = data.length - stripped(data, "start").length;
      if (lead <= start - at && isAt(data.subarray(0, lead), text, start - lead, start)) from -= lead;
      const trail = lead === data.length ? 0 : data.length - stripped(data, "end").length;
      if (trail <= following - end && isAt(data.subarray(data.length - trail), text, end, end + trail)) behind += trail;
    }
    const parts = isAt(data, text, from, behind) ? partsOf(text, from, behind) : partly(data, text, from, behind);
    return { look: this.#number(id, data, parts), gap: gapParts(text, at, from), at: Math.max(behind, at) };
  }
}

const isWhite = (byte) => byte === 0x20 || (byte >= 9 && byte <= 13);

/** Bytes without the ASCII white space at one end. */
function stripped(data, end) {
  let [from, to] = [0, data.length];
  if (end === "start") while (from < to && isWhite(data[from])) from += 1;
  else while (from < to && isWhite(data[to - 1])) to -= 1;
  return data.subarray(from, to);
}

function gapParts(text, start, end) {
  if (end - start > LONGEST_GAP) {
    return [["control", `⟨${(end - start).toLocaleString("en-US")} bytes that no token covers⟩`, decodeIgnoring(text.subarray(start, end))]];
  }
  return start < end ? partsOf(text, start, end) : [];
}

/** Parts of a token that differs from its bytes; if one is a prefix or suffix of the other, that part is kept. */
function partly(data, text, start, end) {
  const covered = text.subarray(start, Math.max(start, end));
  const cut = data.length - covered.length;
  const endsWith = cut >= 0 && isAt(covered, data, cut, data.length);
  if (covered.length && (endsWith || (cut >= 0 && isAt(covered, data, 0, covered.length))) && decodeStrict(covered) !== null) {
    const own = partsOf(covered, 0, covered.length);
    if (endsWith) return [...copying(partsOf(data.subarray(0, cut), 0, cut), ""), ...own];
    return [...own, ...copying(partsOf(data.subarray(data.length - cut), 0, cut), "")];
  }
  return copying(partsOf(data, 0, data.length), charactersOf(text, start, end));
}

// What Python's `str.strip` removes.
const WHITE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const ENDS = new RegExp(`^${WHITE}+|${WHITE}+$`, "gu");
const strip = (text) => text.replace(ENDS, "");

/** Python's `str.partition`. */
function partition(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, "", ""] : [text.slice(0, at), separator, text.slice(at + separator.length)];
}

/** Parts of a special token: its spelling, and the white space around it that its flags strip. */
function specialParts(data, covered) {
  const spelling = decode(data);
  let own = partsOf(data, 0, data.length);
  const partsOfText = (text) => partsOf(encode(text), 0, encode(text).length);
  if (!spelling) return partsOfText(covered);
  let [lead, found, trail] = partition(covered, spelling);
  if (!found || strip(lead) || strip(trail)) {
    const core = strip(covered);
    own = copying(own, core || covered);
    [lead, , trail] = core ? partition(covered, core) : ["", "", ""];
  }
  return [...(lead ? partsOfText(lead) : []), ...own, ...(trail ? partsOfText(trail) : [])];
}

/** Replaces the text to copy; the displayed form is kept. */
const copying = (parts, text) => parts.map(([kind, shown, , ...rest], index) => [kind, shown, index ? "" : text, ...rest]);

/** The characters that begin in bytes start…end. */
function charactersOf(text, start, end) {
  if (start >= end) return "";
  const [head, tail] = [cutCharacter(text, start), cutCharacter(text, end)];
  return decodeIgnoring(text.subarray(head ? head[1] : start, tail ? tail[1] : end));
}

/** The smallest covering ranges of characters. */
function charSpansOf(text, byteSpans) {
  const [of, after] = [new Uint32Array(text.length + 1), new Uint32Array(text.length + 1)];
  let number = 0;
  for (let at = 0; at < text.length; number += 1) {
    const size = sizeAt(text, at) || invalidSize(text, at);
    for (let byte = at; byte < at + size; byte += 1) [of[byte], after[byte + 1]] = [number, number + 1];
    at += size;
  }
  of[text.length] = number;
  return byteSpans.map(([start, end]) => [of[start], end > start ? after[end] : of[start]]);
}

/** Number of invalid bytes that one U+FFFD stands for. */
function invalidSize(text, at) {
  let size = 1;
  while (size < 4 && at + size < text.length && length(decode(text.subarray(at, at + size + 1))) === 1) size += 1;
  return size;
}

