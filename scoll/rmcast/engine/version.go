package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Messages of another protocol version are dropped (RM-A23). A manager answers an older node with
// a refusal in that node's version. An older manager does not answer a newer node at all, so a
// node that no manager answers asks once more in the oldest version: any answer shows the reason.

// oldestProtocol is the oldest version of the protocol that nodes may have.
const oldestProtocol = 1

// otherVersion drops a message of a member that has another protocol version, and tells the user
// at a limited rate.
func (m *Machine) otherVersion(from nid.NID) {
	m.stats.OtherVersion++
	if m.admitted.has(from) {
		m.complaints.refused(m.now, m.out, from, wire.RefusedVersion)
	}
}

// otherManager drops an order of a manager that has another protocol version. As long as no
// other manager answers, that version is the reason why this node does not become a member.
func (m *Machine) otherManager(from nid.NID, b []byte) {
	o, older := parseOlder(b)
	awaited := m.state == joining && slices.Contains(m.cfg.Managers, from)
	switch {
	case older && (o.Group != m.cfg.Group || o.Kind <= wire.OrderKnown || o.Flags&wire.OrderReplica != 0):
		return // the message is of another group, or for a manager
	case older && o.Kind == wire.OrderRefused && !(awaited && o.Incarnation == m.self.Incarnation):
		return // the order refuses no inquiry of this node
	case !awaited:
		m.otherVersion(from)
		return
	}
	m.stats.OtherVersion++
	m.deniedFor(from, wire.RefusedVersion)
}

// inquire asks a manager, in the oldest protocol version, for the state of a member that does not
// exist. A manager that is older than this node answers. A manager like this node recognizes the
// question, because it names wire.ProtocolVersion as the member, and ignores it.
func (m *Machine) inquire(to nid.NID) {
	o := wire.Order{Kind: wire.OrderReport, Group: m.cfg.Group, You: wire.ProtocolVersion, Incarnation: m.self.Incarnation}
	m.out.olderOrder(to, &o, oldestProtocol)
}

// parseOlder parses an order of an older protocol version. It reports false for a newer version,
// whose layout is unknown, and for a malformed message.
func parseOlder(b []byte) (o wire.Order, ok bool) {
	if v := wire.VersionOf(b); v < oldestProtocol || v >= wire.ProtocolVersion {
		return o, false
	}
	b = slices.Clone(b[:min(len(b), wire.OrderSize)])
	wire.SetVersion(b, wire.ProtocolVersion)
	o, _ = wire.ParseOrder(b) // of an order with lists, only the fields before them
	return o, o.Kind != 0
}

// otherVersion drops a message of another protocol version, and sends an error to its
// sender if that node can understand it. The user gets events about this at a limited rate.
func (g *Manager) otherVersion(from nid.NID, b []byte) {
	o, older := parseOlder(b)
	switch {
	case !g.admitted.has(from):
		g.stats.Stranger++
		return
	case older && (o.Group != g.cfg.Group || o.Kind == wire.OrderRefused || o.Kind > wire.OrderKnown && o.Flags&wire.OrderReplica == 0):
		return // the message is of another group, or for the member on this node
	case older && o.Kind == wire.OrderReport && o.You == wire.ProtocolVersion:
		return // the sender has this version, see inquire
	}
	g.stats.OtherVersion++
	g.complaints.refused(g.now, g.out, from, wire.RefusedVersion)
	if older && o.Kind <= wire.OrderKnown {
		r := g.state(wire.OrderRefused)
		r.Incarnation, r.You = o.Incarnation, uint32(wire.RefusedVersion)
		g.out.olderOrder(from, &r, wire.VersionOf(b))
	}
}

// olderOrder appends the effect that sends a refusal or an inquiry in an older protocol version.
func (o *Output) olderOrder(to nid.NID, m *wire.Order, version int) {
	o.refusal(to, m, false)
	wire.SetVersion(o.Buf[o.Effects[len(o.Effects)-1].Head.Begin:], version)
}
