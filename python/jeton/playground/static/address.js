// The state of the page ⇄ the fragment of its address, which a browser keeps to itself and sends to no server.
//
// Short states are readable, so that a link can be written by hand: `#view=why&text=lower&special:=true` (`name=text`,
// `name:=JSON`). Long ones are JSON, compressed: `#z=…`.

const READABLE = 1000; // characters of a fragment that a person may still read
const MAX_CHARACTERS = 30_000; // longer addresses get lost in mail and chat
const MAX_UNPACKED = 8 << 20; // bytes; a small fragment can unpack to a very long text

/**
 * @param {Object} state
 * @returns {Promise<{fragment: string, whole: boolean}>}  whole: whether the text is in it, which may be too long
 */
export async function toFragment(state) {
  const parts = Object.entries(state).map(([name, value]) => (typeof value === "string" ? [name, value] : [`${name}:`, JSON.stringify(value)]));
  const length = parts.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  const readable = length <= READABLE && isWellFormed(parts) ? new URLSearchParams(parts).toString() : "";
  if (readable && readable.length <= READABLE) return { fragment: readable, whole: true };
  if (length <= 100 * MAX_CHARACTERS) {
    const packed = `z=${await pack(JSON.stringify(state))}`;
    if (packed.length <= MAX_CHARACTERS) return { fragment: packed, whole: true };
  }
  const { text, ...rest } = state;
  return text === undefined ? { fragment: "", whole: false } : { ...(await toFragment(rest)), whole: false };
}

/**
 * @param {string} fragment  with or without its #
 * @returns {Promise<Object>}  {} where the fragment is none of ours
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

async function pack(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(packed) {
  const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const chunks = [];
  let size = 0;
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    size += value.length;
    if (size > MAX_UNPACKED) throw new RangeError("too long");
    chunks.push(value);
  }
  return new Blob(chunks).text();
}
