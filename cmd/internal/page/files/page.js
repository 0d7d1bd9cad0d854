// Follows the state of the daemon and shows it. The server sends the whole state, and then the
// sections of it that change (package page); the other files show one part of it each.

import { capture } from "./capture.js";
import { clients } from "./clients.js";
import { gossip, zone } from "./cluster.js";
import { collectives } from "./collectives.js";
import { $, put } from "./dom.js";
import { events } from "./events.js";
import { navigation, tiles } from "./glance.js";
import { nis, node, peers, routes } from "./node.js";
import { forget, state } from "./state.js";
import { now } from "./traffic.js";

// views are the functions that show the sections of the state.
const views = {
  node, now, nis, peers, routes, gossip, zone, servers: clients, client: clients, collectives, multicast: collectives, events, capture,
};

function take(message) {
  Object.assign(state, message);
  const changed = new Set([...Object.keys(message), "nis"]); // the rates of NIs change with the time
  for (const name of changed) views[name](state[name]);
  tiles();
  navigation();
  forget();
}

// live says whether the page gets the state.
const live = (text) => put($("live"), text, text === "live" ? "good" : "warn");

// follow gets the state until the connection ends, and then connects again. A browser itself does
// so only if the server had accepted the connection.
let heard = 0; // when the state last came, or the connection was made
function follow() {
  const source = new EventSource("events");
  source.onopen = () => (heard = performance.now());
  source.onmessage = (e) => {
    heard = performance.now();
    take(JSON.parse(e.data));
    live("live");
  };
  source.onerror = () => {
    live("no connection, trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}
follow();

// The time in the state changes each second: without a message the node is stuck.
setInterval(() => {
  const late = heard && performance.now() - heard > 10_000;
  if (late && ["live", "connecting"].includes($("live").textContent)) live("the node does not answer: lnetctl doctor says why");
}, 1000);
