// Answers requests by the engine of a page without a server, in node: `node ask.mjs ENGINE_FOLDER LANGUAGE < requests`.
//
// Input: a JSON list of [path, body], or ["open", {name: base64 of a file}]. Output: a JSON list of answers; an error is {"error", "kind"}.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const [folder, language] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, name)));
const [{ makeCatalog }, { ENDPOINTS }, { openFiles }, { JetonError }, { inLanguage, useLanguage }] = await Promise.all(["catalog.js", "api.js", "opening.js", "core.js", "language.js"].map(load));

async function fetchBytes(file) {
  const bytes = await readFile(join(folder, file));
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
}

if (language !== "en") useLanguage(language, JSON.parse(new TextDecoder().decode(await fetchBytes(`language.${language}.json`))));
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const requests = JSON.parse(Buffer.concat(chunks));
const catalog = await makeCatalog(fetchBytes);
const answers = [];
for (const [path, body] of requests) {
  try {
    if (path === "tokenizers") answers.push(catalog.describe());
    else if (path === "open") answers.push(await openFiles(catalog, Object.entries(body).map(([name, data]) => ({ name, data: new Uint8Array(Buffer.from(data, "base64")) }))));
    else if (path === "ids") answers.push([...(await catalog.get(body.tokenizer)).encode(body.text)]);
    else answers.push(await ENDPOINTS[path](catalog, body));
  } catch (error) {
    if (!(error instanceof JetonError)) throw error;
    answers.push({ error: inLanguage(error.message), kind: error.kind });
  }
}
process.stdout.write(JSON.stringify(answers));
