// API client. No other module of the page accesses the network.
//
// Requests go to the server of `jeton play`; on a page that `tools/build_page.py` made, to a worker with the core, which fetches
// nothing but files beside the page. That page names the worker in its head.

import { say } from "./language.js";

/** Error response of the server, with a message for the user. */
export class JetonError extends Error {
  constructor(message, kind) {
    super(message);
    this.name = "JetonError";
    this.kind = kind;
  }
}

/** `kind` of the error for an unreachable server. */
export const GONE = "Gone";

/**
 * Calls an endpoint.
 *
 * @param {string} path  name of the endpoint: "tokens"
 * @param {Object} body
 * @param {{signal?: AbortSignal}} options
 * @returns {Promise<Object>}
 */
export function ask(path, body, { signal } = {}) {
  if (isStatic) return askWorker({ path, body }, signal);
  const headers = { "Content-Type": "application/json" };
  return request(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** Language of the answers; see language.js. */
let language = "en";

/**
 * Fetches the catalog of a language, and asks for answers in that language from here on.
 *
 * @param {string} name  "zh"
 * @returns {Promise<Object<string, string>>}  English message → translation
 */
export async function askStrings(name) {
  const catalog = await request(`strings.${name}.json`, {});
  language = name;
  return catalog;
}

/** Fetches the list of tokenizers. */
export const askTokenizers = () => (isStatic ? askWorker({ path: "tokenizers" }) : request("api/tokenizers", {}));

/**
 * Uploads files, which form one or more tokenizers.
 *
 * @param {File[]} files
 * @returns {Promise<{entries: Object[], errors: Array<{name: string, error: string}>}>}  entries of the list, and files
 *   that could not be loaded
 */
export async function putTokenizers(files) {
  if (isStatic) {
    const read = async (file) => ({ name: file.name.toWellFormed(), data: new Uint8Array(await file.arrayBuffer()) });
    return askWorker({ path: "tokenizers", files: await Promise.all(files.map(read)) });
  }
  const parts = files.map((file) => [file.name.toWellFormed(), file.size]);
  return request("api/tokenizers", { method: "PUT", headers: { "X-Files": encodeURIComponent(JSON.stringify(parts)) }, body: new Blob(files) });
}

/** Fetches the text of style sheets of the page. */
export const askStyles = (urls) => Promise.all(urls.map((url) => request(url, {}, "text")));

async function request(path, options, form = "json") {
  let response, answer;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, "Accept-Language": language } });
    answer = await response[form]();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new JetonError(say("The playground does not respond. Was it stopped in the terminal? Restart it with jeton play."), GONE);
  }
  if (!response.ok) throw new JetonError(answer.error, answer.kind);
  return answer;
}

// ── without a server ───────────────────────────────────────────────────────────────────────────────────────────────

const engine = document.querySelector('meta[name="jeton-engine"]')?.content ?? null;

/** Whether the page has no server: what needs one is an error of the kind "NeedsServer". */
export const isStatic = engine !== null;

let worker = null;
const waiting = new Map(); // number of a request → its functions
let numRequests = 0;

/** Sends a request to the worker. */
function askWorker(message, signal) {
  worker ??= startWorker();
  const number = (numRequests += 1);
  return new Promise((resolve, reject) => {
    const abort = () => {
      if (waiting.delete(number)) worker?.postMessage({ number, abort: true });
      reject(new DOMException("aborted", "AbortError"));
    };
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    waiting.set(number, { resolve, reject });
    worker.postMessage({ number, language, ...message });
  });
}

function startWorker() {
  const started = new Worker(engine, { type: "module" });
  started.onmessage = ({ data: { number, answer, isError } }) => {
    const { resolve, reject } = waiting.get(number) ?? {};
    if (!waiting.delete(number)) return; // aborted
    if (isError) reject(new JetonError(messageOf(answer), answer.kind));
    else resolve(answer);
  };
  started.onerror = () => {
    const failed = [...waiting.values()];
    waiting.clear();
    worker = null; // the next request starts another one
    for (const { reject } of failed) reject(new JetonError(say("This page cannot run in this browser: it needs modules in workers and WebAssembly."), "Unsupported"));
  };
  return started;
}

function messageOf({ error, kind }) {
  if (kind === "NeedsServer") return say("This needs the playground on your machine: pip install 'jeton[play]', then jeton play.");
  if (kind === "Unreachable") return say("A file of this page cannot be fetched ({error}). Is the network available?", { error });
  if (kind === "InternalError") return say("Internal error of Jeton, please report it: {error}", { error });
  return error;
}
