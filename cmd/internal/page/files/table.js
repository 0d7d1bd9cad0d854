// Tables and lists of objects with their states.

import { $, fit, make, put } from "./dom.js";
import { count } from "./format.js";

// levels say which states are good, which need attention, and which are bad.
const levels = {
  good: ["up", "alive", "member", "current", "connected", "yes", "settled", "running", "joined", "ok"],
  warn: ["suspected", "stale", "orphaned", "recovering", "evicting", "draining", "electing", "listening", "waiting", "incomplete", "joining"],
  bad: ["down", "dead", "lost", "no", "stopped", "excluded", "failed", "unsent"],
};
const levelOf = (word) => Object.keys(levels).find((level) => levels[level].includes(word)) ?? "";

// Cells of tables: text, a number, or a state whose level is shown by colour and sign.
export const number = (value, text = count(value), className = "") => ({ text, className: `number ${className}`.trim() });
export const word = (value) => ({ text: value, className: levelOf(value) });
export const health = (value) => number(value, `${value / 10} %`, value < 1000 ? (value < 500 ? "bad" : "warn") : "");
export const credits = (o) => number(o.credits, `${o.credits} of ${o.max_credits}`, o.credits < 0 ? "warn" : "");

// table shows rows of cells. The first cell of a row is its header.
export function table(id, caption, columns, rows) {
  const t = $(id);
  if (!t.tHead) {
    t.append(make("caption"), make("thead", {}, make("tr")), make("tbody"));
    for (const c of columns) t.tHead.rows[0].append(make("th", { scope: "col", ...(c.endsWith("#") && { class: "number" }) }, c.replace(/#$/, "")));
    const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption });
    t.replaceWith(box);
    box.append(t);
  }
  t.parentElement.hidden = rows.length === 0;
  put(t.caption, caption);
  const body = t.tBodies[0];
  fit(body, rows.length, () => make("tr", {}, make("th", { scope: "row" }), ...columns.slice(1).map(() => make("td"))));
  rows.forEach((row, y) => row.forEach((cell, x) => put(body.rows[y].cells[x], cell?.text ?? cell ?? "", cell?.className ?? "")));
}

// listed says how many rows of a longer list a table has.
export const listed = (list, total) => (list?.length < total ? `, the first ${count(list.length)} of ${count(total)}` : "");

// map shows objects as a list of names with their states.
export function map(id, list) {
  const ul = $(id);
  ul.classList.toggle("many", list.length > 16);
  fit(ul, list.length, () => make("li", {}, "", make("span")));
  list.forEach(([name, is], i) => {
    const li = ul.children[i];
    if (li.firstChild.data !== name) li.firstChild.data = name;
    put(li.lastElementChild, is);
    if (li.className !== levelOf(is)) li.className = levelOf(is);
  });
}
