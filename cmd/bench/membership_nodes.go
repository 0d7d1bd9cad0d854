package main

import (
	"net/netip"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/gossip"
	"ulnet/gossip/zone"
	"ulnet/lnd"
	"ulnet/lnet/nid"
	localnode "ulnet/portals/node"
)

// memberKind returns the kind of worker that is a node of a system. The function start starts it; its errors are
// those of must.
func memberKind(system string, start func(n rival.Node, s *rival.Watcher) rival.Member) worker.Kind {
	return rival.Membership(system, func(n rival.Node, s *rival.Watcher) (rival.Member, error) {
		return returning(func(n rival.Node) rival.Member { return start(n, s) })(n)
	})
}

// newMemberNode starts the LNet node that an agent of gossip or a zone uses.
func newMemberNode(n rival.Node, s *rival.Watcher) *node {
	return newNodeOn(tcp, n.Self(), localnode.Config{
		AcceptPort: n.Port, Wrap: func(d lnd.Driver) lnd.Driver { return countingDriver{d, s} },
	})
}

// startGossip starts a node of gossip.
func startGossip(n rival.Node, s *rival.Watcher) rival.Member {
	own := newMemberNode(n, s)
	var ids []nid.NID
	for i := range n.Nodes {
		ids = append(ids, nid.FromAddr(tcp, n.Addr(i)))
	}
	agent := must(gossip.New(own.table, gossip.Config{
		Participants: ids, Interval: n.Interval, ColdStart: true, Seed: uint64(n.Index), Clock: own.clock,
	}))
	agent.Watch(func(id nid.NID, alive bool, _ uint64) { s.Alive(n.At(id.Addr()), alive) })
	return nil
}

// zoneKey is the key of the attribute that the script writes.
const zoneKey = "peers"

// zoneMember is a node of a zone.
type zoneMember struct{ agent *zone.Agent }

func (m zoneMember) Leave() error           { return m.agent.Leave(0) }
func (m zoneMember) Set(value string) error { return m.agent.Set(zoneKey, []byte(value)) }

// startZone starts a node of a zone with the defaults of lnetd, which joins the zone through the
// first node.
func startZone(n rival.Node, s *rival.Watcher) rival.Member {
	own := newMemberNode(n, s)
	agent := must(zone.New(own.table, zone.Config{
		Clock: own.clock, Zone: "peers", Self: zoneID(n.Self()), Bootstrap: []zone.ID{zoneID(n.Addr(0))}, Seed: uint64(n.Index), Heartbeat: n.Heartbeat,
	}))
	agent.Watch(func(e zone.Event) { tellZone(n, s, e) })
	succeed(agent.Join(0))
	if n.Monitor && n.Index == 0 {
		succeed(agent.Set(zone.MonitorKey, nil))
	}
	return zoneMember{agent}
}

// tellZone reports an event of a zone's agent.
func tellZone(n rival.Node, s *rival.Watcher, e zone.Event) {
	addr, err := netip.ParseAddr(e.ID.Name())
	if err != nil {
		return // the event is about this node itself, or about another zone
	}
	switch e.Kind {
	case zone.Joined, zone.Left:
		s.Alive(n.At(addr), e.Kind == zone.Joined)
	case zone.AttributesChanged:
		for _, a := range e.Attributes {
			if a.Key == zoneKey || a.Key == zone.MonitorKey {
				s.Tell(rival.Attribute, n.At(addr), string(a.Value))
			}
		}
	}
}

// countingDriver counts the payload that its NIs send.
type countingDriver struct {
	lnd.Driver
	count *rival.Watcher
}

func (d countingDriver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni, err := d.Driver.Startup(cfg, up)
	return countingNI{ni, d.count}, err
}

type countingNI struct {
	lnd.NI
	count *rival.Watcher
}

func (n countingNI) Send(m *lnd.Message) {
	n.count.Sent(int(m.Header.PayloadLength))
	n.NI.Send(m)
}
