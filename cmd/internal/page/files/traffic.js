// Traffic: charts of the last minute, rates and counters.

import { $, make, put } from "./dom.js";
import { bytes, bytesPerSecond, perSecond } from "./format.js";
import { rate } from "./state.js";
import { number, table } from "./table.js";

const keep = 60; // samples of rates in the charts, one a second
const samples = []; // {at, in, out, bytesIn, bytesOut, drops}, the latest last

export function now(n) {
  const at = new Date(n.time_ms);
  put($("time"), at.toLocaleTimeString("en-GB"));
  $("time").dateTime = at.toISOString();
  const one = {
    at, out: rate("out", n.sent.messages), in: rate("in", n.received.messages),
    bytesOut: rate("bytes out", n.sent.bytes), bytesIn: rate("bytes in", n.received.bytes),
  };
  one.drops = rate("drops", n.dropped.messages);
  if (one.out !== undefined) samples.push(one);
  if (samples.length > keep) samples.shift();
  chart("Messages", "out", "in", perSecond);
  chart("Payload", "bytesOut", "bytesIn", bytesPerSecond);
  table("t-rates", "Rates of the last minute", ["Time", "Messages out#", "Messages in#", "Payload out#", "Payload in#", "Drops#"],
    samples.toReversed().map((s) => [s.at.toLocaleTimeString("en-GB"), number(0, perSecond(s.out)), number(0, perSecond(s.in)),
      number(0, bytesPerSecond(s.bytesOut)), number(0, bytesPerSecond(s.bytesIn)), number(0, perSecond(s.drops))]));
  const counters = [["Sent", n.sent.messages, n.sent.bytes], ["Received", n.received.messages, n.received.bytes], ["Forwarded", n.routed.messages, n.routed.bytes],
    ["Dropped", n.dropped.messages, n.dropped.bytes], ...Object.entries(n.drops ?? {}).map(([why, c]) => [`Dropped: ${why}`, c]),
    ["Sends that failed", n.errors], ["Operations without an answer in time", n.timeouts], ["Sent again", n.resends], ["Being sent", n.in_flight]];
  table("t-counters", "Counters since the start or the last reset", ["Counter", "Messages#", "Payload#"],
    counters.map(([name, c, b]) => [name, number(c), b === undefined ? "" : number(b, bytes(b))]));
}

// chart draws two rates of the last minute.
function chart(title, out, into, text) {
  const id = `chart-${out}`;
  if (!$(id)) {
    const line = (name) => make("polyline", { class: name });
    const svg = make("svg", { class: "chart", viewBox: `0 0 ${keep - 1} 100`, preserveAspectRatio: "none", role: "img" }, line("out"), line("in"));
    const caption = make("figcaption", {}, make("span", { class: "title" }, title), make("span", { class: "out" }, "out ", make("b")), make("span", { class: "in" }, "in ", make("b")));
    $("charts").append(make("figure", { id }, caption, svg));
  }
  const figure = $(id);
  const svg = figure.querySelector("svg");
  const last = samples.at(-1) ?? {};
  const most = Math.max(1, ...samples.flatMap((s) => [s[out] ?? 0, s[into] ?? 0]));
  const points = (name) => samples.map((s, i) => `${keep - samples.length + i},${(96 - (92 * (s[name] ?? 0)) / most).toFixed(1)}`).join(" ");
  svg.children[0].setAttribute("points", points(out));
  svg.children[1].setAttribute("points", points(into));
  const [b1, b2] = figure.querySelectorAll("b");
  put(b1, text(last[out]));
  put(b2, text(last[into]));
  svg.setAttribute("aria-label", `${title} of the last minute, at most ${text(most)}; now ${text(last[out])} out, ${text(last[into])} in`);
}
