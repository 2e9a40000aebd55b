// The core of Jeton in WebAssembly: calls of `crates/jeton-wasm`, each a request as JSON, with bytes, and a reply likewise.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEAD = 8; // two lengths before a reply

/** Error with a class of `jeton.errors`. */
export class JetonError extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

/** Refuses what only the server has; the page has words for this `kind`. */
export function needsServer() {
  throw new JetonError("this needs the playground of the package: jeton play", "NeedsServer");
}

/**
 * Compiles the core.
 *
 * @param {BufferSource} file  the module
 * @returns {Promise<(request: Object, data?: Uint8Array|string) => {json: Object, data: Uint8Array}>}  throws a JetonError
 */
export async function makeCore(file) {
  const { instance } = await WebAssembly.instantiate(file, {});
  const { memory, start, panicked, allocate, release, call } = instance.exports;
  start();

  function put(bytes) {
    const start = allocate(bytes.length);
    new Uint8Array(memory.buffer, start, bytes.length).set(bytes);
    return start;
  }

  /** Reads a reply, and frees it. */
  function take(reply) {
    const [jsonLength, dataLength] = new Uint32Array(memory.buffer.slice(reply, reply + HEAD));
    const json = decoder.decode(new Uint8Array(memory.buffer, reply + HEAD, jsonLength));
    const answered = new Uint8Array(memory.buffer.slice(reply + HEAD + jsonLength, reply + HEAD + jsonLength + dataLength));
    release(reply, HEAD + jsonLength + dataLength);
    return { json, data: answered };
  }

  return (request, data = "") => {
    const asked = encoder.encode(JSON.stringify(request));
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    const [first, second] = [put(asked), put(bytes)];
    let answered;
    try {
      answered = take(call(first, asked.length, second, bytes.length) >>> 0);
    } catch (error) {
      throw new Error(`the core stopped: ${take(panicked() >>> 0).json || error.message}`, { cause: error });
    }
    release(first, asked.length);
    release(second, bytes.length);
    const json = JSON.parse(answered.json);
    if (json?.error !== undefined && json.kind !== undefined) throw new JetonError(json.error, json.kind);
    return { json, data: answered.data };
  };
}
