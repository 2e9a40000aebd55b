// Serialization of the state to the URL fragment, which browsers do not send to servers.
//
// Short states are readable, so that links can be written by hand: `#view=why&text=lower&special:=true` (`name=text`,
// `name:=JSON`). Long ones are compressed JSON: `#z=…`.

const READABLE = 1000; // maximum length of a readable fragment
const MAX_CHARACTERS = 30_000; // mail and chat programs truncate longer addresses
const MAX_UNPACKED = 8 << 20; // bytes; limits decompression bombs

/**
 * @param {Object} state
 * @returns {Promise<{fragment: string, left: string[]}>}  left: names of values that are too long for an address,
 *   longest first
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

/** Serializes a state; null if it is too long. */
async function fragmentOf(state) {
  const parts = Object.entries(state).map(([name, value]) => [typeof value === "string" ? name : `${name}:`, written(value)]);
  const length = parts.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (length <= READABLE && isWellFormed(parts)) {
    const readable = new URLSearchParams(parts).toString();
    if (readable.length <= READABLE) return readable;
  }
  if (length > 100 * MAX_CHARACTERS) return null; // too long for any compression ratio
  const packed = `z=${await pack(JSON.stringify(state))}`;
  return packed.length <= MAX_CHARACTERS ? packed : null;
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * @param {string} fragment  with or without #
 * @returns {Promise<Object>}  {} if the fragment is invalid; `without` names values that were too long for it
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

/** Compresses a text (deflate, base64url). */
export async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Decompresses a text.
 *
 * @throws {RangeError} the text is longer than `most` bytes
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
