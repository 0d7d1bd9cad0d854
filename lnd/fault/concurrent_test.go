package fault

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lo"
	"ulnet/lnet/nid"
)

// TestChangesUnderLoad: while messages pass, rules come and go, partitions
// form and heal, and the node pauses; then it is shut down. Every message is
// finalized once, no payload is changed, and in the end no room for kept messages is in use.
func TestChangesUnderLoad(t *testing.T) {
	senders, each := 4, effort.Of(2000, 10_000, 10_000)
	p := planOf(t, nil)
	up := &tally{t: t, ends: map[*lnd.Message]int{}}
	ni := startUp(t, lo.Driver{}, p, lnd.Config{Net: nid.MakeNet(nid.Lo, 0)}, up)
	var wg sync.WaitGroup
	for s := range uint64(senders) {
		wg.Go(func() {
			for i := range uint64(each) {
				ni.Send(put(nid.Lo0(), nid.Lo0(), s<<32|i, "unchanged"))
			}
		})
	}
	stop := make(chan struct{})
	var changes sync.WaitGroup
	for _, change := range changesOf(t, p) {
		changes.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					change()
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	changes.Wait()
	if !lndtest.Poll(func() bool { return up.ended.Load() == int64(senders*each) }) {
		t.Errorf("%d of %d messages were finalized", up.ended.Load(), senders*each)
	}
	if !lndtest.Poll(func() bool { return p.Snapshot().Held == 0 }) {
		t.Errorf("left: %+v", p.Snapshot())
	}
	p.Pause(0)
	late := put(nid.Lo0(), nid.Lo0(), 1<<60, "late")
	ni.Send(late)
	if err := ni.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if up.ended.Load() != int64(senders*each)+1 || up.last != syscall.ESHUTDOWN {
		t.Errorf("the last of %d messages ended with %v, want ESHUTDOWN", up.ended.Load(), up.last)
	}
}

// changesOf returns functions that each change a plan and then undo the change.
func changesOf(t *testing.T, p *Plan) []func() {
	return []func(){
		func() {
			r, _ := ParseRule("loss 10% duplicate 10% reorder 10% latency 50µs±50µs")
			id, err := p.Add(r)
			if err == nil {
				err = p.Remove(id)
			}
			if err != nil {
				t.Error(err)
			}
		},
		func() {
			part, _ := ParsePartition("0@lo | 10.0.0.1@tcp")
			p.Separate(part)
			p.Separate(Partition{})
		},
		func() { p.Pause(10 * time.Microsecond); p.Snapshot(); p.Resume() },
	}
}

// tally is an lnet that checks the upcalls and counts them.
type tally struct {
	t     *testing.T
	ended atomic.Int64

	mu   sync.Mutex
	ends map[*lnd.Message]int // Finalize calls by message; guarded by mu, like all fields below
	last error
}

func (*tally) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	memory := make([]byte, d.Header.PayloadLength)
	d.Sink = lnd.Payload{Segments: [][]byte{memory}, Length: len(memory)}
	d.Owner = memory
	return lnd.Accept, nil
}

func (u *tally) Delivered(d *lnd.Delivery, err error) {
	if got := string(d.Owner.([]byte)); err != nil || got != "unchanged" {
		u.t.Errorf("got %q, %v", got, err)
	}
}

func (u *tally) Finalize(m *lnd.Message, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ends[m]++; u.ends[m] > 1 {
		u.t.Errorf("message %x finalized again", m.Header.Put().MatchBits)
	}
	u.last = err
	clear(m.Payload.Segments[0])
	u.ended.Add(1)
}

func (*tally) Abandon(*lnd.Delivery) bool    { return false }
func (*tally) Waits(*lnd.Message)            {}
func (*tally) PeerUp(nid.ProcessID)          {}
func (*tally) PeerDown(nid.ProcessID, error) {}
