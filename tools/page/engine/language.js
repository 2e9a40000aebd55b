// Language of the answers: `util/messages.py` and `util/language.py` in JavaScript, which describe it. English unless `useLanguage` was called.

const NESTED = ["message", "reason"]; // placeholders whose value is a message itself

let language = "en";
let strings = {};
let templates = []; // [regular expression, translation]

/**
 * Answers in a language from here on.
 *
 * @param {string} name
 * @param {{strings: Object<string, string>, errors: Object<string, string>}} catalogs  English message → translation
 */
export function useLanguage(name, catalogs) {
  language = name;
  strings = catalogs.strings;
  const fixed = (key) => key.replace(/\{\w*\}/g, "").length;
  const keys = Object.keys(catalogs.errors).sort((one, other) => one.startsWith("{") - other.startsWith("{") || fixed(other) - fixed(one));
  templates = keys.map((key) => [pattern(key), catalogs.errors[key]]);
}

/** The text of an object, language → text. */
export const localized = (texts) => texts[language];

/** A message in the language of the answers. */
export const translate = (message, values = {}) => filled(Object.hasOwn(strings, message) ? strings[message] : message, values);

const filled = (message, values) => message.replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? values[name] : all));

/** The message of an error, clause by clause; a clause that the catalog does not have stays English. */
export function inLanguage(message) {
  if (!templates.length) return message;
  let [found, wasTranslated] = ["", false];
  message.split("; ").forEach((clause, index) => {
    const translation = ofClause(clause);
    const isTranslated = translation !== clause;
    if (index) found += wasTranslated && isTranslated ? translate("; ") : "; ";
    found += translation;
    wasTranslated = isTranslated;
  });
  return found;
}

/** A clause, which may have a file or another place before it. */
function ofClause(clause) {
  const starts = [0, ...Array.from(clause.matchAll(/: /g), ({ index }) => index + 2)];
  for (const start of starts) {
    for (const [regex, translation] of templates) {
      const found = regex.exec(clause.slice(start));
      if (!found) continue;
      const values = Object.entries(found.groups ?? {}).map(([name, value]) => [name, NESTED.includes(name) ? inLanguage(value) : value]);
      return clause.slice(0, start) + filled(translation, Object.fromEntries(values));
    }
  }
  return clause;
}

/** A regular expression of a whole message. */
function pattern(message) {
  const parts = message.split(/\{(\w+)\}/);
  const source = parts.map((part, index) => (index % 2 ? `(?<${part}>.+?)` : part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")));
  return new RegExp(`^${source.join("")}$`, "su");
}
