// API client. No other module of the page accesses the network.

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
export const askTokenizers = () => request("api/tokenizers", {});

/**
 * Uploads files, which form one or more tokenizers.
 *
 * @param {File[]} files
 * @returns {Promise<{entries: Object[], errors: Array<{name: string, error: string}>}>}  entries of the list, and files
 *   that could not be loaded
 */
export function putTokenizers(files) {
  const parts = files.map((file) => [file.name.toWellFormed(), file.size]);
  return request("api/tokenizers", { method: "PUT", headers: { "X-Files": encodeURIComponent(JSON.stringify(parts)) }, body: new Blob(files) });
}

async function request(path, options) {
  let response, answer;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, "Accept-Language": language } });
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new JetonError("The playground does not respond. Was it stopped in the terminal? Restart it with jeton play.", GONE);
  }
  if (!response.ok) throw new JetonError(answer.error, answer.kind);
  return answer;
}
