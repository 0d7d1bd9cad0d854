package node

import (
	"ulnet/lnd"
	"ulnet/lnd/fault"
	"ulnet/lnd/socklnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
)

// Status is a node's state but its peers, see PeerPage: what `net show` and
// `stats show` are printed from.
type Status struct {
	PID nid.PID `json:"pid"`
	// Incarnation is the number of this life of the node, above those before.
	Incarnation uint64     `json:"incarnation"`
	Networks    string     `json:"networks"`     // as configured
	SourceCheck bool       `json:"source_check"` // messages are taken under the name of their connection only
	NIs         []NIStatus `json:"nis"`          // in the order of configuration
	Stats       lnet.Stats `json:"statistics"`
	// Discovery counts what discovery did and refused.
	Discovery discovery.Stats `json:"discovery"`
	Faults    Faults          `json:"faults"` // on purpose
}

// NIStatus is one NI with what its driver says. Its interface is the name of
// the one that has its address, also when it was configured by address.
type NIStatus struct {
	lnet.NISnapshot
	Socklnd *Socklnd `json:"socklnd,omitempty"`
	O2iblnd *O2iblnd `json:"o2iblnd,omitempty"`
}

// Reasons counts why connections of the NI were refused or ended, whatever its
// driver is.
func (s *NIStatus) Reasons() map[string]uint64 {
	switch {
	case s.Socklnd != nil:
		return s.Socklnd.Reasons
	case s.O2iblnd != nil:
		return s.O2iblnd.Reasons
	}
	return nil
}

// Connections is the number of connections of the NI; false of a driver that has none.
func (s *NIStatus) Connections() (n int, ok bool) {
	switch {
	case s.Socklnd != nil:
		return s.Socklnd.Connections, true
	case s.O2iblnd != nil:
		return s.O2iblnd.Connections, true
	}
	return 0, false
}

// Socklnd is what the TCP driver says of its NI.
type Socklnd struct {
	Accept socklnd.AcceptMode `json:"accept"`
	// SourceAddress says whether a peer's NID must have its address.
	SourceAddress socklnd.SourceAddress `json:"source_address"`
	Listen        string                `json:"listen,omitempty"` // address:port, none without a listener
	Connections   int                   `json:"connections"`
	Handshakes    int                   `json:"handshakes"` // accepted and not finished
	ConnsPerPeer  int                   `json:"conns_per_peer"`
	SockTimeout   int                   `json:"sock_timeout"` // seconds
	TOS           int                   `json:"tos"`
	Multicast     *Multicast            `json:"multicast,omitempty"`
	// Reasons counts why connections were refused or ended; those that never
	// happened are left out.
	Reasons map[string]uint64 `json:"reasons"`
}

// Multicast is what the TCP driver has of multicast at an NI. Which groups were
// joined there is lnet's to say.
type Multicast struct {
	Port uint16 `json:"port"` // UDP
	lnd.MulticastLimits
	Sent          uint64 `json:"sent"` // datagrams
	SentBytes     uint64 `json:"sent_bytes"`
	Received      uint64 `json:"received"` // those that were believed
	ReceivedBytes uint64 `json:"received_bytes"`
	Missed        uint64 `json:"missed"` // found the receive buffer full
}

func newMulticast(s *socklnd.MulticastSnapshot) *Multicast {
	if s.Interface == "" {
		return nil
	}
	return &Multicast{s.Port, s.Limits, s.TxMessages, s.TxBytes, s.RxMessages, s.RxBytes, s.Missed}
}

// Status returns the node's state.
func (n *Node) Status() Status {
	s := n.lnet.Overview()
	status := Status{PID: s.PID, Incarnation: n.lnet.Incarnation(), Networks: n.cfg.Networks, SourceCheck: n.cfg.SourceCheck, Stats: s.Stats}
	status.Discovery = n.base.Discovery().Stats()
	status.Faults = n.faults()
	names := newInterfaceNames()
	for _, ni := range s.NIs {
		ni.Interface = ""
		if !ni.NID.IsLo() {
			ni.Interface = names.of(ni.NID)
		}
		status.NIs = append(status.NIs, NIStatus{NISnapshot: ni, Socklnd: n.socklnd(ni), O2iblnd: n.o2iblnd(ni)})
	}
	return status
}

func (n *Node) socklnd(ni lnet.NISnapshot) *Socklnd {
	lower, ok := fault.Unwrap(ni.Lower).(*socklnd.NI)
	if !ok {
		return nil
	}
	s := lower.Snapshot()
	status := &Socklnd{
		Accept: s.Accept, SourceAddress: s.SourceAddress, Handshakes: s.Handshakes, Reasons: map[string]uint64{},
		Multicast:    newMulticast(&s.Multicast),
		ConnsPerPeer: s.Tunables.ConnsPerPeer, SockTimeout: int(s.Tunables.Timeout.Seconds()), TOS: s.Tunables.TOS,
	}
	if s.Listen.IsValid() {
		status.Listen = s.Listen.String()
	}
	for _, p := range s.Peers {
		status.Connections += len(p.Conns)
	}
	for _, r := range socklnd.Reasons() {
		if count := s.Counters.Of(r); count > 0 {
			status.Reasons[r.String()] = count
		}
	}
	return status
}
