package softroce

import "sync/atomic"

// allowance bounds the packets that all queue pairs of a device have in flight together. The
// receiver's socket buffer is shared by them too, and packets that overrun it are lost: a
// window of 128 packets alone overruns the default. Safe for concurrent use.
//
// A queue pair may have up to share times as many packets in flight as are free (a dynamic
// threshold, as in switches with shared memory). So a single queue pair takes 4/5 of the allowance,
// n of them take equal parts, and a new one finds room at once. Each may have one packet in flight
// in any case. That packet requests an ACK, whose arrival lets the queue pair go on, so no queue
// pair has to be woken when others free room. Packets to a peer that is silent for longer than
// lapse do not count: otherwise many peers that are gone would use up the allowance. Until it
// answers, it gets no new packets, see grant.
type allowance struct {
	most int64
	used atomic.Int64
}

// share bounds the packets in flight of a queue pair: to share times those that are free.
const share = 4

// take lets a queue pair that has onWay packets in flight send up to want more, and returns how
// many it may send.
func (a *allowance) take(onWay, want int) int {
	if a == nil || want == 0 {
		return want
	}
	for {
		used := a.used.Load()
		n := max(0, (share*(a.most-used)-int64(onWay))/(share+1))
		if onWay == 0 {
			n = max(n, 1)
		}
		if n = min(n, int64(want)); n == 0 || a.used.CompareAndSwap(used, used+n) {
			return int(n)
		}
	}
}

// give returns n packets to the allowance.
func (a *allowance) give(n int) {
	if a != nil {
		a.used.Add(int64(-n))
	}
}
