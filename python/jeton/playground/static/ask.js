// Questions to the server of this page. Nothing else of the page speaks to any network.

/** An answer that is an error, with the message that a person reads. */
export class JetonError extends Error {
  constructor(message, kind) {
    super(message);
    this.name = "JetonError";
    this.kind = kind;
  }
}

/** The kind of an error that says that the server does not answer. */
export const GONE = "Gone";

/**
 * Asks a question.
 *
 * @param {string} path  the name of the question: "tokens"
 * @param {Object} body
 * @param {{signal?: AbortSignal}} options
 * @returns {Promise<Object>}
 */
export function ask(path, body, { signal } = {}) {
  const headers = { "Content-Type": "application/json" };
  return request(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

/** The list of tokenizers. */
export const askTokenizers = () => request("api/tokenizers", {});

/**
 * Opens files, which may be several tokenizers or belong to one.
 *
 * @param {File[]} files
 * @returns {Promise<{entries: Object[], errors: Array<{name: string, error: string}>}>}  entries of the list, and the
 *   files that could not be opened
 */
export function putTokenizers(files) {
  const parts = files.map((file) => [file.name.toWellFormed(), file.size]);
  return request("api/tokenizers", { method: "PUT", headers: { "X-Files": encodeURIComponent(JSON.stringify(parts)) }, body: new Blob(files) });
}

async function request(path, options) {
  let response, answer;
  try {
    response = await fetch(path, options);
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new JetonError("The playground does not answer: has it ended in the terminal? Start it again with jeton play.", GONE);
  }
  if (!response.ok) throw new JetonError(answer.error, answer.kind);
  return answer;
}
