// Shows the state of the daemon. The server sends the whole state, and then the sections of it
// that change (package page); every text in it is shown as text, never as HTML.

const keep = 60; // samples of rates in the charts, one a second
const state = {};
const samples = []; // {at, in, out, bytesIn, bytesOut}, the latest last
const before = new Map(); // counters by name: {clock, value, rate}

const $ = (id) => document.getElementById(id);

// make returns a new element with attributes and children.
function make(name, attributes = {}, ...children) {
  const space = ["svg", "polyline"].includes(name) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// put changes the text or the class of an element only if it differs, so that what a user has
// selected stays selected.
function put(element, text, className = "") {
  if (element.textContent !== String(text)) element.textContent = text;
  if (element.className !== className) element.className = className;
}

// fit gives an element as many children as wanted.
function fit(parent, count, create) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(create());
}

// Numbers as people read them.
const grouped = new Intl.NumberFormat("en");
const count = (n) => grouped.format(n);
function scaled(n, units) {
  let i = 0;
  for (; n >= 999.5 && i < units.length - 1; i++) n /= 1000;
  return `${n >= 99.5 || i === 0 ? Math.round(n) : n.toPrecision(n >= 9.95 ? 3 : 2)} ${units[i]}`;
}
const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB", "PB"]);
const perSecond = (n) => (n === undefined ? "–" : scaled(n, ["/s", "k/s", "M/s", "G/s"]));
const bytesPerSecond = (n) => (n === undefined ? "–" : `${bytes(n)}/s`);
const clock = (text) => new Date(text).toLocaleTimeString("en-GB");
const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// rate returns by how much a counter grows in a second; undefined before two readings.
function rate(name, value) {
  const now = state.now.clock_ms;
  const last = before.get(name);
  if (last === undefined || now < last.clock || value < last.value) {
    before.set(name, { clock: now, value, used: now });
    return undefined;
  }
  if (now > last.clock) {
    before.set(name, { clock: now, value, used: now, rate: ((value - last.value) * 1000) / (now - last.clock) });
  }
  return before.get(name).rate;
}

// forget removes the counters of objects that are no longer shown.
function forget() {
  for (const [name, one] of before) if (state.now.clock_ms > one.clock + 10_000) before.delete(name);
}

// levels say which states are good, which need attention, and which are bad.
const levels = {
  good: ["up", "alive", "member", "current", "connected", "yes", "settled", "running", "joined", "ok"],
  warn: ["suspected", "stale", "orphaned", "recovering", "evicting", "draining", "electing", "listening", "waiting", "incomplete", "joining"],
  bad: ["down", "dead", "lost", "no", "stopped", "excluded", "failed", "unsent"],
};
const levelOf = (word) => Object.keys(levels).find((level) => levels[level].includes(word)) ?? "";

// Cells of tables: text, a number, or a state whose level is shown by colour and sign.
const number = (value, text = count(value), className = "") => ({ text, className: `number ${className}`.trim() });
const word = (value) => ({ text: value, className: levelOf(value) });
const health = (value) => number(value, `${value / 10} %`, value < 1000 ? (value < 500 ? "bad" : "warn") : "");
const credits = (o) => number(o.credits, `${o.credits} of ${o.max_credits}`, o.credits < 0 ? "warn" : "");

