package drivers

import (
	"fmt"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
)

// Peer is a peer of an NI and its connections, as 'lctl peer_list' and 'lctl conn_list' print
// them.
type Peer struct {
	ID      nid.ProcessID `json:"id"`      // NID and PID of the peer
	Dialing bool          `json:"dialing"` // this node is opening a connection
	Pending int           `json:"pending"` // number of messages that wait for a connection
	Conns   []Conn        `json:"conns"`   // established connections
}

// Conn is an established connection of an NI.
type Conn struct {
	Type   string `json:"type"`   // ANY, CONTROL, BULK_IN or BULK_OUT with TCP; RC with RDMA
	Local  string `json:"local"`  // address:port; with RDMA the address and the number of the queue pair
	Remote string `json:"remote"` // the peer's address:port; with RDMA its address
	Dialed bool   `json:"dialed"` // this node has opened the connection
	// MTU is the payload of an RDMA packet in bytes; 0 with TCP.
	MTU int `json:"mtu,omitempty"`
	// QueueDepth is how many messages that need a credit may be under way each way, as both sides
	// have agreed; 0 with TCP.
	QueueDepth int `json:"queue_depth,omitempty"`

	TxBuffer int  `json:"tx_buffer"` // size of the socket's send buffer in bytes, as configured; 0: the system chooses
	RxBuffer int  `json:"rx_buffer"` // size of the socket's receive buffer in bytes, as configured; 0: the system chooses
	Nagle    bool `json:"nagle"`     // Nagle's algorithm is on: TCP waits for more data to send

	// RDMA is the state of a connection by RDMA; nil with TCP.
	RDMA *RDMAConn `json:"rdma,omitempty"`

	TxMessages uint64 `json:"tx_messages"` // number of LNet messages sent
	RxMessages uint64 `json:"rx_messages"` // number of LNet messages received
	TxBytes    uint64 `json:"tx_bytes"`    // number of bytes sent
	RxBytes    uint64 `json:"rx_bytes"`    // number of bytes received
}

// RDMAConn is what is under way on a connection by RDMA.
type RDMAConn struct {
	Credits   int `json:"credits"`   // messages that need a credit and may be sent now
	Owed      int `json:"owed"`      // credits to give back to the peer
	Reserved  int `json:"reserved"`  // answers that this side may still ask for
	Queued    int `json:"queued"`    // messages that are not posted yet
	Writing   int `json:"writing"`   // transfers whose data has not all been posted
	Posted    int `json:"posted"`    // work requests with a completion that are posted and not completed
	Transfers int `json:"transfers"` // messages and transfers that are under way, those above included

	Oldest   float64 `json:"oldest"`              // seconds that the message which times out next has waited; 0: none waits
	OldestIs string  `json:"oldest_is,omitempty"` // the message that times out next, and what it waits for

	// The fields below are zero with hardware, which does not report them.
	InFlight int     `json:"in_flight"` // packets that have left and are not acknowledged
	Unsent   int     `json:"unsent"`    // packets of posted work requests that have not left, or will leave again
	Window   int     `json:"window"`    // bound of in_flight
	RTT      float64 `json:"rtt"`       // smoothed round-trip time in seconds
	Silent   float64 `json:"silent"`    // seconds since the peer's last progress, while packets are in flight
	Retries  int     `json:"retries"`   // ACK timeouts since the peer's last progress
}

func rdmaConn(c *o2iblnd.ConnSnapshot) *RDMAConn {
	t := &c.Transport
	return &RDMAConn{
		Credits: c.Credits, Owed: c.Owed, Reserved: c.Reserved, Queued: c.Queued, Writing: c.Writing, Posted: c.Posted, Transfers: c.Transfers,
		Oldest: c.Oldest.Seconds(), OldestIs: c.OldestIs,
		InFlight: t.InFlight, Unsent: t.Unsent, Window: t.Window, RTT: t.RTT.Seconds(), Silent: t.Silent.Seconds(), Retries: t.Retries,
	}
}

// PeerLister is implemented by drivers that have connections to peers.
type PeerLister interface {
	// Peers returns the first peers of an NI, sorted by NID. The parameter most bounds their
	// number. The result is nil if the NI belongs to another driver.
	Peers(ni lnd.NI, most int) []Peer
}

// Peers implements [PeerLister].
func (t *TCP) Peers(ni lnd.NI, most int) (list []Peer) {
	lower, ok := ni.(*socklnd.NI)
	if !ok {
		return nil
	}
	for _, p := range lower.Snapshot().Peers {
		if len(list) == most {
			break
		}
		one := Peer{ID: p.ID, Dialing: p.Dialling, Pending: p.Pending}
		for _, c := range p.Conns {
			one.Conns = append(one.Conns, Conn{
				Type: c.Type.String(), Local: c.Local.String(), Remote: c.Remote.String(), Dialed: c.Dialled,
				TxBuffer: t.TxBufferSize, RxBuffer: t.RxBufferSize, Nagle: t.Nagle,
				TxMessages: c.TxMessages, RxMessages: c.RxMessages, TxBytes: c.TxBytes, RxBytes: c.RxBytes,
			})
		}
		list = append(list, one)
	}
	return list
}

// Peers implements [PeerLister].
func (o *O2IB) Peers(ni lnd.NI, most int) (list []Peer) {
	lower, ok := ni.(*o2iblnd.NI)
	if !ok {
		return nil
	}
	s := lower.Snapshot()
	for _, p := range s.Peers {
		if len(list) == most {
			break
		}
		one := Peer{ID: p.ID, Dialing: p.Connecting > 0, Pending: p.Pending}
		for i := range p.Conns {
			c := &p.Conns[i]
			one.Conns = append(one.Conns, Conn{
				RDMA: rdmaConn(c), Type: "RC", Local: queuePair(s.NID, c.QPN), Remote: p.ID.NID.Addr().String(), Dialed: c.Dialled, MTU: s.Device.MTU, QueueDepth: c.QueueDepth,
				TxMessages: c.TxMessages, RxMessages: c.RxMessages, TxBytes: c.TxBytes, RxBytes: c.RxBytes,
			})
		}
		list = append(list, one)
	}
	return list
}

// queuePair formats the number of a queue pair of an NI.
func queuePair(id nid.NID, number uint32) string {
	return fmt.Sprintf("%v qp %d", id.Addr(), number)
}
