// Calls of Jeton in Python and commands for a shell that give what a view shows.

/** UTF-16 units of a text in a call, and bytes of an argument: Linux limits one to 128 KiB. */
const MAX_TEXT = 100_000;

// Characters that are invisible or change the order of others: escaped, so that a copied call is what it looks like.
const HIDDEN = /[\u007f-\u00a0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g;
const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** A value of JSON as a literal of Python. */
export function python(value) {
  if (typeof value === "string") return JSON.stringify(value).replace(HIDDEN, escaped); // escapes of JSON are Python's
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${python(name)}: ${python(each)}`).join(", ")}}`;
  return String(value);
}

/** An argument for a POSIX shell; null if no command can have it. */
export function shell(text) {
  if (text.includes("\0") || !text.isWellFormed() || new TextEncoder().encode(text).length > MAX_TEXT) return null;
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A call with options, those of undefined value left out: `f(a, b=1)`. */
export function call(name, args, options = {}) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return `${name}(${[...args, ...given.map(([option, value]) => `${option}=${python(value)}`)].join(", ")})`;
}

/** Lines of Python after the import that they need. */
export const program = (...lines) => ["import jeton", ...(lines[0].startsWith("from ") ? [] : [""]), ...lines].join("\n") + "\n";

/** A command with its arguments; null if one of them cannot be written. */
export function command(...args) {
  const written = args.map((arg) => shell(arg));
  return written.includes(null) ? null : written.join(" ");
}

/**
 * The argument of `jeton.load` for a tokenizer; null if it has none, as the one that the playground trains itself.
 *
 * @param {Object} app
 * @param {string} key
 */
export const sourceOf = (app, key) => app.tokenizers().find((entry) => entry.key === key)?.source ?? null;

/** The name of a tokenizer in captions: its key without the number that tells files of one name apart. */
export const captionName = (key) => key.replace(/ \(\d+\)$/, "");

/** Whether a text is short enough for a call. */
export const fits = (text) => text.length <= MAX_TEXT && text.isWellFormed();

/**
 * A method of a tokenizer on a text, in Python and for a shell.
 *
 * @param {Object} app
 * @param {Object} options
 * @param {string} options.tokenizer  its key
 * @param {string} options.text
 * @param {string} options.method  "tokenize"
 * @param {string[]} options.words  the command: ["encode"]
 * @param {boolean} [options.special]  parse special tokens
 * @param {boolean} [options.template]  apply the template
 * @returns {{python: string|null, shell: string|null}}
 */
export function callOnText(app, { tokenizer, text, method, words, special = false, template = false }) {
  const source = sourceOf(app, tokenizer);
  if (source === null || !fits(text)) return { python: null, shell: null };
  const options = { special: special ? "all" : undefined, add_special_tokens: template || undefined };
  const flags = [...(special ? ["--special", "all"] : []), ...(template ? ["--add-special-tokens"] : [])];
  return {
    python: program(call(`jeton.load(${python(source)}).${method}`, [python(text)], options)),
    shell: command("jeton", ...words, "-t", source, ...flags, "--", text),
  };
}
