// How to cite this page: a BibTeX entry with its version and address. The version is in the head of the page.

/** The version of Jeton; "" if the page is read without a server. */
export const version = document.querySelector('meta[name="jeton-version"]').content;

/**
 * A BibTeX entry for Jeton, and for what is shown if an address is given.
 *
 * @param {string} [address]  the address of the view, as *Share* copies it
 */
export function bibtex(address) {
  const fields = [
    ["author", "{The Jeton authors}"],
    ["title", "{Jeton: a tokenizer workbench}"],
    ["year", String(new Date().getFullYear())],
    ...(version ? [["version", version]] : []),
    ...(address ? [["url", escaped(address)]] : []),
  ];
  return `@software{jeton,\n${fields.map(([name, value]) => `  ${name} = {${value}}`).join(",\n")}\n}\n`;
}

/** An address without characters that end a field of BibTeX. */
const escaped = (address) => address.replace(/[{}\\]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
