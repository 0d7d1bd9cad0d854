package gossip

import (
	"slices"
	"sync"

	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// Vital says whether a node is alive, and how often it has died: what listeners are told of it.
type Vital struct {
	Alive  bool   // gossip considers the node alive
	Deaths uint64 // how often the node has died so far
}

// maxPresumed bounds the nodes of which listeners may be told when presume adds one.
const maxPresumed = 1 << 16

// Tracker follows the agents of gossip that run at this node one after the other, and tells
// listeners which nodes are alive. Each agent counts deaths from 0; a Tracker adds the deaths
// that earlier agents have counted, so that the number never goes back.
type Tracker struct {
	telling sync.Mutex // held while listeners are called, so that events keep their order; never taken with mu held

	mu      sync.Mutex
	agent   *gossip.Agent      // guarded by mu, like all below; nil: gossip does not run
	unwatch func()             // stops the agent's calls of the method heard
	told    map[nid.NID]Vital  // state of each node that listeners were last told, or that was presumed since
	quiet   map[nid.NID]bool   // nodes that were presumed alive since listeners were told that they are dead
	base    map[nid.NID]uint64 // deaths of each node before the present agent began
	watches []*watch           // the listeners; the slice is copied on each change
}

type watch struct {
	tell     func(id nid.NID, alive bool, deaths uint64)
	onlySeen bool // it is not told of deaths that Update has made, which no agent has seen
}

// Agent returns the agent that runs, nil if gossip does not run.
func (t *Tracker) Agent() *gossip.Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.agent
}

// Look returns three things: what listeners were last told about a node, the agent that runs,
// and how many deaths of the node were counted before that agent began.
func (t *Tracker) Look(id nid.NID) (told Vital, agent *gossip.Agent, base uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told[id], t.agent, t.base[id]
}

// presume makes a node count as alive without telling listeners, if unknown says that the agent, nil if gossip does not
// run, cannot tell whether the node is. A user of the view was told so, and listeners can be told later if the node turns
// out to be dead. It returns false, and does nothing, if the agent can tell.
func (t *Tracker) presume(id nid.NID, unknown func(*gossip.Agent) bool) (deaths uint64, presumed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !unknown(t.agent) { // t.mu is held, so that an agent that begins, or settles with another list, finds the node in t.told
		return 0, false
	}
	v, known := t.told[id]
	if v.Alive || known && t.agent == nil || !known && len(t.told) >= maxPresumed { // known and dead without an agent: listeners are just being told that it is alive
		return v.Deaths, true
	}
	t.makeMaps()
	t.told[id] = Vital{true, v.Deaths}
	if known {
		t.quiet[id] = true
	}
	return v.Deaths, true
}

// Watch calls f for each node that is alive, and then for each change. After stop f is not
// called any more, but a call may still run.
func (t *Tracker) Watch(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	return t.add(&watch{tell: f})
}

// WatchSeen is Watch without the deaths that Update makes, which no agent has seen.
func (t *Tracker) WatchSeen(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	return t.add(&watch{f, true})
}

func (t *Tracker) add(w *watch) (stop func()) {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	t.watches = append(slices.Clone(t.watches), w)
	t.mu.Unlock()
	for _, id := range t.known() {
		if v, _, _ := t.Look(id); v.Alive {
			w.tell(id, true, v.Deaths)
		}
	}
	return func() {
		t.mu.Lock()
		t.watches = slices.DeleteFunc(slices.Clone(t.watches), func(other *watch) bool { return other == w })
		t.mu.Unlock()
	}
}

// Attach makes an agent the source of reports. The result again is true if an earlier agent has reported nodes to
// listeners, or nodes were presumed alive.
func (t *Tracker) Attach(agent *gossip.Agent) (again bool) {
	again = t.begin(agent)
	unwatch := agent.Watch(func(id nid.NID, alive bool, deaths uint64) { t.heard(agent, id, alive, deaths) })
	t.mu.Lock()
	t.unwatch = unwatch
	t.mu.Unlock()
	return again
}

