package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// What follows is Algorithm 2 of the design, with the decisions MS-A15 to MS-A21.

// reconcile makes a round: it sends the versions of changed tables to the neighbours (MS-76),
// and repeats requests without an answer.
func (m *Machine) reconcile() {
	a := &m.attributes
	a.at = machine.Never
	a.unanswered(m)
	var digest, push []wire.TableVersion
	for _, p := range a.dirty {
		r := a.of[p]
		digest = append(digest, wire.TableVersion{Owner: p, Inc: r.inc, U: r.u})
		r.sent, r.dirty = r.u, false
	}
	a.dirty = nil
	for _, p := range a.pushes {
		a.pushed.unset(p)
		if m.view.has(p) && p != m.self {
			push = append(push, a.version(m, p))
		}
	}
	a.pushes = nil
	m.broadcastTables(wire.AttributeDigest, 0, digest)
	m.broadcastTables(wire.AttributeRequest, wire.Push, push)
	if a.open > 0 {
		a.arm(m)
	}
}

// version returns the version of this node's copy of a table.
func (a *attributes) version(m *Machine, p wire.Ref) wire.TableVersion {
	v := wire.TableVersion{Owner: p, Inc: m.view.at(p).inc, U: 0}
	if r := a.of[p]; r != nil {
		v.U = r.u
	}
	return v
}

func (m *Machine) broadcastTables(kind wire.Kind, flags wire.Flags, tables []wire.TableVersion) {
	if len(tables) == 0 {
		return
	}
	lists := &wire.Lists{Tables: tables}
	m.links.each(up, func(l *link) { m.send(l.node, wire.Message{Kind: kind, Flags: flags, Lists: lists}) })
}

// greet sends a new neighbour the versions of all tables (MS-86).
func (a *attributes) greet(m *Machine, l *link) {
	var tables []wire.TableVersion
	for _, p := range a.order {
		if r := a.of[p]; r.u > 0 {
			tables = append(tables, wire.TableVersion{Owner: p, Inc: r.inc, U: r.u})
		}
	}
	if len(tables) > 0 {
		m.send(l.node, wire.Message{Kind: wire.AttributeDigest, Lists: &wire.Lists{Tables: tables}})
	}
}

// offered handles a digest of attribute tables: it requests those that are newer at the sender
// (UPON-ATTUPDATE, Alg. 2, line 1).
func (a *attributes) offered(m *Machine) {
	var request []wire.TableVersion
	for i := range m.in.Lists.Tables {
		if v := &m.in.Lists.Tables[i]; a.wants(m, v, m.in.From) {
			request = append(request, a.version(m, v.Owner))
			a.expect(m, v, m.in.From)
		}
	}
	if len(request) > 0 {
		m.send(m.in.From, wire.Message{Kind: wire.AttributeRequest, Lists: &wire.Lists{Tables: request}})
	}
}

// wants reports whether a table that a peer offers is newer than this node's copy and newer
// than the version that it has requested (MS-78). Tables of an earlier incarnation of the owner
// are not wanted (MS-A17). Tables of an incarnation that is not in the view yet wait until it
// is (MS-A18).
func (a *attributes) wants(m *Machine, v *wire.TableVersion, from wire.Ref) bool {
	if v.Owner == m.self || v.U == 0 {
		m.disown(v)
		return false
	}
	switch e := m.view.at(v.Owner); {
	case e.state != inView || v.Inc > e.inc:
		if e.state != inHistory || v.Inc >= e.inc {
			a.wait(m, v, from)
		}
		return false
	case v.Inc < e.inc:
		return false
	}
	r := a.of[v.Owner]
	return r == nil || v.U > r.u && v.U > r.pending
}

// disown takes a new incarnation if other nodes have newer attributes of this node than it has
// itself. Without a new incarnation they would ignore what this node writes.
func (m *Machine) disown(v *wire.TableVersion) {
	r := m.attributes.of[m.self]
	if v.Owner == m.self && v.Inc == m.ver.Inc && v.U > 0 && (r == nil || v.U > r.u) {
		m.stats.Clashes++
		m.setVersion(wire.Version{Inc: m.ver.Inc + 1, Minor: 1})
		m.tell(Event{Kind: Refuted, Node: m.self, Version: m.ver})
	}
}

// wait keeps the offer of a table until its owner, or the owner's incarnation, is in the view.
func (a *attributes) wait(m *Machine, v *wire.TableVersion, from wire.Ref) {
	i := slices.IndexFunc(a.waiting, func(w waiting) bool { return w.Owner == v.Owner && w.from == from })
	switch {
	case i >= 0:
		a.waiting[i].TableVersion = *v
	case len(a.waiting) < maxWaiting:
		a.waiting = append(a.waiting, waiting{*v, from})
	default: // drop the oldest, which may be of a node that never joins
		m.stats.WaitingFull++
		copy(a.waiting, a.waiting[1:])
		a.waiting[len(a.waiting)-1] = waiting{*v, from}
	}
}

// expect records that a table was requested.
func (a *attributes) expect(m *Machine, v *wire.TableVersion, from wire.Ref) {
	r := a.replica(m, v.Owner)
	if r.target == 0 {
		a.open++
	}
	r.pending, r.target, r.asked = v.U, from, int64(m.now)
	a.arm(m)
}

