// The worker of the page without a server: requests of `ask.js` as messages {number, language, path, body | files}, answered as
// {number, answer, isError}, one after the other. A request that was aborted while it waited is not run.

import { ENDPOINTS } from "./api.js";
import { makeCatalog } from "./catalog.js";
import { JetonError } from "./core.js";
import { inLanguage, useLanguage } from "./language.js";
import { openFiles } from "./opening.js";

const GZIP = [0x1f, 0x8b];

/** Reads a file beside this module; some servers decompress it. */
async function fetchBytes(file) {
  const response = await fetch(new URL(file, import.meta.url)).catch((error) => { throw new JetonError(error.message, "Unreachable"); });
  if (!response.ok) throw new JetonError(`${file}: ${response.status}`, "Unreachable");
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] !== GZIP[0] || bytes[1] !== GZIP[1]) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

let starting = null;
const catalog = () => (starting ??= makeCatalog(fetchBytes).catch((error) => { starting = null; throw error; }));
const aborted = new Set();
let queue = Promise.resolve();

let language = "en"; // the page reloads for another one

async function answer({ language: wanted, path, body, files }) {
  const here = await catalog();
  if (wanted !== language) {
    useLanguage(wanted, JSON.parse(new TextDecoder().decode(await fetchBytes(`language.${wanted}.json`))));
    language = wanted;
  }
  if (path === "tokenizers") return files ? openFiles(here, files) : here.describe();
  if (!Object.hasOwn(ENDPOINTS, path)) throw new JetonError("not found", "HTTPError");
  return ENDPOINTS[path](here, body);
}

async function respond(message) {
  const { number } = message;
  if (aborted.delete(number)) return;
  try {
    postMessage({ number, answer: await answer(message), isError: false });
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError || error.cause instanceof WebAssembly.RuntimeError) starting = null; // the memory of the core is unknown
    postMessage({ number, answer: { error: inLanguage(error.message), kind: error.kind ?? "InternalError" }, isError: true });
  }
}

onmessage = ({ data: message }) => {
  if (message.abort) aborted.add(message.number);
  else queue = queue.then(() => respond(message));
};
catalog().catch(() => {}); // the first request reports it
