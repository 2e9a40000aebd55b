// Validation of request fields: `playground/api/request_fields.py` in JavaScript, with the same messages.

import { JetonError } from "./core.js";
import { length } from "./bytes.js";

/** A value as Python displays it, in at most `most` characters. */
export function shown(value, most) {
  const said =
    typeof value === "string" ? quoted(value) : value === true ? "True" : value === false ? "False" : value === null ? "None" : JSON.stringify(value);
  return [...said].slice(0, most).join("");
}

function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r").replaceAll(quote, `\\${quote}`) + quote;
}

const value = (request, name, otherwise) => (Object.hasOwn(request, name) ? request[name] : otherwise);

function wrong(request, name, wanted) {
  if (request[name] === undefined || request[name] === null) return new JetonError(`the request lacks "${name}", ${wanted}`, "ConfigError");
  return new JetonError(`the request's "${name}" is ${shown(request[name], 40)}; it must be ${wanted}`, "ConfigError");
}

/** A string; required if there is no default. */
export function text(request, name, otherwise) {
  const given = value(request, name, otherwise);
  if (typeof given !== "string") throw wrong(request, name, "a text");
  if (!given.isWellFormed()) {
    const at = given.search(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
    const code = given.charCodeAt(at).toString(16).toUpperCase();
    const place = length(given.slice(0, at));
    throw new JetonError(`the ${name} has a lone surrogate, U+${code}, at position ${place}; it has no UTF-8 encoding: remove it`, "InvalidTextError");
  }
  return given;
}

/** One of several strings. */
export function oneOf(request, name, choices, otherwise) {
  const given = text(request, name, otherwise);
  if (!choices.includes(given)) throw wrong(request, name, `one of ${choices.join(", ")}`);
  return given;
}

/** A list of strings, without duplicates. */
export function texts(request, name, fewest, most) {
  const given = request[name];
  if (!Array.isArray(given) || !given.every((item) => typeof item === "string")) throw wrong(request, name, "a list of texts");
  const distinct = [...new Set(given)];
  if (distinct.length < fewest || distinct.length > most) {
    throw new JetonError(`"${name}" has ${distinct.length} entries; it may have ${fewest} to ${most}`, "ConfigError");
  }
  return distinct;
}

/** A boolean. */
export function flag(request, name, otherwise = false) {
  const given = value(request, name, otherwise);
  if (typeof given !== "boolean") throw wrong(request, name, "true or false");
  return given;
}

/** An integer from `low` to `high`; required if there is no default. */
export function integer(request, name, otherwise, low, high) {
  const given = value(request, name, otherwise);
  if (!Number.isInteger(given) || given < low || given > high) throw wrong(request, name, `an integer from ${low} to ${high}`);
  return given;
}
