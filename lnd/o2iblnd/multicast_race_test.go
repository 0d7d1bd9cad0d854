package o2iblnd

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
)

// TestMulticastAllAtOnce: many goroutines send while groups are joined and left, until the NIs
// end. Each datagram ends once, and nothing of the device stays in use.
func TestMulticastAllAtOnce(t *testing.T) {
	const nodes, senders, each = 3, 4, 150
	base, addrs := randomBase(), loopbackAddrs(nodes)
	var nis [nodes]*NI
	var ups [nodes]*tally
	var others [nodes]verbs.Device // devices that stay open while the NIs come and go
	for i, addr := range addrs {
		var err error
		if others[i], err = softroce.Open(verbs.OpenConfig{Addr: addr, Clock: machine.RealClock()}); err != nil {
			t.Fatal(err)
		}
		defer others[i].Close()
		ups[i] = &tally{more: make(chan struct{}, 1)}
		nis[i] = start(t, addr, softroce.Open, Config{MulticastBase: base}, ups[i])
		if err := nis[i].Join(5); err != nil {
			t.Fatal(err)
		}
	}
	var sending, churning sync.WaitGroup
	over := make(chan struct{})
	for i, ni := range nis {
		for range senders {
			sending.Go(func() {
				for n := range uint64(each) {
					ni.Multicast(castMessage(ni, n, make([]byte, n)))
				}
			})
		}
		churning.Go(func() {
			for g := lnd.Group(10); ; g = 10 + (g+1)%4 {
				if err := ni.Join(g); err != nil && !errors.Is(err, syscall.ESHUTDOWN) && !errors.Is(err, verbs.ErrClosed) {
					t.Errorf("node %d joins: %v", i, err)
				}
				if err := ni.Leave(g); err != nil {
					t.Errorf("node %d leaves: %v", i, err)
				}
				select {
				case <-over:
					return
				default:
					_ = ni.Snapshot()
				}
			}
		})
	}
	ups[0].await(t, "some traffic", func() bool { return len(ups[0].bits) > each })
	for _, ni := range nis {
		if err := ni.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	sending.Wait()
	close(over)
	churning.Wait()
	for i, up := range ups {
		up.mu.Lock()
		for _, err := range up.errs {
			if err != nil && !errors.Is(err, syscall.ESHUTDOWN) {
				t.Errorf("node %d: a datagram ended with %v", i, err)
			}
		}
		if len(up.errs) != senders*each {
			t.Errorf("node %d: %d of %d datagrams have ended", i, len(up.errs), senders*each)
		}
		up.mu.Unlock()
		stats := others[i].(interface{ Stats() softroce.Stats }).Stats
		for begin := time.Now(); stats().Groups.Groups > 0 && time.Since(begin) < 60*time.Second; {
			runtime.Gosched()
		}
		if s := stats(); s.QueuePairs != 0 || s.Groups.Groups != 0 || s.Regions != 0 {
			t.Errorf("node %d: in use are %d queue pairs, %d groups, %d regions", i, s.QueuePairs, s.Groups.Groups, s.Regions)
		}
	}
}
