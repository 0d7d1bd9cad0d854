package drivers

import (
	"fmt"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/verbs/ibta"
)

// Verbs is the RDMA device of an NI, and its state.
type Verbs struct {
	GUID       string   `json:"guid"`       // GUID of the channel adapter, in four groups of hex digits
	MTU        int      `json:"mtu"`        // largest payload of a packet, in bytes
	Peers      int      `json:"peers"`      // number of peers with an operation in progress
	Handshakes int      `json:"handshakes"` // number of connections that are not established yet
	Pending    int      `json:"pending"`    // number of messages that wait for a connection
	Receives   Receives `json:"receives"`   // state of the receive buffers of all connections
	// Counters are the counters of softroce, for all NIs with this address together.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// Receives are the receive buffers that all connections share.
type Receives struct {
	Free  int    `json:"free"`  // number of free buffers
	Empty uint64 `json:"empty"` // number of packets that found no free buffer
}

// o2ibTunables are the tunables of o2iblnd that LNet's tools show, in the order in which the tools
// show them. The tools show our tunable peer_credits_hiw under the name peercredits_hiw.
const o2ibTunables = "peer_credits_hiw=peercredits_hiw map_on_demand concurrent_sends fmr_pool_size fmr_flush_trigger fmr_cache ntx " +
	"conns_per_peer timeout tos retry_count rnr_retry_count keepalive ib_mtu wrq_sge cksum"

// status returns the status of an NI, nil if the NI belongs to another driver.
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
	status := &Status{Provider: o.Provider, Tunables: document(o2ibTunables, o.inForce(s.Tunables)), Reasons: reasons(o2iblnd.Reasons(), s.Counters.Of), Verbs: v}
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

// inForce returns the tunables in force, and also those that have a meaning only in kernels.
func (o *O2IB) inForce(all map[string]any) map[string]any {
	all["map_on_demand"], all["fmr_pool_size"], all["fmr_flush_trigger"], all["fmr_cache"] = o.MapOnDemand, o.FMRPoolSize, o.FMRFlushTrigger, 0
	if o.FMRCache {
		all["fmr_cache"] = 1
	}
	return all
}

// guid returns the number of a channel adapter in the format of the RDMA tools.
func guid(n uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", uint16(n>>48), uint16(n>>32), uint16(n>>16), uint16(n))
}
