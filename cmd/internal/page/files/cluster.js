// Which servers and members of the zone are alive.

import { $, put, show } from "./dom.js";
import { count, plural } from "./format.js";
import { listed, map, number, table, word } from "./table.js";

export function gossip(g) {
  if (!show("cluster", g)) return;
  put($("say-cluster"), `${count(g.alive)} of ${plural(g.total, "server")} alive, ${g.quorum ? "quorum" : "no quorum"}; gossip is ${g.state} as ${g.self}`);
  const list = g.participants ?? [];
  map("map-cluster", list.map((p) => [p.nid, p.state]));
  table("t-cluster", `Servers${listed(list, g.total)}`, ["NID", "State", "Age in cycles#", "Deaths#"],
    list.map((p) => [p.nid, word(p.state), number(p.age, p.age === 255 ? "never heard" : p.age), number(p.deaths)]));
}

export function zone(z) {
  if (!show("zone", z)) return;
  put($("say-zone"), `Zone ${z.name}: ${plural(z.members, "member")}, ${count(z.suspects)} suspected, ${plural(z.links, "link")}; this node: ${z.state}`);
  map("map-zone", (z.list ?? []).map((m) => [m.name, m.state]));
  table("t-census", "Census of base zones", ["Zone", "State", "Members#", "Delegate"],
    (z.census ?? []).map((c) => [c.zone, word(c.state), number(c.size), c.delegate]));
}