// table shows rows of cells. The first cell of a row is its header.
function table(id, caption, columns, rows) {
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
const listed = (list, total) => (list?.length < total ? `, the first ${count(list.length)} of ${count(total)}` : "");

// map shows objects as a list of names with their states.
function map(id, list) {
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

function show(id, shown) {
  $(id).hidden = !shown;
  return shown;
}

// The functions below show one section of the state each.
const views = {
  node(n) {
    put($("host"), n.host || "lnetd");
    const extra = [n.router ? "router" : "", n.discovery ? "" : "no discovery"].filter(Boolean);
    put($("about"), [(n.nids ?? []).join(", ") || "no NIDs", `lnetd ${n.version}`, ...extra].join(" · "));
    document.title = `${n.host || "lnetd"} – lnetd`;
  },

  now(n) {
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
  },

  nis(list) {
    put($("say-nis"), plural(list?.length ?? 0, "interface"));
    table("t-nis", "NIs of this node", ["NID", "Interface", "State", "Health#", "Credits#", "Lowest#", "Peers#", "Out#", "In#", "Payload out#", "Payload in#", "Sent#", "Received#", "Dropped#"],
      (list ?? []).map((n) => [n.nid, n.interface, n.cause ? { ...word(n.status), text: `${n.status}: ${n.cause}` } : word(n.status), health(n.health), credits(n), number(n.min_credits), number(n.peers),
        number(0, perSecond(rate(`${n.nid} out`, n.sent.messages))), number(0, perSecond(rate(`${n.nid} in`, n.received.messages))),
        number(0, bytesPerSecond(rate(`${n.nid} bytes out`, n.sent.bytes))), number(0, bytesPerSecond(rate(`${n.nid} bytes in`, n.received.bytes))),
        number(n.sent.messages), number(n.received.messages), number(n.dropped.messages)]));
  },

  peers(p) {
    const trouble = [p.down ? `${count(p.down)} down` : "", p.unwell ? `${count(p.unwell)} unwell` : "", p.waiting ? plural(p.waiting, "message waits", "messages wait") : ""];
    put($("say-peers"), [plural(p.total, "peer"), ...trouble].filter(Boolean).join(", "));
    table("t-peers", `NIs of other nodes${listed(p.list, p.total)}`, ["NID", "Via", "State", "Health#", "Credits#", "Lowest#", "Waiting#", "Sent#", "Received#", "Payload sent#", "Payload received#"],
      (p.list ?? []).map((o) => [o.nid, o.via, o.cause ? { ...word(o.state), text: `${o.state}: ${o.cause}` } : word(o.state), health(o.health), credits(o), number(o.min_credits),
        number(o.waiting), number(o.sent.messages), number(o.received.messages), number(o.sent.bytes, bytes(o.sent.bytes)), number(o.received.bytes, bytes(o.received.bytes))]));
  },

  routes(r) {
    if (!show("routes", r.total > 0)) return;
    put($("say-routes"), plural(r.total, "route") + (r.down ? `, ${count(r.down)} down` : ""));
    table("t-routes", `Routes${listed(r.list, r.total)}`, ["Net", "Gateway", "Hops#", "Priority#", "State"],
      r.list.map((o) => [o.net, o.gateway, number(o.hops, o.hops < 0 ? "any" : o.hops), number(o.priority), o.cause ? { ...word(o.state), text: `${o.state}: ${o.cause}` } : word(o.state)]));
  },

  gossip(g) {
    if (!show("cluster", g)) return;
    put($("say-cluster"), `${count(g.alive)} of ${plural(g.total, "server")} alive, ${g.quorum ? "quorum" : "no quorum"}; gossip is ${g.state} as ${g.self}`);
    const list = g.participants ?? [];
    map("map-cluster", list.map((p) => [p.nid, p.state]));
    table("t-cluster", `Servers${listed(list, g.total)}`, ["NID", "State", "Age in cycles#", "Deaths#"],
      list.map((p) => [p.nid, word(p.state), number(p.age, p.age === 255 ? "never heard" : p.age), number(p.deaths)]));
  },

  zone(z) {
    if (!show("zone", z)) return;
    put($("say-zone"), `Zone ${z.name}: ${plural(z.members, "member")}, ${count(z.suspects)} suspected, ${plural(z.links, "link")}; this node: ${z.state}`);
    map("map-zone", (z.list ?? []).map((m) => [m.name, m.state]));
    table("t-census", "Census of base zones", ["Zone", "State", "Members#", "Delegate"],
      (z.census ?? []).map((c) => [c.zone, word(c.state), number(c.size), c.delegate]));
  },

  servers() { clients(); },
  client() { clients(); },

  collectives() { collectives(); },
  multicast() { collectives(); },

  events(list) {
    put($("say-events"), list?.length ? "The latest first" : "Nothing has happened since the start");
    table("t-events", "Events of gossip, zones and clients", ["Time", "Event", "About"],
      (list ?? []).map((e) => [clock(e.time), { text: e.event, className: eventLevel(e.event) }, e.about]));
  },
};

const eventLevel = (name) =>
  /died|dead|evicted|no-quorum|quorum-lost|master-lost|clash|stopped|superseded/.test(name) ? "bad"
    : /suspect|doubt|orphan|lost|suspended|refused|disagreed|contested/.test(name) ? "warn"
    : /alive|joined|quorum|connected|found|recovered|rehomed|chosen/.test(name) ? "good" : "";

function clients() {
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

function collectives() {
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

// tiles shows the cluster at a glance.
function tiles() {
  const { gossip: g, zone: z, nis, peers: p, servers: s, collectives: c, now: n } = state;
  const up = (nis ?? []).filter((o) => o.status === "up").length;
  const all = [];
  if (g) all.push(["Servers alive", `${count(g.alive)} / ${count(g.total)}`, g.quorum ? "quorum" : "no quorum", !g.quorum ? "bad" : g.alive < g.total ? "warn" : "good"]);
  if (z) all.push(["Zone members", count(z.members), z.suspects ? `${count(z.suspects)} suspected` : z.state, z.suspects ? "warn" : "good"]);
  all.push(["NIs up", `${up} / ${nis?.length ?? 0}`, "", up === 0 ? "bad" : up < nis.length ? "warn" : "good"]);
  all.push(["Peers", count(p.total), p.down || p.unwell ? `${count(p.down)} down, ${count(p.unwell)} unwell` : "all well", p.down || p.unwell ? "warn" : "good"]);
  if (s) all.push(["Clients", count(s.clients), s.orphaned ? `${count(s.orphaned)} orphaned` : `master of ${count(s.mastered)}`, !s.quorum ? "bad" : s.orphaned ? "warn" : "good"]);
  if (c) all.push(["Collectives", count(c.running), `running, ${count(c.carried)} carried`, ""]);
  const drops = before.get("drops")?.rate ?? 0;
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
function navigation() {
  const shown = [...document.querySelectorAll("main > section:not(#glance)")].filter((s) => !s.hidden);
  const ul = $("nav");
  fit(ul, shown.length, () => make("li", {}, make("a")));
  shown.forEach((s, i) => {
    const a = ul.children[i].firstChild;
    put(a, s.querySelector("h2").textContent);
    if (a.hash !== `#${s.id}`) a.href = `#${s.id}`;
  });
}

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
