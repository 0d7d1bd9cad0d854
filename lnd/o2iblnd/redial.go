package o2iblnd

import (
	"encoding/binary"
	"maps"
	"net"
	"net/netip"
	"time"

	"ulnet/lnet/nid"
)

// The peers of a process that dies keep connections that nothing ends: over RDMA the system
// sends no reset. Their packets come to queue pairs that the next process at the address, the
// new incarnation, does not know, and they would notice only when their retries are used up.
// So the new incarnation requests a connection to such a peer, once: the peer compares
// incarnations, closes the connections of the old one, and refuses with CONN_STALE
// (o2iblnd-wire §7.1 step 6, §7.4), or accepts if it had none.
//
// The sender of such a packet can be forged, so the requests that such packets cause are
// bounded: one per address and NI in redialPause, a token bucket for all addresses and NIs together, and none
// to an address outside the subnets of the device's address. A request without an answer is
// sent 4 times in redialTimeout and then withdrawn: 5 packets of 308 bytes of IP, 96 KiB/s for
// the refilled bucket. No message of lnet depends on it. A peer that has a connection, or is
// expected to get one, gets no such request. The bounds are local policy.
const (
	redialPause   = 3 * time.Second
	redialTimeout = time.Second
	redialBurst   = 64
	redialEvery   = time.Second / 64 // the interval at which the bucket gets a token
)

// redials decides which addresses are asked for a connection because of packets to unknown
// queue pairs.
type redials struct {
	spent time.Duration // when the bucket will be full again (virtual scheduling)
	at    map[netip.Addr]time.Duration
	turn  uint // number of addresses that got a token; another NI comes first for each
}

// redialOutcome says what happens because of a packet to an unknown queue pair.
type redialOutcome uint8

const (
	redialNow     redialOutcome = iota
	redialTooSoon               // a connection to the address was requested a moment ago
	redialLimited               // too many connections were requested recently
)

// allow decides about a packet of an address, and takes a token for the first request to it. The table has the
// addresses that got a token, each with the time. Entries older than redialPause are removed, so the bucket bounds the size of the table.
func (r *redials) allow(now time.Duration, from netip.Addr) redialOutcome {
	if at, known := r.at[from]; known && now < at+redialPause {
		return redialTooSoon
	}
	if !r.take(now) {
		return redialLimited
	}
	if len(r.at) >= 2*redialBurst {
		maps.DeleteFunc(r.at, func(_ netip.Addr, at time.Duration) bool { return now >= at+redialPause })
	}
	if r.at == nil {
		r.at = make(map[netip.Addr]time.Duration)
	}
	r.at[from] = now
	r.turn++
	return redialNow
}

// take takes a token from the bucket, and returns false if it is empty.
func (r *redials) take(now time.Duration) bool {
	if r.spent > now+(redialBurst-1)*redialEvery {
		return false
	}
	r.spent = max(r.spent, now) + redialEvery
	return true
}

// giveBack returns a token that was taken and not used.
func (r *redials) giveBack() { r.spent -= redialEvery }

// unknown is called by the device with the sender of a packet to a queue pair that it never
// had.
func (a *acceptor) unknown(from netip.Addr) {
	a.mu.RLock()
	nis := a.nis
	a.mu.RUnlock()
	if len(nis) == 0 || !isNeighbor(a.subnets, a.addr, from) {
		return // no NI has started yet, and the peer will repeat its packet; or from is no neighbor
	}
	a.redialMu.Lock()
	outcome, turn := a.redials.allow(nis[0].clock.Now(), from), a.redials.turn
	a.redialMu.Unlock()
	switch outcome {
	case redialLimited:
		nis[0].counts.count(RedialLimited)
	case redialNow:
		a.redial(nis, turn, from)
	}
}

// redial requests connections to an address, one for each of nis, because the packet does not say for which
// NI it was. Each request costs a token. allow has taken one, which the first NI that asks uses; it is spent
// even if none does, so that the bucket bounds the table of addresses. When the bucket is nearly empty, only
// the first NIs get a token, so the NIs take turns at being first.
func (a *acceptor) redial(nis []*NI, turn uint, from netip.Addr) {
	taken, asked := true, false
	for i := range uint(len(nis)) {
		ni := nis[(turn+i)%uint(len(nis))]
		if taken = taken || a.takeRedial(ni.clock.Now()); !taken {
			ni.counts.count(RedialLimited)
		} else if ni.redial(from) {
			taken, asked = false, true
		}
	}
	if taken && asked {
		a.redialMu.Lock()
		a.redials.giveBack()
		a.redialMu.Unlock()
	}
}

// takeRedial takes a token, and returns false if the bucket is empty.
func (a *acceptor) takeRedial(now time.Duration) bool {
	a.redialMu.Lock()
	defer a.redialMu.Unlock()
	return a.redials.take(now)
}

// redial asks a peer for a connection, if there is none and none is to be expected. It reports whether it
// sends a request.
func (ni *NI) redial(from netip.Addr) (asks bool) {
	if !ni.peers.Begin(nil) {
		return false
	}
	defer ni.peers.Tasks.Done()
	if ni.messages.Closing() || ni.conns.len() >= ni.cfg.MaxConns {
		return false
	}
	p := ni.peers.Get(nid.FromAddr(ni.nid.Net(), from))
	if p == nil {
		return false
	}
	p.mu.Lock()
	if !p.gone.Load() {
		p.step(peerIn{kind: peerStale})
		if asks = p.out.connect > 0; asks {
			ni.counts.count(Redialled)
		}
	}
	p.unlock()
	return asks
}

// subnetsOf returns the subnets in which this system has the address own.
func subnetsOf(own netip.Addr) (list []netip.Prefix) {
	// On an error the list is empty: no peer is redialled, and peers learn of a restart of this node when
	// their retries run out.
	addrs, _ := net.InterfaceAddrs()
	for _, x := range addrs {
		p, err := netip.ParsePrefix(x.String())
		if err == nil && (p.Addr().Unmap() == own || own.IsLoopback() && p.Contains(own)) {
			list = append(list, p.Masked())
		}
	}
	return list
}

// isNeighbor reports whether a is the address of another node in one of the subnets.
func isNeighbor(subnets []netip.Prefix, own, a netip.Addr) bool {
	if !a.Is4() || a == own || a.IsMulticast() || a.IsUnspecified() {
		return false
	}
	for _, p := range subnets {
		if p.Contains(a) {
			return p.Bits() >= 31 || a != p.Addr() && a != broadcast(p)
		}
	}
	return false
}

// broadcast returns the last address of an IPv4 subnet, which stands for all of its nodes.
func broadcast(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	n := binary.BigEndian.Uint32(b[:]) | (1<<(32-p.Bits()) - 1)
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
