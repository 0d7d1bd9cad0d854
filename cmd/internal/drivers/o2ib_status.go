package drivers

import (
	"fmt"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/ibta"
)

// Verbs is what the device of an NI on RDMA is, and what goes on there.
type Verbs struct {
	GUID       string   `json:"guid"`
	MTU        int      `json:"mtu"` // payload bytes of a packet
	Peers      int      `json:"peers"`
	Handshakes int      `json:"handshakes"`
	Pending    int      `json:"pending"` // messages that wait for a connection
	Receives   Receives `json:"receives"`
	// Counters are what softroce counts, of all NIs of the address together.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// Receives are the receive buffers that all connections share.
type Receives struct {
	Free  int    `json:"free"`
	Empty uint64 `json:"empty"` // packets that found none
}

// o2ibTunables are what is in force of o2iblnd's tunables.
type o2ibTunables struct {
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

// status returns nil for the NI of another driver.
func (o *O2IB) status(ni lnd.NI, d *devices) *Status {
	lower, ok := ni.(*o2iblnd.NI)
	if !ok {
		return nil
	}
	s := lower.Snapshot()
	v := &Verbs{
		GUID: guid(s.Device.GUID), MTU: s.Device.MTU, Peers: len(s.Peers), Receives: Receives{s.Receives.Free, s.Receives.Empty},
		Counters: d.counters(s.NID.Addr()),
	}
	status := &Status{Provider: o.Provider, Tunables: document(o.inForce(&s.Tunables)), Reasons: reasons(o2iblnd.Reasons(), s.Counters.Of), Verbs: v}
	if m := &s.Multicast; m.Limits.MaxPayload > 0 {
		status.Multicast = &Multicast{ibta.Port, m.Limits, m.TxMessages, m.TxBytes, m.RxMessages, m.RxBytes, m.Missed}
	}
	if s.Listen.IsValid() {
		status.Listen = s.Listen.String()
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		status.Connections += len(p.Conns)
		v.Handshakes += p.Connecting + p.Accepting
		v.Pending += p.Pending
	}
	status.Handshakes = v.Handshakes
	return status
}

// inForce joins what is in force with what only kernels use.
func (o *O2IB) inForce(t *o2iblnd.TunablesSnapshot) o2ibTunables {
	cache := 0
	if o.FMRCache {
		cache = 1
	}
	return o2ibTunables{
		PeerCreditsHIW: t.PeerCreditsHIW, MapOnDemand: o.MapOnDemand, ConcurrentSends: t.ConcurrentSends,
		FMRPoolSize: o.FMRPoolSize, FMRFlushTrigger: o.FMRFlushTrigger, FMRCache: cache,
		NTX: t.NTX, ConnsPerPeer: t.ConnsPerPeer, Timeout: int(t.Timeout / time.Second), TOS: t.TOS,
		RetryCount: t.RetryCount, RNRRetryCount: t.RNRRetryCount, Keepalive: int(max(t.Keepalive, 0) / time.Second),
		IBMTU: t.IBMTU, WrqSGE: t.WrqSGE, Cksum: t.Cksum,
	}
}

// guid prints the number of a channel adapter as the tools of RDMA do.
func guid(n uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", uint16(n>>48), uint16(n>>32), uint16(n>>16), uint16(n))
}
