package o2iblnd

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/verbs/softroce"
)

// street is two hosts with a cable between them, whose NIs have joined group 5.
type street struct {
	cable *netlab.Cable
	hosts [2]*netlab.Host
	ends  [2]*NI
	ups   [2]*tally
}

// tally plays lnet for one NI: it keeps what has arrived, and the errors with which messages were
// finalized.
type tally struct {
	lnd.Upcalls
	mu   sync.Mutex
	bits []uint64 // match bits of messages that have arrived
	errs []error  // errors with which messages were finalized
	more chan struct{}
}

func (*tally) Parse(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }

func (c *tally) Delivered(d *lnd.Delivery, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bits = append(c.bits, d.Header.Put().MatchBits)
	c.tell()
}

func (c *tally) Finalize(_ *lnd.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
	c.tell()
}

func (c *tally) tell() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// await waits until the counts fulfil a condition.
func (c *tally) await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for late := time.After(60 * time.Second); ; {
		c.mu.Lock()
		done := cond()
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.more:
		case <-late:
			t.Fatalf("%s: did not happen; %d have arrived, %d have ended", what, len(c.bits), len(c.errs))
		}
	}
}

func newStreet(t *testing.T) *street {
	t.Helper()
	lab := netlab.New(t)
	s := &street{hosts: [2]*netlab.Host{lab.Host("a"), lab.Host("b")}}
	addrs := [2]netip.Prefix{netip.MustParsePrefix("10.8.0.1/24"), netip.MustParsePrefix("10.8.0.2/24")}
	s.cable = lab.Cable(s.hosts[0], addrs[0].String(), s.hosts[1], addrs[1].String())
	open := softroce.NewOpener(softroce.Options{}) // an opener of its own: other tests use these addresses, too
	for i := range s.ends {
		s.ups[i] = &tally{more: make(chan struct{}, 1)}
		if err := s.hosts[i].Do(func() error {
			s.ends[i] = start(t, addrs[i].Addr(), open, Config{}, s.ups[i])
			return s.ends[i].Join(5)
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.ends[i].Shutdown(t.Context()) })
	}
	return s
}

// TestMulticastRoom: datagrams for which the system has no room wait, and leave when there is
// room.
func TestMulticastRoom(t *testing.T) {
	const n, size = 1500, 900 // all datagrams fit the receive buffer, in case the receiver stalls
	s := newStreet(t)
	s.cable.SetRate(s.hosts[0], 10_000_000) // slower than the host sends, so that datagrams have to wait
	payload := make([]byte, size)
	for i := range uint64(n) {
		s.ends[0].Multicast(castMessage(s.ends[0], i, payload))
	}
	s.ups[0].await(t, "sending", func() bool { return len(s.ups[0].errs) == n })
	for i, err := range s.ups[0].errs {
		if err != nil {
			t.Fatalf("datagram %d: %v", i, err)
		}
	}
	s.ups[1].await(t, "arrival", func() bool { return len(s.ups[1].bits) == n })
	overtaken := 0 // number of datagrams that were overtaken by datagrams sent from another CPU
	for i, bits := range s.ups[1].bits[1:] {
		if bits < s.ups[1].bits[i] {
			overtaken++
		}
	}
	if overtaken > n/10 {
		t.Errorf("%d were overtaken", overtaken)
	}
	stats := s.ends[0].dev.(interface{ Stats() softroce.Stats }).Stats()
	if got := s.ends[1].Snapshot().Multicast; stats.Datagrams.Waited == 0 || got.RxMessages != n || got.RxBytes != n*size || got.Missed != 0 || len(got.Groups) != 1 {
		t.Errorf("the receiver says %+v, the sender %+v", got, stats.Datagrams)
	}
	if got := s.ends[0].Snapshot().Multicast; got.TxMessages != n || got.TxBytes != n*size {
		t.Errorf("the sender says %+v", got)
	}
}

// TestMulticastShorterPackets: datagrams are not fragmented. When the MTU becomes smaller a
// datagram that exceeds it ends with an error, and those that fit still leave.
func TestMulticastShorterPackets(t *testing.T) {
	s := newStreet(t)
	a, b := s.ups[0], s.ups[1]
	limit := s.ends[0].MulticastLimits().MaxPayload
	s.ends[0].Multicast(castMessage(s.ends[0], 1, make([]byte, limit)))
	b.await(t, "the first", func() bool { return len(b.bits) == 1 })
	s.cable.SetMTU(700)
	s.ends[0].Multicast(castMessage(s.ends[0], 2, make([]byte, limit)))
	s.ends[0].Multicast(castMessage(s.ends[0], 3, make([]byte, 500)))
	b.await(t, "the last", func() bool { return len(b.bits) == 2 })
	a.await(t, "the end of all", func() bool { return len(a.errs) == 3 })
	if !errors.Is(a.errs[1], syscall.EMSGSIZE) || errors.Join(a.errs[0], a.errs[2]) != nil || b.bits[1] != 3 {
		t.Errorf("ended with %v; arrived %v", a.errs, b.bits)
	}
	if got := s.ends[0].Snapshot().Counters; got.Of(DatagramTooLong) != 1 {
		t.Errorf("%d too long, want 1", got.Of(DatagramTooLong))
	}
}
