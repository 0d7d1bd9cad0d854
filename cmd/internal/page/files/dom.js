// Elements of the page. Every text is shown as text, never as HTML.

export const $ = (id) => document.getElementById(id);

// make returns a new element with attributes and children.
export function make(name, attributes = {}, ...children) {
  const space = ["svg", "polyline"].includes(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// put changes the text or the class of an element only if it differs, so that what a user has
// selected stays selected.
export function put(element, text, className = "") {
  if (element.textContent !== String(text)) element.textContent = text;
  if (element.className !== className) element.className = className;
}

// fit gives an element as many children as wanted.
export function fit(parent, count, create) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(create());
}

// show shows or hides a section, and returns whether it is shown.
export function show(id, shown) {
  $(id).hidden = !shown;
  return shown;
}
