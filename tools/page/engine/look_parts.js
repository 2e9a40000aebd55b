// Visible form of bytes: `jeton/drawing/look_parts.py` in JavaScript, which describes it. Rows are
// [kind, shown, text, side?, cut?].

import { continues, decode, sizeAt, toHex, units } from "./bytes.js";
import { is } from "./characters.js";

const WHITE = { " ": ["space", "·", " "], "\t": ["tab", "→", "\t"], "\n": ["newline", "↵", "\n"] };
const FILLERS = "\u115f\u1160\u3164\uffa0\u17b4\u17b5\u034f";

/** The visible form of a token's bytes. */
export const visible = (data) => partsOf(data, 0, data.length).map(([, shown]) => shown).join("");

/** The span of the character that a boundary at this byte splits, or null. */
export function cutCharacter(text, at) {
  if (!(at > 0 && at < text.length) || !continues(text, at)) return null;
  for (let start = at - 1; start >= Math.max(at - 3, 0); start -= 1) {
    if (!continues(text, start)) {
      const size = sizeAt(text, start);
      return size && start + size > at ? [start, start + size] : null;
    }
  }
  return null;
}

/** The parts to display for bytes start…end of a text. */
export function partsOf(text, start, end) {
  if (start === end) return [["control", "∅", ""]];
  const [head, tail] = [cutCharacter(text, start), cutCharacter(text, end)];
  const wholeStart = head ? Math.min(head[1], end) : start;
  const wholeEnd = tail ? Math.max(tail[0], wholeStart) : end;
  const parts = [];
  if (head) parts.push(cutPart(text.subarray(...head), start - head[0], wholeStart - head[0]));
  parts.push(...wholeParts(text.subarray(wholeStart, wholeEnd)));
  if (tail && wholeEnd < end) parts.push(cutPart(text.subarray(...tail), 0, end - wholeEnd));
  return parts;
}

const row = (kind, shown, text, itsSide) => (itsSide ? [kind, shown, text, itsSide] : [kind, shown, text]);

/** Bytes that are not UTF-8, in hexadecimal. */
const hexPart = (data) => ["bytes", `⟨${toHex(data, " ")}⟩`, ""];

/** Bytes of a split character in hexadecimal; the token in which it begins also has the character. */
function cutPart(data, start, end) {
  const [character, hex] = [decode(data), toHex(data.subarray(start, end), " ")];
  const whole = start ? "" : visible(data);
  return ["bytes", start ? `⟨${hex}⟩` : `⟨${whole} ${hex}⟩`, start ? "" : character, side(character), [whole, start, end, data.length]];
}

const side = (character) => (is("rtl", character) ? "rtl" : is("ltr", character) ? "ltr" : "");

/** The parts of bytes that begin and end at the boundaries of characters. */
function wholeParts(data) {
  const parts = [];
  let run = [];
  const finish = () => {
    if (run.length) parts.push(...runParts(run));
    run = [];
  };
  for (const unit of units(data)) {
    if (WHITE[unit]) {
      finish();
      parts.push(WHITE[unit]);
    } else {
      run.push(unit);
    }
  }
  finish();
  return parts;
}

/** The parts of a run without plain white space. */
function runParts(run) {
  if (run.every((unit) => typeof unit === "string" && unit >= " " && unit <= "~")) return [["text", run.join(""), run.join("")]];
  const parts = [];
  let [text, broken] = [[], []];
  for (const unit of run) {
    const isByte = typeof unit === "number";
    const part = isByte ? null : characterPart(unit, !text.length);
    if (text.length && (isByte || part)) {
      parts.push(textPart(text.join("")));
      text = [];
    }
    if (broken.length && !isByte) {
      parts.push(hexPart(broken));
      broken = [];
    }
    if (isByte) broken.push(unit);
    else if (part) parts.push(part);
    else text.push(unit);
  }
  if (text.length) parts.push(textPart(text.join("")));
  if (broken.length) parts.push(hexPart(broken));
  return parts;
}

const textPart = (text) => ["text", is("mark", text) ? `◌${text}` : text, text];

const isSelector = (character) => {
  const code = character.codePointAt(0);
  return (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0x180b && code <= 0x180f) || code >= 0xe0100;
};

/** The part of a control, an invisible or a bidi-formatting character; null for others. */
function characterPart(character, first) {
  const code = character.codePointAt(0);
  if (code < 0x20) return ["control", String.fromCodePoint(0x2400 + code), character];
  if (code === 0x7f) return ["control", "␡", character];
  if (!is("hidden", character) && !FILLERS.includes(character) && !(first && is("nonspacing", character) && isSelector(character))) return null;
  return row("control", `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`, character, side(character));
}

