// The tree of merges that built a token.

/** @returns {Array<Node>} */
export function mergeTree(tree) {
  return tree ? [] : [];
}
