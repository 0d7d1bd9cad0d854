// Package lndtest is the suite that every driver passes: it plays lnet on two
// NIs and checks what the contract in package lnd promises.
//
// A driver's test calls [Run] with a [Harness] that starts two NIs which reach
// each other (for loopback, one NI twice). The suite waits only through
// [Harness].Await, so a driver in virtual time can advance its clock there.
package lndtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Harness starts the driver under test.
type Harness struct {
	// Start returns two NIs that reach each other, with the given upcalls. It need not
	// arrange for their end: the suite shuts them down.
	Start func(t *testing.T, a, b lnd.Upcalls) (lnd.NI, lnd.NI)
	// Incarnation returns the incarnation with which Start has started the given NI.
	Incarnation func(lnd.NI) uint64
	// Await waits until cond holds and returns true, or gives up after a while and returns false.
	// Nil: Poll.
	Await func(cond func() bool) bool
	// Unreachable is a NID on the driver's net that no node has; invalid
	// where the driver reaches all NIDs.
	Unreachable nid.NID
}

// Poll is the Await for drivers that run in real time. It waits for at most a minute.
func Poll(cond func() bool) bool {
	deadline := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			return cond()
		}
	}
	return true
}

// shutdownLimit is how long the Shutdowns of both NIs may take together, before they count as hung.
const shutdownLimit = 60 * time.Second

// fabric is a pair of NIs under test, connected with each other.
type fabric struct {
	t     *testing.T
	h     Harness
	a, b  lnd.NI
	upA   *recorder
	upB   *recorder
	match uint64 // match bits of the message that was made last
}

func newFabric(t *testing.T, h Harness) *fabric {
	t.Helper()
	if h.Await == nil {
		h.Await = Poll
	}
	f := &fabric{t: t, h: h, upA: newRecorder(), upB: newRecorder()}
	f.a, f.b = h.Start(t, f.upA, f.upB)
	f.upA.ni, f.upB.ni = f.a, f.b
	if f.a == f.b { // loopback: one NI is both ends, with one recorder
		f.upB = f.upA
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- errors.Join(f.a.Shutdown(ctx), f.b.Shutdown(ctx)) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("shutdown: %v", err)
			}
		case <-time.After(shutdownLimit):
			t.Errorf("Shutdown has not returned after %v; a: %v; b: %v", shutdownLimit, f.upA, f.upB)
		}
	})
	return f
}

// put makes a PUT of payload from one NI to another. Its match bits are the number of the message.
func (f *fabric) put(from, to lnd.NI, segments ...[]byte) *lnd.Message {
	f.match++
	m := &lnd.Message{Target: nid.ProcessID{NID: to.NID(), PID: nid.LustrePID}}
	for _, s := range segments {
		m.Payload.Length += len(s)
	}
	m.Payload.Segments = segments
	m.Header.SrcNID, m.Header.SrcPID = from.NID(), nid.LustrePID
	m.Header.DestNID, m.Header.DestPID = to.NID(), nid.LustrePID
	m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: f.match, Portal: 7})
	m.Header.PayloadLength = uint32(m.Payload.Length)
	return m
}

func (f *fabric) await(what string, cond func() bool) {
	f.t.Helper()
	if !f.h.Await(cond) {
		f.t.Fatalf("%s: did not happen; a: %v; b: %v", what, f.upA, f.upB)
	}
}

// arrived is a message whose delivery has ended, completely or with an error.
type arrived struct {
	header wire.Header
	from   nid.ProcessID
	group  lnd.Group
	data   []byte
	err    error
}

// recorder plays lnet for one NI: it accepts everything into fresh memory,
// unless told otherwise, and keeps what happened.
type recorder struct {
	ni lnd.NI

	mu        sync.Mutex
	got       []arrived              // messages that arrived; guarded by mu, like all fields below
	finalized map[*lnd.Message]error // error of Finalize, by message
	repeated  int                    // number of Finalize calls for messages already finalized
	down      []error                // causes given to PeerDown
	peers     []nid.ProcessID        // peers given to PeerUp and PeerDown, in order
	ups       []bool                 // by index in peers: true for PeerUp, false for PeerDown
	held      []*lnd.Delivery
	waited    map[*lnd.Message]int // number of Waits calls, by message
	late      int                  // number of Waits calls that came after Finalize

	// bulk, if set, has the memory for arriving payloads of lnd.MaxPayload bytes. The memory is
	// used again, so these payloads are not kept.
	bulk *sync.Pool
	// parse, if set, is called by Parse in place of accept.
	parse func(d *lnd.Delivery) (lnd.Answer, error)
	// onFinalize and onDelivered, when set, run in the upcall.
	onFinalize  func(m *lnd.Message, err error)
	onDelivered func(d *lnd.Delivery)
}

