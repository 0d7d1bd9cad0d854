// Clients and the servers that are their masters.

import { $, put, show } from "./dom.js";
import { count, plural } from "./format.js";
import { state } from "./state.js";
import { listed, number, table, word } from "./table.js";

export function clients() {
  const s = state.servers;
  const c = state.client;
  if (!show("clients", s || c)) return;
  const say = [];
  if (s) say.push(`Server ${s.state}${s.quorum ? "" : ", no quorum"}${s.draining ? ", draining" : ""}: ${plural(s.clients, "client")}, master of ${count(s.mastered)}, ${count(s.orphaned)} orphaned, ${count(s.evicting)} being evicted`);
  if (c) say.push(`Client ${c.state}: ${c.master ? `master ${c.master}` : "no master"}, attached to ${count(c.attached)} of ${plural(c.servers, "server")}`);
  put($("say-clients"), say.join(". "));
  table("t-masters", "Servers as masters", ["NID", "State", "Clients here#"],
    (s?.masters ?? []).map((m) => [m.nid, word(m.draining ? "draining" : m.alive ? "alive" : "dead"), number(m.clients)]));
  const list = s?.list ?? [];
  table("t-clients", `Clients of this server${s?.clients && !list.length ? ": too many to list" : listed(list, s?.clients ?? 0)}`, ["Client", "NID", "State", "Master"],
    list.map((o) => [o.name || o.id, o.nid, word(o.state), o.master]));
}
