package replay

import (
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// Four kinds of events may come in another order than in the recording, because different
// threads of a kernel cause them: messages of discovery (see swapped), messages of lnet_selftest
// that belong to different RPCs (see swappedRPC), the two ends of a
// connection that both sides close (see mayEndFirst and endsNext), and, if Player.AnyOrder is
// set, the connections that the node opens (see reorder).

// swapped looks for a later event, on the same connection, that fits a record of the node better
// than event i does. Besides messages of lnet_selftest (see swappedRPC), only messages of discovery
// may be swapped: different threads of a kernel send pushes, ACKs of pushes, and messages of users.
func (p *Player) swapped(i int, got *capture.Record) (other int, ok bool) {
	if other, ok := p.swappedRPC(i, got); ok {
		return other, true
	}
	want := p.events[i]
	if isLike(want.Record, got) || !isDiscovery(got) && !isDiscovery(want.Record) {
		return 0, false
	}
	for other := i + 1; other < len(p.events); other++ {
		e := p.events[other]
		if e.Conn == want.Conn && e.From == want.From && e.Record != nil && !p.early[other] && isLike(e.Record, got) {
			return other, true
		}
	}
	return 0, false
}

// isLike reports whether two records are messages of the same type to the same portal.
func isLike(a, b *capture.Record) bool {
	aPortal, _ := a.Portal()
	bPortal, _ := b.Portal()
	return a.Kind == b.Kind && a.Header.Type == b.Header.Type && aPortal == bPortal
}

// isDiscovery reports whether a record is a push, or the ACK of one.
func isDiscovery(r *capture.Record) bool {
	if r.Kind != capture.Message {
		return false
	}
	portal, is := r.Portal()
	push := is && r.Header.Type == wire.Put && portal == wire.PingPortal
	return push || r.Header.Type == wire.Ack && r.Header.Ack().MatchBits == wire.PingMatchBits
}

// endsNext reports whether the node may close a connection before it has received everything. That
// is allowed if at event i the player sends data or closes the connection, and the next thing that
// the node does on this connection is to close it.
func (p *Player) endsNext(i int) bool {
	e := p.events[i]
	if e.Kind == Open || e.From != p.side(e.Conn) {
		return false
	}
	for _, next := range p.events[i+1:] {
		if next.Conn == e.Conn && next.From != e.From {
			return next.Kind == Closed
		}
	}
	return false
}

// mayEndFirst reports whether the node may close a connection before event i, at which the
// player closes it. That is allowed if both sides have the same reason to close it. There are
// two such reasons: another connection between the two sides was closed before, or one of them
// has sent a HELLO on this connection that refuses the connection.
func (p *Player) mayEndFirst(i int) bool {
	if !p.endsNext(i) {
		return false
	}
	conn := p.events[i].Conn
	for _, e := range p.events[:i] {
		if e.Kind == Closed && e.Conn != conn || e.Kind == Data && e.Conn == conn && IsRefusal(e.Data) {
			return true
		}
	}
	return false
}

// reorder is called when the node has opened a connection at event i and sent a HELLO. If, in
// the recording, the connection with that HELLO is opened later, reorder moves the events that
// open it to this position.
func (p *Player) reorder(i int, said *capture.Record) {
	conn, ok := p.dialled(i, said)
	if !ok {
		return
	}
	var first, rest []Event
	for _, e := range p.events[i:] {
		if isOpening := e.Kind == Open || e.Record != nil && e.Record.Kind != capture.Noop && e.Record.Kind != capture.Message; e.Conn == conn && isOpening {
			first = append(first, e)
		} else {
			rest = append(rest, e)
		}
	}
	copy(p.events[i:], append(first, rest...))
	now := Script{Conns: p.Script.Conns, Events: p.events}
	p.operations = now.Operations(p.node())[p.begun:]
}

// dialled finds the recorded connection on which the recorded node sent a HELLO of the same
// type. The result ok is false if there is none after event i.
func (p *Player) dialled(i int, said *capture.Record) (conn int, ok bool) {
	if said == nil {
		return 0, false
	}
	for _, e := range p.events[i:] {
		isHello := e.Record != nil && e.Record.Kind == capture.Hello && e.From != p.side(e.Conn)
		if isHello && p.conns[e.Conn] == nil && e.Record.Hello.ConnType == said.Hello.ConnType {
			return e.Conn, e.Conn != p.events[i].Conn
		}
	}
	return 0, false
}
