// Requests to all servers at once, their trees, and groups of multicast.

import { $, make, put, show } from "./dom.js";
import { clock, count, plural } from "./format.js";
import { state } from "./state.js";
import { number, table, word } from "./table.js";

export function collectives() {
  const c = state.collectives;
  const groups = state.multicast ?? [];
  if (!show("collectives", c || groups.length)) return;
  put($("say-collectives"), c ? `${plural(c.running, "request")} of this node running, ${count(c.carried)} carried for others` : "");
  trees((c?.groups ?? []).filter((g) => g.branches));
  table("t-collectives", "Requests of this node, the latest first", ["Request#", "Group", "What", "Result", "Began", "Took#", "Reached#", "Unreached#"],
    (c?.list ?? []).map((b) => [number(b.id), b.group, b.what, word(b.running ? "running" : b.status), clock(b.began),
      number(0, b.running ? "" : `${(b.elapsed_us / 1000).toFixed(1)} ms`), number(0, b.running ? `of ${b.members}` : `${b.reached} of ${b.members}`), number(b.unreached)]));
  table("t-groups", "Groups of collectives", ["Group", "Members#", "Alive#", "Tree"],
    (c?.groups ?? []).map((g) => [g.name, number(g.members), number(g.alive, count(g.alive), g.alive < g.members ? "warn" : ""), g.tree]));
  table("t-multicast", "Groups of reliable multicast", ["Group", "State", "Members#", "Manager", "In flight#", "Waiting#"],
    groups.map((g) => [g.name, word(g.state), number(g.members), g.manager ?? "", number(g.in_flight), number(g.waits)]));
}

// trees shows the trees of groups in which requests run, as lists in lists. They are made anew when
// they change, which is when a request begins or ends, or a member dies.
let treesShown = "";
function trees(groups) {
  const dead = new Set((state.gossip?.participants ?? []).filter((p) => p.state === "dead").map((p) => p.nid));
  const branch = (g, rank) => {
    const { nid } = g.branches[rank];
    const name = make("span", dead.has(nid) ? { class: "bad" } : {}, dead.has(nid) ? `${nid} dead` : nid);
    const children = g.branches.flatMap((b, i) => (b.parent === rank ? [branch(g, i)] : []));
    return make("li", {}, name, ...(children.length ? [make("ul", {}, ...children)] : []));
  };
  const now = JSON.stringify([groups, [...dead]]);
  if (now === treesShown) return;
  treesShown = now;
  $("trees").replaceChildren(...groups.map((g) => make("details", { open: "" },
    make("summary", {}, `Tree of the running request to ${g.name}, ${g.tree}`),
    make("ul", { class: "tree" }, branch(g, g.branches.findIndex((b) => b.parent < 0))))));
}
