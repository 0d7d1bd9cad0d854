package softroce

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// udReceiver is the receiving half of a queue pair for datagrams. Packets come
// from several ports at once: the device's, and one for each group.
type udReceiver struct {
	mu    sync.Mutex // guards all fields below
	ended bool
	got   []verbs.Completion
}

// udCounters count datagrams. Each datagram that arrives counts in one of them.
type udCounters struct {
	sent     atomic.Uint64
	failed   atomic.Uint64 // datagrams that the system refused to send
	full     atomic.Uint64 // how often the system had no room to send
	received atomic.Uint64
	qkey     atomic.Uint64 // datagrams with another Q_Key
	own      atomic.Uint64 // datagrams to a group from this queue pair itself
	opcode   atomic.Uint64 // packets that are no datagrams, or have immediate data
	tooLong  atomic.Uint64 // datagrams longer than a receive buffer
	noBuffer atomic.Uint64 // datagrams that found no receive buffer
	late     atomic.Uint64 // datagrams that arrived after Close
}

// arrived receives unicast datagrams for this queue pair (endpoint).
func (u *ud) arrived(from netip.AddrPort, list []ibta.Packet) {
	u.hub.upcall(func() { u.receive(from, netip.Addr{}, list) })
}

// receive receives datagrams to this queue pair, or to a group.
func (u *ud) receive(from netip.AddrPort, group netip.Addr, list []ibta.Packet) {
	r := &u.in
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		u.counters.late.Add(uint64(len(list)))
		return
	}
	got := r.got[:0]
	r.got = nil
	for i := range list {
		p := &list[i]
		if count := u.refuses(from.Addr(), p); count != nil {
			count.Add(1)
			continue
		}
		b, ok := u.pool.Take()
		if !ok {
			u.counters.noBuffer.Add(1)
			continue
		}
		if len(p.Payload) > len(b.Bytes) {
			u.pool.Return(b)
			u.counters.tooLong.Add(1)
			continue
		}
		b.Bytes = b.Bytes[:copy(b.Bytes, p.Payload)]
		u.counters.received.Add(1)
		got = append(got, verbs.Completion{
			ID: u.cfg.ID, QPN: uint32(u.qpn), Op: verbs.Receive, Buffer: b,
			SrcAddr: from.Addr(), SrcQPN: uint32(p.DETH.SrcQP), Group: group,
		})
	}
	mine := u.recvs.claim(got, nil)
	r.mu.Unlock()
	if mine {
		u.recvs.run(got, nil)
	}
	r.giveBack(got)
}

// refuses returns the counter of the reason for which a packet is dropped, or nil.
func (u *ud) refuses(from netip.Addr, p *ibta.Packet) *atomic.Uint64 {
	switch {
	case p.OpCode != ibta.UDSendOnly:
		return &u.counters.opcode
	case p.DETH.QKey != ibta.QKey(u.cfg.QKey):
		return &u.counters.qkey
	case p.DETH.SrcQP == u.qpn && from == u.hub.addr:
		return &u.counters.own
	}
	return nil
}

func (r *udReceiver) giveBack(list []verbs.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil && cap(list) <= keptPackets {
		clear(list)
		r.got = list[:0]
	}
}

// end makes the receiver drop all further datagrams.
func (r *udReceiver) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}
