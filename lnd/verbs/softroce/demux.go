package softroce

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"ulnet/lnd/verbs/ibta"
)

// endpoint is a queue pair that the demultiplexer delivers to: a connection, one for
// datagrams, or QP 1.
type endpoint interface {
	// arrived is called with packets that a sender sent to this queue pair one after the
	// other. Their ICRCs and P_Keys are correct; the endpoint checks whether this sender may
	// send them. They are valid during the call. For each port there is one call at a time.
	arrived(from netip.AddrPort, list []ibta.Packet)
}

// demultiplexer delivers packets to queue pairs by number, and allots the numbers. It allots
// them in a secret, shuffled sequence, beginning at a random index. So no number is used again soon, since peers
// remember a number for a while, and a peer cannot guess other numbers from its own. Safe for concurrent use.
type demultiplexer struct {
	unknownQP atomic.Uint64 // packets for queue pairs that do not exist
	badPKey   atomic.Uint64
	report    func(from netip.Addr) // the function verbs.OpenConfig.Unknown; may be nil

	shuffle shuffle // sequence of the numbers

	mu    sync.RWMutex // guards all fields below
	ends  map[ibta.QPN]endpoint
	next  ibta.QPN // index of the next number in the sequence
	given int      // how many numbers have been allotted: the ones at the indexes directly before next
}

func newDemultiplexer(first ibta.QPN) *demultiplexer {
	return &demultiplexer{ends: make(map[ibta.QPN]endpoint), next: first & psnMask}
}

// reserve reserves a queue pair number not in use.
func (d *demultiplexer) reserve() ibta.QPN {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		q := ibta.QPN(d.shuffle.number(uint32(d.next)))
		d.next = (d.next + 1) & psnMask
		d.given++
		if _, taken := d.ends[q]; isQP(q) && !taken {
			d.ends[q] = nil
			return q
		}
	}
}

// claim reserves a certain number, if it is not used.
func (d *demultiplexer) claim(q ibta.QPN) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.ends[q]; taken {
		return false
	}
	d.ends[q] = nil
	return true
}

// put makes e the queue pair with a number.
func (d *demultiplexer) put(q ibta.QPN, e endpoint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends[q] = e
}

// remove takes a queue pair out. A packet may still arrive for it.
func (d *demultiplexer) remove(q ibta.QPN) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ends, q)
}

func (d *demultiplexer) find(q ibta.QPN) endpoint {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.ends[q]
}

// had reports whether q is or may have been a queue pair of this device.
func (d *demultiplexer) had(q ibta.QPN) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if q >= ibta.MulticastQPN {
		return true
	}
	ago := int(d.next-ibta.QPN(d.shuffle.index(uint32(q)))) & psnMask // how many allotments ago q was allotted; 1: it is the latest number
	return ago == 0 && d.given >= int(ibta.MulticastQPN) || ago > 0 && ago <= d.given
}

// len returns how many queue pairs there are, QP 1 among them.
func (d *demultiplexer) len() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.ends)
}

// deliver delivers packets of one sender to their queue pairs. Consecutive packets to one
// queue pair are delivered together.
func (d *demultiplexer) deliver(from netip.AddrPort, list []ibta.Packet) {
	for len(list) > 0 {
		q, n := list[0].DestQP, 1
		for n < len(list) && list[n].DestQP == q {
			n++
		}
		if e := d.find(q); e != nil {
			e.arrived(from, list[:n])
		} else {
			d.unknown(from.Addr(), list[:n])
		}
		list = list[n:]
	}
}

// unknown drops packets to a queue pair that does not exist. Requests to one that this device
// never had come from a peer that knows an earlier process at this address, and are reported;
// late packets to a closed one are not.
func (d *demultiplexer) unknown(from netip.Addr, list []ibta.Packet) {
	d.unknownQP.Add(uint64(len(list)))
	if op := list[0].OpCode; d.report != nil && op.IsRequest() && !op.IsUD() && isQP(list[0].DestQP) && !d.had(list[0].DestQP) {
		d.report(from)
	}
}
