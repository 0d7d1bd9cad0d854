package o2iblnd

import (
	"net/netip"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
)

// Snapshot is the state of an NI at one instant.
type Snapshot struct {
	NID      nid.NID          // of the NI
	Listen   netip.AddrPort   // the port is the CM's service
	Device   verbs.DeviceAttr // shared by all NIs of the address
	Tunables map[string]any   // in force, see lnd.InForce
	Messages int64            // taken by Send and not finalized yet
	Receives verbs.PoolStats  // the buffers of all connections
	Peers    []PeerSnapshot   // by NID
	Counters Counters         // by Reason

	Multicast MulticastSnapshot // zero without multicast
}

// PeerSnapshot is one peer.
type PeerSnapshot struct {
	ID          nid.ProcessID  // the NID, with LustrePID
	Version     kib.Version    // 0 while unknown
	Incarnation uint64         // of the peer, 0 while unknown
	Connecting  int            // requests of this side that are not answered
	Accepting   int            // requests of the peer that were accepted and are not established
	Pending     int            // messages that wait for a connection
	QueueDepth  int            // that this side requests
	MaxFrags    int            // that this side requests
	Conns       []ConnSnapshot // established
}

// ConnSnapshot is one established connection.
type ConnSnapshot struct {
	QPN        uint32      // of this side
	Dialled    bool        // by this side
	Version    kib.Version // of the protocol
	QueueDepth int         // in force
	MaxFrags   int         // WRITEs that a transfer may take
	Credits    int         // messages that need a credit and may be sent now
	Owed       int         // credits to give back
	Reserved   int         // answers that may still be asked for
	Queued     int         // messages that are not posted
	Transfers  int         // that wait for the peer

	TxMessages, RxMessages uint64 // SENDs
	TxBytes, RxBytes       uint64 // of LNet payload
}

// Snapshot returns the NI's state. It does not stop the NI; counters of
// different peers may be of different instants.
func (ni *NI) Snapshot() Snapshot {
	cfg := ni.cfg
	cfg.Timeout = ni.patience.now()
	s := Snapshot{
		NID: ni.nid, Listen: netip.AddrPortFrom(ni.addr, ni.cfg.Service), Device: ni.attr,
		Messages: ni.messages.Len(), Counters: ni.counts.snapshot(), Multicast: ni.multicastSnapshot(),
		Tunables: lnd.InForce(cfg.Tunables()),
	}
	if !ni.ended() {
		s.Receives = ni.pool.Stats()
	}
	for _, p := range ni.allPeers() {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.x
	return ConnSnapshot{
		QPN: c.vc.QPN(), Dialled: c.dialled, Version: c.version, QueueDepth: c.depth, MaxFrags: c.maxFrags,
		Credits: x.credits, Owed: x.owed, Reserved: x.reserved,
		Queued: x.uncredited.n + x.starved.len() + x.credited.len(), Transfers: x.active,
		TxMessages: x.counts.sent, RxMessages: x.counts.received, TxBytes: x.counts.bytesOut, RxBytes: x.counts.bytesIn,
	}
}
