package o2iblnd

import (
	"net/netip"
	"time"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
)

// Snapshot is the state of an NI at one instant.
type Snapshot struct {
	NID      nid.NID
	Listen   netip.AddrPort // the port is the CM's service
	Device   verbs.DeviceAttr
	Tunables TunablesSnapshot
	Messages int64           // taken by Send and not finalized yet
	Receives verbs.PoolStats // the buffers of all connections
	Peers    []PeerSnapshot  // by NID
	Counters Counters

	Multicast MulticastSnapshot
}

// TunablesSnapshot is what is in force of the tunables, under Lustre's names.
type TunablesSnapshot struct {
	PeerCredits     int           // peer_credits
	PeerCreditsHIW  int           // peercredits_hiw
	ConcurrentSends int           // concurrent_sends
	ConnsPerPeer    int           // conns_per_peer
	NTX             int           // ntx
	Timeout         time.Duration // timeout
	RetryCount      int           // retry_count
	RNRRetryCount   int           // rnr_retry_count
	Keepalive       time.Duration // keepalive; negative: none
	IBMTU           int           // ib_mtu; 0: the path's
	TOS             int           // tos; -1: unset
	WrqSGE          int           // wrq_sge
	Cksum           bool          // cksum
}

// PeerSnapshot is one peer.
type PeerSnapshot struct {
	ID          nid.ProcessID
	Version     kib.Version // 0 while unknown
	Incarnation uint64      // of the peer, 0 while unknown
	Connecting  int         // requests of this side that are not answered
	Accepting   int         // requests of the peer that were accepted and are not established
	Pending     int         // messages that wait for a connection
	QueueDepth  int         // that is asked for
	MaxFrags    int         // likewise
	Conns       []ConnSnapshot
}

// ConnSnapshot is one established connection.
type ConnSnapshot struct {
	QPN        uint32
	Dialled    bool // by this side
	Version    kib.Version
	QueueDepth int // in force
	MaxFrags   int
	Credits    int // to send
	Owed       int // to give back
	Reserved   int // for answers
	Queued     int // messages that are not posted
	Transfers  int // that wait for the peer

	TxMessages, RxMessages uint64 // SENDs
	TxBytes, RxBytes       uint64 // of LNet payload
}
