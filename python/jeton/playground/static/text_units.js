// Conversion between offsets in code points (Python) and in UTF-16 units (JavaScript); base direction and language of a
// text.

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

const SCRIPTS = [[/[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d]/, 1], [/[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]/, 2], [/\p{Script=Han}/u, 4]];

/** Scripts of East Asia in a text, as bits: 1 kana, 2 Hangul, 4 Han. */
export function eastAsian(text) {
  if (!/[\u1100-\uffff]/.test(text)) return 0; // fast path; characters over U+FFFF have surrogates
  return SCRIPTS.reduce((bits, [script, bit]) => (script.test(text) ? bits | bit : bits), 0);
}

/** Language tag that selects the font of a line's Han characters: Japanese beside kana, Korean beside Hangul, else Chinese. */
export const languageOf = (bits) => (bits & 1 ? "ja" : bits & 2 ? "ko" : bits & 4 ? "zh" : null);