// ask requests a table that was offered earlier.
func (a *attributes) ask(m *Machine, v *wire.TableVersion, from wire.Ref) {
	switch {
	case !a.wants(m, v, from):
	case m.links.get(from) == nil:
		a.want(m, v.Owner)
	default:
		request := []wire.TableVersion{a.version(m, v.Owner)}
		a.expect(m, v, from)
		m.send(from, wire.Message{Kind: wire.AttributeRequest, Lists: &wire.Lists{Tables: request}})
	}
}

// want makes the next round request a table from all neighbours, once (MS-A20).
func (a *attributes) want(m *Machine, p wire.Ref) {
	if a.pushed.set(p) {
		a.pushes = append(a.pushes, p)
	}
	a.arm(m)
}

// requested answers a request for attribute tables (UPON-ATTREQUEST, Alg. 2, line 7). A table
// that is requested twice is in the answer once.
func (a *attributes) requested(m *Machine) {
	var data []wire.TableData
	push := m.in.Flags&wire.Push != 0
	for i := range m.in.Lists.Tables {
		v := &m.in.Lists.Tables[i]
		r := a.of[v.Owner]
		switch {
		case !a.answered.set(v.Owner):
			m.stats.RepeatedAsks++
		case r != nil && r.inc == v.Inc && v.U < r.u:
			data = append(data, r.above(v.U))
		case !push: // an answer that says that there is nothing newer: ⟨p, ⊥⟩ (MS-80)
			data = append(data, wire.TableData{Owner: v.Owner, Inc: v.Inc, Last: true})
		}
	}
	for i := range m.in.Lists.Tables {
		a.answered.unset(m.in.Lists.Tables[i].Owner)
	}
	if len(data) > 0 { // an empty answer is not sent (MS-A20)
		m.send(m.in.From, wire.Message{Kind: wire.AttributeData, Lists: &wire.Lists{Data: data}})
	}
}

// received merges attribute tables that were requested (UPON-ATTREPLY, Alg. 2, line 14). Users
// get the changes when all parts of the answer are merged (lines 23 and 24).
func (a *attributes) received(m *Machine) {
	for i := range m.in.Lists.Data {
		d := &m.in.Lists.Data[i]
		r := a.of[d.Owner]
		switch {
		case d.Owner == 0 || d.Owner == m.self || !m.view.has(d.Owner) || m.view.at(d.Owner).inc != d.Inc:
			m.stats.StaleData++
			continue
		case d.To == 0: // the sender has nothing newer: ⟨p, ⊥⟩ (MS-82)
			if r != nil && r.target == m.in.From {
				a.settle(r)
				a.want(m, d.Owner)
			}
			continue
		}
		a.merge(m, a.replica(m, d.Owner), d)
	}
	for _, p := range a.merged {
		r := a.of[p]
		keys := r.changed
		r.changed = nil
		r.sweep()
		a.changedKeys(m, r, keys)
	}
	a.merged = a.merged[:0]
}

// merge merges a received part of an owner's table of attributes into this node's copy (MS-83).
func (a *attributes) merge(m *Machine, r *replica, d *wire.TableData) {
	m.stats.Entries += uint64(len(d.Entries))
	if !m.acceptable(r, d) {
		return
	}
	a.changing(m, r)
	keys, ok := r.merge(d, int64(m.now))
	a.changed(m, r)
	if !ok {
		m.stats.Gaps++
	}
	if len(r.changed) == 0 {
		a.merged = append(a.merged, r.owner)
	}
	r.changed = append(r.changed, keys...)
	if r.target != 0 && (r.u >= r.pending || r.target == m.in.From && d.Last) {
		a.settle(r) // the request is settled (MS-A16)
	}
}

// acceptable reports whether a table stays within the bounds once data of another node is
// merged.
func (m *Machine) acceptable(r *replica, d *wire.TableData) bool {
	b, ok := r.after(d)
	switch {
	case !ok:
		m.stats.RepeatedKeys++
	case b.bytes > wire.MaxTable:
		m.stats.TooLarge++
	case b.keys > wire.MaxTableKeys:
		m.stats.TooManyKeys++
	default:
		return true
	}
	return false
}

// settle records that no request for a table is pending.
func (a *attributes) settle(r *replica) {
	if r.target != 0 {
		a.open--
	}
	r.pending, r.target = r.u, 0
}

// lost requests from all other neighbours what a lost neighbour will not answer any more
// (MS-87, MS-A21).
func (a *attributes) lost(m *Machine, peer wire.Ref) {
	if a.open == 0 {
		return
	}
	for _, p := range a.order {
		if r := a.of[p]; r.target == peer {
			a.settle(r)
			a.want(m, p)
		}
	}
}

// unanswered requests from all neighbours what was not answered within 2τ (MS-A18).
func (a *attributes) unanswered(m *Machine) {
	if a.open == 0 {
		return
	}
	for _, p := range a.order {
		if r := a.of[p]; r.target != 0 && m.now-time.Duration(r.asked) >= 2*m.cfg.Aggregation {
			m.stats.Unanswered++
			a.settle(r)
			a.want(m, p)
		}
	}
}
