// Questions to the server of this page. Nothing else of the page speaks to any network.

/** An answer that is an error, with the message that a person reads. */
export class JetonError extends Error {
  constructor(message, kind) {
    super(message);
    this.name = "JetonError";
    this.kind = kind;
  }
}

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

/** Puts a file among the tokenizers, and answers its entry in the list. */
export function putTokenizer(file) {
  return request("api/tokenizers", { method: "PUT", headers: { "X-Name": encodeURIComponent(file.name.toWellFormed()) }, body: file });
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new JetonError("The playground does not answer: has it ended in the terminal? Start it again with jeton play.", "Gone");
  }
  const answer = await response.json();
  if (!response.ok) throw new JetonError(answer.error, answer.kind);
  return answer;
}
