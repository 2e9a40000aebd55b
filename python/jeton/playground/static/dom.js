// Creation of elements. Strings are inserted as text nodes, never as markup.

/**
 * Creates an element with properties and children.
 *
 * @param {string} tag
 * @param {Object} properties  `class`, `on` (event → function), `data` (data attributes), and attributes by name; true
 *   is an empty attribute, and false, null and undefined are no attribute
 * @param {...(Node|string|number|null|undefined)} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Creates an SVG element. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false).map(asNode));
  return element;
}

const asNode = (child) => (child instanceof Node ? child : String(child));

/** Formats a number with thousands separators. */
export const number = (value) => value.toLocaleString("en-US");

/** Displays an error. */
export function failure(error) {
  return h("p", { class: "failure", role: "alert" }, error.message);
}
