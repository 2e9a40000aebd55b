// Values that are too long for the address, kept in the session storage of the tab: a reload and the Back button restore
// them, other tabs do not see them, and the browser removes them when the tab is closed.
//
// An entry of the tab's history holds the ids of its values. The newest values are kept, as many as the browser permits.

import { pack, unpack } from "./address.js";

const PREFIX = "jeton-held-";
const MOST = 8;

const values = new Map(); // id → value, of this load of the page
const ids = () => Object.keys(sessionStorage).filter((key) => key.startsWith(PREFIX)).map((key) => Number(key.slice(PREFIX.length))).sort((one, other) => one - other);

/**
 * Keeps a value.
 *
 * @param {*} value  any JSON
 * @param {number|undefined} own  an id whose value this one takes the place of
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

/** The value with an id; undefined: it is not kept anymore. */
export async function loadValue(id) {
  const packed = values.has(id) ? null : sessionStorage.getItem(PREFIX + id);
  if (packed) values.set(id, JSON.parse(await unpack(packed, Infinity)));
  return values.get(id);
}

/** Stores it, in the place of older values where there is no more room. */
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
