// The cluster at a glance, and links to the sections.

import { $, fit, make, put } from "./dom.js";
import { count, perSecond } from "./format.js";
import { rateNow, state } from "./state.js";

// tiles shows the cluster at a glance.
export function tiles() {
  const { gossip: g, zone: z, nis, peers: p, servers: s, collectives: c, now: n } = state;
  const up = (nis ?? []).filter((o) => o.status === "up").length;
  const all = [];
  if (g) all.push(["Servers alive", `${count(g.alive)} / ${count(g.total)}`, g.quorum ? "quorum" : "no quorum", !g.quorum ? "bad" : g.alive < g.total ? "warn" : "good"]);
  if (z) all.push(["Zone members", count(z.members), z.suspects ? `${count(z.suspects)} suspected` : z.state, z.suspects ? "warn" : "good"]);
  all.push(["NIs up", `${up} / ${nis?.length ?? 0}`, "", up === 0 ? "bad" : up < nis.length ? "warn" : "good"]);
  all.push(["Peers", count(p.total), p.down || p.unwell ? `${count(p.down)} down, ${count(p.unwell)} unwell` : "all well", p.down || p.unwell ? "warn" : "good"]);
  if (s) all.push(["Clients", count(s.clients), s.orphaned ? `${count(s.orphaned)} orphaned` : `master of ${count(s.mastered)}`, !s.quorum ? "bad" : s.orphaned ? "warn" : "good"]);
  if (c) all.push(["Collectives", count(c.running), `running, ${count(c.carried)} carried`, ""]);
  const drops = rateNow("drops") ?? 0;
  all.push(["Drops", perSecond(drops), `${count(n.dropped.messages)} in all`, drops > 0 ? "warn" : "good"]);
  const dl = $("tiles");
  fit(dl, all.length, () => make("div", {}, make("dt"), make("dd"), make("dd", { class: "note" })));
  all.forEach(([name, value, note, level], i) => {
    const tile = dl.children[i];
    if (tile.className !== level) tile.className = level;
    put(tile.children[0], name);
    put(tile.children[1], value);
    put(tile.children[2], note, "note");
  });
}

// navigation links to the sections that are shown.
export function navigation() {
  const shown = [...document.querySelectorAll("main > section:not(#glance)")].filter((s) => !s.hidden);
  const ul = $("nav");
  fit(ul, shown.length, () => make("li", {}, make("a")));
  shown.forEach((s, i) => {
    const a = ul.children[i].firstChild;
    put(a, s.querySelector("h2").textContent);
    if (a.hash !== `#${s.id}`) a.href = `#${s.id}`;
  });
}
