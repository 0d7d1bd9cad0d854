package replay

import (
	"net/netip"
	"slices"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// discoverySink is the length that the GETs of discovery ask for; pings of
// users ask for more.
const discoverySink = 272

// Operations returns the indices of the events that users of a host caused: their PUTs, GETs and
// pings, and pushes after a change of the host's interfaces. A GET of discovery is one of them
// only if no other operation makes the host discover the other host.
func (s *Script) Operations(host netip.Addr) []int {
	var users, discovery []int
	var told uint32 // the sequence number of the host's last push
	for i, e := range s.Events {
		if e.Record == nil || s.Conns[e.Conn].Ends[e.From].Addr() != host {
			continue
		}
		info, tells := e.Record.PingInfo()
		changed := tells && told != 0 && info.Sequence > told
		told = max(told, info.Sequence)
		portal, is := e.Record.Portal()
		switch {
		case !is || e.Record.Header.Type == wire.Put && portal == wire.PingPortal && !changed:
		case portal == wire.PingPortal && e.Record.Header.Get().SinkLength == discoverySink:
			discovery = append(discovery, i)
		default:
			users = append(users, i)
		}
	}
	if !s.discovers(users) {
		users = append(users, discovery...)
		slices.Sort(users)
	}
	return users
}

// discovers reports whether one of these operations makes a host discover the other host. All
// operations except pings do.
func (s *Script) discovers(operations []int) bool {
	return slices.ContainsFunc(operations, func(i int) bool {
		portal, _ := s.Events[i].Record.Portal()
		return portal != wire.PingPortal
	})
}

// discovers reports whether the next operation is due because of e: e is a GET to the portal of pings, which
// the node sends to discover the player before the message of the operation. It is false once an operation
// has begun that makes the node discover the player.
func (p *Player) discovers(e Event) bool {
	portal, is := uint32(0), false
	if e.Record != nil {
		portal, is = e.Record.Portal()
	}
	return is && portal == wire.PingPortal && e.Record.Header.Type == wire.Get && !p.discovering
}

// operateNext starts the next operation of the node.
func (p *Player) operateNext() {
	if len(p.operations) == 0 {
		p.operate(nil)
		return
	}
	next := p.operations[0]
	p.discovering = p.discovering || p.Script.discovers(p.operations[:1])
	p.operations = p.operations[1:]
	p.begun++
	p.operate(p.events[next].Record)
}

func (p *Player) operate(message *capture.Record) {
	p.operated = true
	if p.Operate != nil {
		p.Operate(message)
	}
}
