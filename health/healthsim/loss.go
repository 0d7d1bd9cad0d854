package healthsim

import (
	"fmt"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// losses judges how clients lose single servers. A server may end a connection without an eviction from all
// servers only if it was cut off from most servers, or if the client has left it. A client may lose a
// connection only if the server has ended it or has died, or if it could not reach the server.
type losses struct {
	net   *network
	count uint64 // number of connections that were lost without one of these causes
	first string // describes the first of these losses

	has   [][]uint64 // by server, then by client's node: the incarnation that is connected; 0: none
	cut   loneliness // no path leads to the server from most servers
	loose loneliness // like cut, but with gossip a path between two servers counts only if both are linked (see the method minority)
}

// loneliness records which servers can be reached by no more than half of all servers, themselves
// included.
type loneliness struct {
	now  []bool          // by server: whether it is so, as of the latest change of nodes or links
	last []time.Duration // by server: when it was last so; never: it never was
}

func (l *loneliness) init(servers int) {
	l.now, l.last = make([]bool, servers), slices.Repeat([]time.Duration{never}, servers)
}

// changed is called after nodes or links have changed.
func (l *loneliness) changed(now time.Duration, lone func(server sim.NodeID) bool) {
	for s := range l.now {
		if l.now[s] {
			l.last[s] = now
		}
		l.now[s] = lone(sim.NodeID(s))
	}
}

func (l *losses) init(n *network) {
	l.net, l.has = n, make([][]uint64, n.cfg.servers)
	l.cut.init(n.cfg.servers)
	l.loose.init(n.cfg.servers)
	for s := range l.has {
		l.has[s] = make([]uint64, n.cfg.Nodes)
	}
}

// changed is called after nodes or links have changed.
func (l *losses) changed() {
	t := &l.net.groundTruth
	gossips := !l.net.oracle.on()
	l.cut.changed(l.net.Now(), func(server sim.NodeID) bool { return t.minority(server, false) })
	l.loose.changed(l.net.Now(), func(server sim.NodeID) bool { return t.minority(server, gossips) })
}

// told follows the connections of a server, and judges how they end.
func (l *losses) told(server sim.NodeID, e *health.Event) {
	n, has := l.net, &l.has[server][nodeOf(e.Client)]
	switch e.Kind {
	case health.ClientConnected, health.ClientRecovered:
		*has = e.Incarnation
	case health.ClientEvicted:
		if *has == e.Incarnation {
			*has = 0
		}
		switch {
		case e.Cause == health.LostQuorum && !n.cutOff(server):
			l.accuse("server %v, which most servers could reach, evicted client %v: it had no quorum", server, nodeOf(e.Client))
		case e.Cause == health.Left && n.stays(server, e):
			l.accuse("server %v took client %v for one that has left", server, nodeOf(e.Client))
		}
	default:
	}
}

// dropped is called when the client on a node was told that it has lost a server. It judges whether
// there was a cause.
func (l *losses) dropped(id sim.NodeID, e *health.ClientEvent) {
	n, server := l.net, nodeOfNID(e.Server)
	gone := l.has[server][n.groundTruth.nodes[id].client] != e.Incarnation
	if e.Code == wire.OK || gone || n.silent(id, server) {
		return
	}
	l.accuse("client %v lost server %v, which has not ended the connection: code %v", id, server, e.Code)
}

func (l *losses) accuse(format string, args ...any) {
	if l.count++; l.first == "" {
		l.first = fmt.Sprintf("at %v "+format, append([]any{l.net.Now()}, args...)...)
	}
}

// stays reports whether a client runs in an incarnation, and is connected to a server.
func (n *network) stays(server sim.NodeID, e *health.Event) bool {
	return slices.ContainsFunc(n.claimants(nodeOf(e.Client)), func(k sim.NodeID) bool {
		st := n.client(k).Status()
		return st.Incarnation == e.Incarnation && slices.Contains(st.Attached, simlnd.NID(server))
	})
}
