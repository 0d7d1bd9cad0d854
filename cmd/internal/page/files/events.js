// What happened last.

import { $, put } from "./dom.js";
import { clock } from "./format.js";
import { table } from "./table.js";

export function events(list) {
  put($("say-events"), list?.length ? "The latest first" : "Nothing has happened since the start");
  table("t-events", "Events of this node, gossip, zones and clients", ["Time", "Event", "About"],
    (list ?? []).map((e) => [clock(e.time), { text: e.event, className: eventLevel(e.event) }, e.about]));
}

// levels say which events are bad, need attention, or are good, by their names.
const levels = {
  bad: /died|dead|evicted|no-quorum|quorum-lost|master-lost|clash|stopped|superseded|\.down$/,
  warn: /suspect|doubt|orphan|lost|suspended|refused|disagreed|contested|\.unwell$|\.gone$|\.removed$|\.more$/,
  good: /alive|joined|quorum|connected|found|recovered|rehomed|chosen|\.up$|\.well$|\.new$|\.added$/,
};
const eventLevel = (name) => Object.keys(levels).find((level) => levels[level].test(name)) ?? "";
