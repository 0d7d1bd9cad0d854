package socklnd

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// Snapshot is the state of an NI at one instant.
type Snapshot struct {
	NID           nid.NID           // of the NI
	Accept        AcceptMode        // in force
	SourceAddress SourceAddress     // in force
	Listen        netip.AddrPort    // zero without a listener
	Handshakes    int               // unfinished ones of accepted connections, see Counters
	Accepted      int               // connections that count for MaxConns: of all NIs of the address
	Tunables      map[string]any    // in force, see lnd.InForce
	Messages      int64             // taken by Send and not finalized yet
	Peers         []PeerSnapshot    // by NID and PID
	Multicast     MulticastSnapshot // empty without multicast
	// Counters are the NI's own. Events of an accepted connection before it has said which
	// NID it wants are counted by the NI that has been on the listener's address the longest.
	Counters Counters
}

// PeerSnapshot is one peer.
type PeerSnapshot struct {
	ID          nid.ProcessID  // NID and PID
	Version     ksock.Version  // 0 while unknown
	Incarnation uint64         // of the peer, 0 while unknown
	Dialling    bool           // a dial is in progress
	Pending     int            // messages that wait for a connection
	RetryIn     time.Duration  // until a dial is allowed; 0: now
	Conns       []ConnSnapshot // established
}

// ConnSnapshot is one established connection.
type ConnSnapshot struct {
	Type                   ksock.ConnType // own view
	Version                ksock.Version  // of the protocol
	Dialled                bool           // by this side
	Local, Remote          netip.AddrPort // of the socket
	QueuedBytes            int64          // taken for sending and not finalized
	TxMessages, RxMessages uint64         // LNet messages
	TxBytes, RxBytes       uint64         // without the handshake
}

// Snapshot returns the NI's state. It does not stop the NI; counters of
// different peers may be of different instants.
func (ni *NI) Snapshot() Snapshot {
	cfg := ni.cfg
	cfg.SockTimeout, cfg.ConnsPerPeer = ni.patience.now(), ni.connsPerPeer()
	s := Snapshot{
		NID: ni.nid, Accept: ni.cfg.Accept, SourceAddress: ni.cfg.SourceAddress,
		Messages: ni.messages.Len(), Counters: ni.counts.snapshot(), Multicast: ni.multicastSnapshot(),
		Tunables: lnd.InForce(cfg.Tunables()),
	}
	if a := ni.acceptor; a != nil {
		s.Listen = addrPort(a.listener.Addr())
		s.Handshakes, s.Accepted = a.load(ni)
	}
	now := ni.clock.Now()
	for _, p := range ni.allPeers() {
		s.Peers = append(s.Peers, p.snapshot(now))
	}
	slices.SortFunc(s.Peers, func(a, b PeerSnapshot) int {
		return cmp.Or(a.ID.NID.Compare(b.ID.NID), cmp.Compare(a.ID.PID, b.ID.PID))
	})
	return s
}

func (p *peer) snapshot(now time.Duration) PeerSnapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PeerSnapshot{
		ID: p.id, Version: p.set.version, Incarnation: p.set.incarnation,
		Dialling: p.set.dialling, Pending: p.pending.Len(),
		RetryIn: max(0, p.set.retryAt-now),
	}
	for _, c := range p.conns {
		s.Conns = append(s.Conns, ConnSnapshot{
			Type: c.ctype, Version: c.version, Dialled: c.dialled,
			Local: c.local, Remote: c.remote, QueuedBytes: c.queuedBytes.Load(),
			TxMessages: c.txMsgs.Load(), RxMessages: c.rxMsgs.Load(),
			TxBytes: c.txBytes.Load(), RxBytes: c.rxBytes.Load(),
		})
	}
	return s
}
