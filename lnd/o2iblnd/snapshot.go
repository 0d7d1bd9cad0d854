package o2iblnd

import (
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
)

// Snapshot is the state of an NI at one instant.
type Snapshot struct {
	NID      nid.NID          // NID of this NI
	Listen   netip.AddrPort   // address and port; the port is the CM's service
	Device   verbs.DeviceAttr // the device, which all NIs of the address share
	Tunables map[string]any   // values of the tunables in force; see lnd.InForce
	Messages int64            // messages taken by Send and not finalized yet
	Receives verbs.PoolStats  // statistics of the receive buffers of all connections
	Peers    []PeerSnapshot   // peers, ordered by NID
	Counters Counters         // number of occurrences of each Reason

	Multicast MulticastSnapshot // state of multicast; Limits.MaxPayload is 0 if there is none
}

// PeerSnapshot is the state of one peer.
type PeerSnapshot struct {
	ID          nid.ProcessID  // NID of the peer, with LustrePID
	Version     kib.Version    // protocol version of the peer; 0 while unknown
	Incarnation uint64         // incarnation stamp of the peer; 0 while unknown
	Connecting  int            // requests of this side that are not answered yet
	Accepting   int            // requests of the peer that were accepted and are not established
	Pending     int            // messages that wait for a connection
	QueueDepth  int            // queue depth that this side requests
	MaxFrags    int            // fragments per transfer that this side requests
	Conns       []ConnSnapshot // established connections
}

// ConnSnapshot is the state of one established connection.
type ConnSnapshot struct {
	QPN        uint32      // queue pair number of this side
	Dialled    bool        // this side requested the connection
	Version    kib.Version // protocol version of the connection
	QueueDepth int         // queue depth in force
	MaxFrags   int         // most RDMA WRITEs in one transfer
	Credits    int         // messages that need a credit and may be sent now
	Owed       int         // credits to give back to the peer
	Reserved   int         // PUT_REQs and GET_REQs that this side may still send: for each a buffer is free for the answer
	Queued     int         // messages that are not posted yet
	Writing    int         // transfers whose WRITEs are not all posted
	Posted     int         // SENDs and turns of WRITEs that are posted and not completed
	Transfers  int         // messages and transfers that are under way, those above included

	Oldest    time.Duration        // how long the message that times out next has waited, less the time in which handlers kept this node from reading; 0: none waits
	OldestIs  string               // that message and what it waits for, such as "GET_REQ: the peer's answer"
	Transport verbs.TransportState // state of the device's connection; zero if the device does not tell it

	TxMessages, RxMessages uint64 // SENDs sent and received
	TxBytes, RxBytes       uint64 // bytes of LNet payload sent and received
}

// Snapshot returns the NI's state. It does not stop the NI; counters of
// different peers may be of different instants.
func (ni *NI) Snapshot() Snapshot {
	cfg := ni.cfg
	cfg.Timeout = ni.patience.Now()
	s := Snapshot{
		NID: ni.nid, Listen: netip.AddrPortFrom(ni.addr, ni.cfg.Service), Device: ni.dev.Attr(),
		Messages: ni.messages.Len(), Counters: ni.counts.snapshot(), Multicast: ni.multicastSnapshot(),
		Tunables: lnd.InForce(cfg.Tunables()),
	}
	if !ni.peers.Ended() {
		s.Receives = ni.pool.Stats()
	}
	for _, p := range sorted(ni.peers.All()) {
		s.Peers = append(s.Peers, p.snapshot())
	}
	return s
}

func (p *peer) snapshot() PeerSnapshot {
	p.mu.Lock()
	conns := p.conns
	s := PeerSnapshot{
		ID: lustre(p.id), Version: p.set.version, Incarnation: p.set.stamp, Connecting: p.set.connecting,
		Accepting: p.set.accepting, Pending: p.pending.len(), QueueDepth: p.set.depth, MaxFrags: p.set.maxFrags,
	}
	p.mu.Unlock()
	for _, c := range conns {
		s.Conns = append(s.Conns, c.snapshot())
	}
	return s
}

func (c *conn) snapshot() ConnSnapshot {
	s := c.exchanged()
	if d, ok := c.vc.(verbs.Transporter); ok { // vc is set, because c is established
		s.Transport = d.Transport()
	}
	return s
}

// exchanged returns the state of c without that of the device's connection.
func (c *conn) exchanged() ConnSnapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.x
	s := ConnSnapshot{
		QPN: c.vc.QPN(), Dialled: c.dialled, Version: c.version, QueueDepth: c.depth, MaxFrags: c.maxFrags,
		Credits: x.credits, Owed: x.owed, Reserved: x.reserved,
		Queued: x.uncredited.n + x.starved.len() + x.credited.len(), Writing: x.writing.len(), Posted: x.sends + x.turns, Transfers: x.active,
		TxMessages: x.counts.sent, RxMessages: x.counts.received, TxBytes: x.counts.bytesOut, RxBytes: x.counts.bytesIn,
	}
	if t := x.first; t != nil {
		s.Oldest = c.ni.clock.Now() - (t.deadline - x.cfg.timeout)
		s.OldestIs = fmt.Sprintf("%v: %v", t.kind, t.phase)
	}
	return s
}
