package node

import (
	"fmt"
	"time"

	"ulnet/lnd/fault"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet"
)

// O2iblnd is what the RDMA driver says of its NI.
type O2iblnd struct {
	Provider string       `json:"provider"`
	Listen   string       `json:"listen,omitempty"` // address:port of the connection manager
	Device   O2IBDevice   `json:"device"`
	Tunables O2IBTunables `json:"tunables"`

	Peers       int `json:"peers"`
	Connections int `json:"connections"` // established
	Handshakes  int `json:"handshakes"`  // not yet
	Pending     int `json:"pending"`     // messages that wait for a connection
	// Receives are the buffers that all connections share.
	Receives  O2IBReceives `json:"receives"`
	Multicast *Multicast   `json:"multicast,omitempty"`
	// Reasons counts why connections were refused or ended, and messages dropped; what
	// never happened is left out.
	Reasons map[string]uint64 `json:"reasons"`
}

// O2IBDevice is the device of an NI.
type O2IBDevice struct {
	GUID string `json:"guid"`
	MTU  int    `json:"mtu"` // payload bytes of a packet
	// Counters are what softroce counts, of all NIs of the address together.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// O2IBTunables is what is in force of o2iblnd's tunables.
type O2IBTunables struct {
	PeerCreditsHIW  int  `json:"peercredits_hiw"`
	MapOnDemand     int  `json:"map_on_demand"`
	ConcurrentSends int  `json:"concurrent_sends"`
	FMRPoolSize     int  `json:"fmr_pool_size"`
	FMRFlushTrigger int  `json:"fmr_flush_trigger"`
	FMRCache        int  `json:"fmr_cache"`
	NTX             int  `json:"ntx"`
	ConnsPerPeer    int  `json:"conns_per_peer"`
	Timeout         int  `json:"timeout"` // seconds
	TOS             int  `json:"tos"`
	RetryCount      int  `json:"retry_count"`
	RNRRetryCount   int  `json:"rnr_retry_count"`
	Keepalive       int  `json:"keepalive"` // seconds
	IBMTU           int  `json:"ib_mtu"`
	WrqSGE          int  `json:"wrq_sge"`
	Cksum           bool `json:"cksum"`
}

// O2IBReceives are receive buffers.
type O2IBReceives struct {
	Free  int    `json:"free"`
	Empty uint64 `json:"empty"` // packets that found none
}

// o2iblnd returns nil for the NI of another driver.
func (n *Node) o2iblnd(ni lnet.NISnapshot) *O2iblnd {
	lower, ok := fault.Unwrap(ni.Lower).(*o2iblnd.NI)
	if !ok {
		return nil
	}
	s := lower.Snapshot()
	status := &O2iblnd{
		Provider: n.cfg.O2IB.Provider,
		Device:   O2IBDevice{GUID: guid(s.Device.GUID), MTU: s.Device.MTU, Counters: n.devices.counters(s.NID.Addr())},
		Tunables: n.o2ibTunablesOf(&s.Tunables),
		Peers:    len(s.Peers), Receives: O2IBReceives{s.Receives.Free, s.Receives.Empty},
		Multicast: newO2IBMulticast(&s.Multicast), Reasons: map[string]uint64{},
	}
	if s.Listen.IsValid() {
		status.Listen = s.Listen.String()
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		status.Connections += len(p.Conns)
		status.Handshakes += p.Connecting + p.Accepting
		status.Pending += p.Pending
	}
	for _, r := range o2iblnd.Reasons() {
		if count := s.Counters.Of(r); count > 0 {
			status.Reasons[r.String()] = count
		}
	}
	return status
}

// o2ibTunablesOf joins what is in force with what only kernels use.
func (n *Node) o2ibTunablesOf(t *o2iblnd.TunablesSnapshot) O2IBTunables {
	o := &n.cfg.O2IB
	cache := 0
	if o.FMRCache {
		cache = 1
	}
	return O2IBTunables{
		PeerCreditsHIW: t.PeerCreditsHIW, MapOnDemand: o.MapOnDemand, ConcurrentSends: t.ConcurrentSends,
		FMRPoolSize: o.FMRPoolSize, FMRFlushTrigger: o.FMRFlushTrigger, FMRCache: cache,
		NTX: t.NTX, ConnsPerPeer: t.ConnsPerPeer, Timeout: int(t.Timeout / time.Second), TOS: t.TOS,
		RetryCount: t.RetryCount, RNRRetryCount: t.RNRRetryCount, Keepalive: int(max(t.Keepalive, 0) / time.Second),
		IBMTU: t.IBMTU, WrqSGE: t.WrqSGE, Cksum: t.Cksum,
	}
}

// newO2IBMulticast returns nil if there is none.
func newO2IBMulticast(s *o2iblnd.MulticastSnapshot) *Multicast {
	if s.Limits.MaxPayload == 0 {
		return nil
	}
	return &Multicast{ibta.Port, s.Limits, s.TxMessages, s.TxBytes, s.RxMessages, s.RxBytes, s.Missed}
}

// guid prints the number of a channel adapter as the tools of RDMA do.
func guid(n uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", uint16(n>>48), uint16(n>>32), uint16(n>>16), uint16(n))
}
