// Session storage for values that are too long for the address. They survive a reload and the Back button; the browser
// deletes them when the tab is closed.
//
// A history entry has the ids of its values. The oldest values are evicted when the storage is full.

import { pack, unpack } from "./address.js";

const PREFIX = "jeton-held-";
const MOST = 8;

const values = new Map(); // id → value, a cache for this load of the page
const ids = () => Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX)).map((key) => Number(key.slice(PREFIX.length))).sort((one, other) => one - other);

/**
 * Stores a value.
 *
 * @param {*} value  any JSON
 * @param {number|undefined} own  id of a value to replace
 * @returns {Promise<{id: number, kept: boolean}>}  kept: whether it survives a reload
 */
export async function storeValue(value, own) {
  const known = [...values].find(([, other]) => other === value);
  const id = known?.[0] ?? own ?? Math.max(0, ...ids(), ...values.keys()) + 1;
  if (!known) {
    values.set(id, value);
    store(id, await pack(JSON.stringify(value)));
    for (const old of ids().slice(0, -MOST)) forget(old);
  }
  return { id, kept: sessionStorage.getItem(PREFIX + id) !== null };
}

/** Loads the value of an id; undefined if it was evicted. */
export async function loadValue(id) {
  const packed = values.has(id) ? null : sessionStorage.getItem(PREFIX + id);
  if (packed) values.set(id, JSON.parse(await unpack(packed, Infinity)));
  return values.get(id);
}

/** Writes to the session storage; evicts the oldest values if it is full. */
function store(id, packed) {
  for (;;) {
    try {
      return sessionStorage.setItem(PREFIX + id, packed);
    } catch {
      const [oldest] = ids().filter((other) => other !== id);
      if (oldest === undefined) return sessionStorage.removeItem(PREFIX + id);
      forget(oldest);
    }
  }
}

function forget(id) {
  sessionStorage.removeItem(PREFIX + id);
  values.delete(id);
}
