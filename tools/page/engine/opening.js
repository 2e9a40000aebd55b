// Files that the user opens: which of them form a tokenizer, and their formats. They are read here and sent nowhere.

import { JetonError } from "./core.js";
import { Tokenizer } from "./tokenizer.js";

/**
 * Adds the tokenizers of files that were opened together.
 *
 * @param {Array<{name: string, data: Uint8Array}>} files
 * @returns {{entries: Object[], errors: Array<{name: string, error: string}>}}
 */
export function openFiles(catalog, files) {
  const [entries, errors] = [[], []];
  for (const { name, data } of files) {
    try {
      entries.push(catalog.add(printable(name), new Tokenizer(catalog.core, data, name)));
    } catch (error) {
      if (!(error instanceof JetonError)) throw error;
      errors.push({ name, error: error.message });
    }
  }
  return { entries, errors };
}

/** The name without unprintable characters, in at most 120. */
const printable = (name) => [...name.replace(/^.*[\\/]/, "").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\ufffd")].slice(0, 120).join("").trim() || "a file without name";
