// The node itself: its name, interfaces, peers and routes.

import { $, put, show } from "./dom.js";
import { bytes, bytesPerSecond, count, perSecond, plural } from "./format.js";
import { rate } from "./state.js";
import { credits, health, listed, number, table, word } from "./table.js";

export function node(n) {
  put($("host"), n.host || "lnetd");
  const extra = [n.router ? "router" : "", n.discovery ? "" : "no discovery"].filter(Boolean);
  put($("about"), [(n.nids ?? []).join(", ") || "no NIDs", `lnetd ${n.version}`, ...extra].join(" · "));
  document.title = `${n.host || "lnetd"} – lnetd`;
}

export function nis(list) {
  put($("say-nis"), plural(list?.length ?? 0, "interface"));
  table("t-nis", "NIs of this node", ["NID", "Interface", "State", "Health#", "Credits#", "Lowest#", "Peers#", "Out#", "In#", "Payload out#", "Payload in#", "Sent#", "Received#", "Dropped#"],
    (list ?? []).map((n) => [n.nid, n.interface, n.cause ? { ...word(n.status), text: `${n.status}: ${n.cause}` } : word(n.status), health(n.health), credits(n), number(n.min_credits), number(n.peers),
      number(0, perSecond(rate(`${n.nid} out`, n.sent.messages))), number(0, perSecond(rate(`${n.nid} in`, n.received.messages))),
      number(0, bytesPerSecond(rate(`${n.nid} bytes out`, n.sent.bytes))), number(0, bytesPerSecond(rate(`${n.nid} bytes in`, n.received.bytes))),
      number(n.sent.messages), number(n.received.messages), number(n.dropped.messages)]));
}

export function peers(p) {
  const trouble = [p.down ? `${count(p.down)} down` : "", p.unwell ? `${count(p.unwell)} unwell` : "", p.waiting ? plural(p.waiting, "message waits", "messages wait") : ""];
  put($("say-peers"), [plural(p.total, "peer"), ...trouble].filter(Boolean).join(", "));
  table("t-peers", `NIs of other nodes${listed(p.list, p.total)}`, ["NID", "Via", "State", "Health#", "Credits#", "Lowest#", "Waiting#", "Sent#", "Received#", "Payload sent#", "Payload received#"],
    (p.list ?? []).map((o) => [o.nid, o.via, o.cause ? { ...word(o.state), text: `${o.state}: ${o.cause}` } : word(o.state), health(o.health), credits(o), number(o.min_credits),
      number(o.waiting), number(o.sent.messages), number(o.received.messages), number(o.sent.bytes, bytes(o.sent.bytes)), number(o.received.bytes, bytes(o.received.bytes))]));
}

export function routes(r) {
  if (!show("routes", r.total > 0)) return;
  put($("say-routes"), plural(r.total, "route") + (r.down ? `, ${count(r.down)} down` : ""));
  table("t-routes", `Routes${listed(r.list, r.total)}`, ["Net", "Gateway", "Hops#", "Priority#", "State"],
    r.list.map((o) => [o.net, o.gateway, number(o.hops, o.hops < 0 ? "any" : o.hops), number(o.priority), o.cause ? { ...word(o.state), text: `${o.state}: ${o.cause}` } : word(o.state)]));
}
