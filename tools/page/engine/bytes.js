// Bytes and characters, as Python's `bytes` and `str` have them.

const encoder = new TextEncoder();
const replacing = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** UTF-8 of a text. */
export const encode = (text) => encoder.encode(text);

/** Text of bytes, with U+FFFD for those that are not UTF-8. */
export const decode = (bytes) => replacing.decode(bytes);

/** Text of bytes; null if they are not UTF-8. */
export function decodeStrict(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** Number of characters. */
export function length(text) {
  let num = 0;
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) num += 1;
  return num;
}

/** The first characters of a text. */
export function head(text, num) {
  let at = 0;
  for (; num > 0 && at < text.length; num -= 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return text.slice(0, at);
}

/** Bytes of a hexadecimal string. */
export function fromHex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

/** Bytes in hexadecimal. */
export const toHex = (bytes, separator = "") => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(separator);

/** Tests whether `text[start:end]` equals `data`. */
export function isAt(data, text, start, end) {
  if (end - start !== data.length) return false;
  for (let at = 0; at < data.length; at += 1) if (text[start + at] !== data[at]) return false;
  return true;
}

/** Joins byte strings. */
export function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Size of the character at a byte; 0 if there is none. */
export function sizeAt(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const low = { 0xe0: 0xa0, 0xf0: 0x90 }[first] ?? 0x80;
  const high = { 0xed: 0x9f, 0xf4: 0x8f }[first] ?? 0xbf;
  if (at + size > bytes.length || bytes[at + 1] < low || bytes[at + 1] > high) return 0;
  for (let next = at + 2; next < at + size; next += 1) if ((bytes[next] & 0xc0) !== 0x80) return 0;
  return size;
}

/** The characters of bytes, and the bytes that are not UTF-8 as numbers, in order. */
export function units(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    const size = sizeAt(bytes, at);
    found.push(size ? decode(bytes.subarray(at, at + size)) : bytes[at]);
    at += size || 1;
  }
  return found;
}

/** Text of bytes, without those that are not UTF-8. */
export const decodeIgnoring = (bytes) => units(bytes).filter((unit) => typeof unit === "string").join("");

/** Tests whether a byte continues a character. */
export const continues = (bytes, at) => at < bytes.length && (bytes[at] & 0xc0) === 0x80;