func newRecorder() *recorder {
	return &recorder{finalized: make(map[*lnd.Message]error), waited: make(map[*lnd.Message]int)}
}

// accept gives a delivery a sink of limit bytes in two segments.
func accept(d *lnd.Delivery, limit int) {
	n := min(int(d.Header.PayloadLength), limit)
	memory := make([]byte, n+3)
	d.Sink = lnd.Payload{Segments: [][]byte{memory[:1+n/3], nil, memory[1+n/3:]}, Offset: 1, Length: n}
}

func (r *recorder) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	d.Owner, d.Sink = r, lnd.Payload{}
	r.mu.Lock()
	parse := r.parse
	r.mu.Unlock()
	if parse != nil {
		return parse(d)
	}
	accept(d, lnd.MaxPayload)
	return lnd.Accept, nil
}

func (r *recorder) Delivered(d *lnd.Delivery, err error) {
	in := arrived{header: d.Header, from: d.From, group: d.Group, err: err}
	r.mu.Lock()
	bulk := r.bulk
	r.mu.Unlock()
	if bulk != nil && len(d.Sink.Segments) == 1 && d.Sink.Length == lnd.MaxPayload {
		bulk.Put(&d.Sink.Segments[0])
	} else {
		in.data = bytes.Join(d.Sink.Append(nil), nil)
	}
	r.mu.Lock()
	r.got = append(r.got, in)
	hook := r.onDelivered
	r.mu.Unlock()
	if hook != nil {
		hook(d)
	}
}

// at returns the i-th message that arrived.
func (r *recorder) at(i int) arrived {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[i]
}

func (r *recorder) Finalize(m *lnd.Message, err error) {
	r.mu.Lock()
	if _, again := r.finalized[m]; again {
		r.repeated++
	}
	r.finalized[m] = err
	hook := r.onFinalize
	r.mu.Unlock()
	if hook != nil {
		hook(m, err)
	}
}

func (r *recorder) Abandon(d *lnd.Delivery) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.held, d)
	if i < 0 {
		return false
	}
	r.held = slices.Delete(r.held, i, i+1)
	return true
}

func (r *recorder) Waits(m *lnd.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waited[m]++
	if _, ended := r.finalized[m]; ended {
		r.late++
	}
}

func (r *recorder) PeerUp(peer nid.ProcessID) { r.note(peer, true) }

func (r *recorder) PeerDown(peer nid.ProcessID, cause error) {
	r.mu.Lock()
	r.down = append(r.down, cause)
	r.mu.Unlock()
	r.note(peer, false)
}

func (r *recorder) note(peer nid.ProcessID, up bool) {
	r.mu.Lock()
	r.peers, r.ups = append(r.peers, peer), append(r.ups, up)
	r.mu.Unlock()
}

// told returns a condition: PeerUp (true) and PeerDown (false) were reported in the order of want.
// Further PeerDowns may follow, as when another message tries to reach the peer.
func (r *recorder) told(want ...bool) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := len(want)
		return len(r.ups) >= n && slices.Equal(r.ups[:n], want) && !slices.Contains(r.ups[n:], true)
	}
}

// left returns a condition: the peer was reported up, is reported down now, and was never
// reported up twice in a row. It may have been up again in between, because a connection that
// was being made when the peer began to leave may still be accepted.
func (r *recorder) left() func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := 1; i < len(r.ups); i++ {
			if r.ups[i] && r.ups[i-1] {
				return false
			}
		}
		n := len(r.ups)
		return n >= 2 && r.ups[0] && !r.ups[n-1]
	}
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d arrived, %d finalized, %d repeated, down %v", len(r.got), len(r.finalized), r.repeated, r.down)
}

// count returns a condition: at least n messages have arrived here.
func (r *recorder) count(n int) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.got) >= n
	}
}

// ended returns the condition that all ms were finalized.
func (r *recorder) ended(ms ...*lnd.Message) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return !slices.ContainsFunc(ms, func(m *lnd.Message) bool { _, ok := r.finalized[m]; return !ok })
	}
}

func (r *recorder) set(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
}