// begin makes an agent the current one and remembers the deaths that were counted before it.
func (t *Tracker) begin(agent *gossip.Agent) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.makeMaps()
	t.agent = agent
	for id, v := range t.told { // any order: the nodes are independent
		t.base[id] = v.Deaths
	}
	return len(t.told) > 0
}

func (t *Tracker) makeMaps() {
	if t.told == nil {
		t.told, t.base, t.quiet = make(map[nid.NID]Vital), make(map[nid.NID]uint64), make(map[nid.NID]bool)
	}
}

func (t *Tracker) heard(agent *gossip.Agent, id nid.NID, alive bool, deaths uint64) {
	t.telling.Lock()
	defer t.telling.Unlock()
	if _, current, base := t.Look(id); current == agent {
		t.tell(id, Vital{alive, base + deaths}, true)
	}
}

// tell reports the state of a node to its listeners. A death that no agent has seen (seen is false) is reported to those
// without onlySeen. The caller holds telling.
func (t *Tracker) tell(id nid.NID, v Vital, seen bool) {
	t.mu.Lock()
	t.told[id] = v
	delete(t.quiet, id)
	watches := t.watches
	t.mu.Unlock()
	for _, w := range watches {
		if v.Alive || seen || !w.onlySeen {
			w.tell(id, v.Alive, v.Deaths)
		}
	}
}

// Detach removes the agent, because gossip stops. Before that it tells listeners what the agent knows by now and has
// not reported yet. Nodes that were presumed alive count again as listeners were told.
func (t *Tracker) Detach() {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	agent, unwatch := t.agent, t.unwatch
	t.unpresume()
	t.mu.Unlock()
	if unwatch != nil {
		unwatch()
		t.catchUp(agent)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unpresume() // once more: listeners may have asked about nodes
	t.agent, t.unwatch = nil, nil
}

// unpresume makes nodes count again as listeners were told. The caller holds mu.
func (t *Tracker) unpresume() {
	for id := range t.quiet { // any order: the nodes are independent
		t.told[id] = Vital{Deaths: t.told[id].Deaths}
	}
	clear(t.quiet)
}

// catchUp reports what the agent's reports have not said yet: that participants are alive, or have died since the agent
// reported them as alive. The caller holds telling.
func (t *Tracker) catchUp(agent *gossip.Agent) {
	for _, p := range agent.Status().Participants {
		told, _, base := t.Look(p.NID)
		v := Vital{p.Health == gossip.Alive, base + p.Aliveness}
		if v != told && (v.Alive || p.Aliveness > 0) {
			t.tell(p.NID, v, true)
		}
	}
}

// Update replaces the state of each node by the one that f returns, in the order of NIDs, and
// reports the differences to listeners. Deaths that f adds are counted as deaths before the
// present agent. While Update runs, no agent reports.
func (t *Tracker) Update(f func(id nid.NID, v Vital) Vital) {
	t.telling.Lock()
	defer t.telling.Unlock()
	for _, id := range t.known() {
		old, _, base := t.Look(id)
		v := f(id, old)
		if v == old {
			continue
		}
		t.mu.Lock()
		t.base[id] = base + v.Deaths - old.Deaths
		t.mu.Unlock()
		t.tell(id, v, false)
	}
}

// Any reports whether f is true for the state of some node, as listeners were last told.
func (t *Tracker) Any(f func(id nid.NID, v Vital) bool) bool {
	return slices.ContainsFunc(t.known(), func(id nid.NID) bool {
		v, _, _ := t.Look(id)
		return f(id, v)
	})
}

// known returns the NIDs of all nodes of which listeners were told, in order.
func (t *Tracker) known() (ids []nid.NID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.told { // any order: they are sorted below
		ids = append(ids, id)
	}
	slices.SortFunc(ids, nid.NID.Compare)
	return ids
}
