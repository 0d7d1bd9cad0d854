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
	NID           nid.NID           // NID of this NI
	Accept        AcceptMode        // accept mode in force
	SourceAddress SourceAddress     // check of source addresses in force
	Listen        netip.AddrPort    // listening address; zero without a listener
	Handshakes    int               // unfinished handshakes of accepted connections; see Counters
	Accepted      int               // accepted connections of all NIs at the address, which MaxConns limits
	Tunables      map[string]any    // values of the tunables in force; see lnd.InForce
	Messages      int64             // messages, and buffers of inline ones, that the NI has taken and not finalized yet
	Peers         []PeerSnapshot    // peers, ordered by NID and PID
	Multicast     MulticastSnapshot // state of multicast; empty if it was never used
	// Counters are the NI's own. Events of an accepted connection before it has said which
	// NID it wants are counted by the NI that has been on the listener's address the longest.
	Counters Counters
}

// PeerSnapshot is the state of one peer.
type PeerSnapshot struct {
	ID          nid.ProcessID  // NID and PID of the peer
	Version     ksock.Version  // protocol version of the peer; 0 while unknown
	Incarnation uint64         // incarnation of the peer; 0 while unknown
	Dialling    bool           // a dial is in progress
	Pending     int            // messages that wait for a connection
	RetryIn     time.Duration  // time until the next dial is allowed; 0: now
	Conns       []ConnSnapshot // established connections
}

// ConnSnapshot is the state of one established connection.
type ConnSnapshot struct {
	Type                   ksock.ConnType // connection type as this side sees it
	Version                ksock.Version  // protocol version of the connection
	Dialled                bool           // this side dialled
	Local, Remote          netip.AddrPort // addresses and ports of the socket
	QueuedBytes            int64          // bytes of messages taken and not finalized
	TxMessages, RxMessages uint64         // LNet messages sent and received
	TxBytes, RxBytes       uint64         // bytes sent and received, without the handshake
}

// Snapshot returns the NI's state. It does not stop the NI; counters of
// different peers may be of different instants.
func (ni *NI) Snapshot() Snapshot {
	cfg := ni.cfg
	cfg.SockTimeout, cfg.ConnsPerPeer = ni.patience.Now(), ni.connsPerPeer()
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
	for _, p := range ni.peers.All() {
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
			Local: c.local, Remote: c.remote, QueuedBytes: c.tx.queuedBytes(),
			TxMessages: c.txMsgs.Load(), RxMessages: c.rxMsgs.Load(),
			TxBytes: c.txBytes.Load(), RxBytes: c.rxBytes.Load(),
		})
	}
	return s
}
