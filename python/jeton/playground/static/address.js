// The state of the page ⇄ the fragment of its address, which a browser keeps to itself and sends to no server.
//
// Short states are readable, so that a link can be written by hand: `#view=why&text=lower&special:=true` (`name=text`,
// `name:=JSON`). Long ones are JSON, compressed: `#z=…`.

const READABLE = 1000; // characters of a fragment that a person may still read
const MAX_CHARACTERS = 30_000; // longer addresses get lost in mail and chat
const MAX_UNPACKED = 8 << 20; // bytes; a small fragment can unpack to a very long text

/**
 * @param {Object} state
 * @returns {Promise<{fragment: string, left: string[]}>}  left: the names of values that are too long for an address,
 *   the longest first
 */
export async function toFragment(state) {
  const rest = { ...state };
  const left = [];
  for (;;) {
    const fragment = await fragmentOf(left.length ? { ...rest, without: left } : rest);
    if (fragment !== null) return { fragment, left };
    const [longest] = Object.entries(rest).map(([name, value]) => [name, written(value).length]).reduce((one, other) => (other[1] > one[1] ? other : one));
    delete rest[longest];
    left.push(longest);
  }
}

/** A state as a fragment; null: it is too long. */
async function fragmentOf(state) {
  const parts = Object.entries(state).map(([name, value]) => [typeof value === "string" ? name : `${name}:`, written(value)]);
  const length = parts.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length <= READABLE && isWellFormed(parts)) {
    const readable = new URLSearchParams(parts).toString();
    if (readable.length <= READABLE) return readable;
  }
  if (length > 100 * MAX_CHARACTERS) return null; // not worth packing
  const packed = `z=${await pack(JSON.stringify(state))}`;
  return packed.length <= MAX_CHARACTERS ? packed : null;
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * @param {string} fragment  with or without its #
 * @returns {Promise<Object>}  {} where the fragment is none of ours; `without` names values that it was too short for
 */
export async function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  try {
    if (parts.has("z")) {
      const state = JSON.parse(await unpack(parts.get("z")));
      return state !== null && typeof state === "object" && !Array.isArray(state) ? state : {};
    }
    return Object.fromEntries([...parts].map(([name, value]) => (name.endsWith(":") ? [name.slice(0, -1), JSON.parse(value)] : [name, value])));
  } catch {
    return {};
  }
}

const isWellFormed = (parts) => parts.every(([, value]) => value.isWellFormed());

/** A text, compressed, in the letters of base64url. */
export async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * The text that was packed.
 *
 * @throws {RangeError} it is longer than `most` bytes
 */
export async function unpack(packed, most = MAX_UNPACKED) {
  const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    size += value.length;
    if (size > most) throw new RangeError("too long");
    chunks.push(value);
  }
  return new Blob(chunks).text();
}
