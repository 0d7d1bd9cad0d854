package o2iblnd

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
)

// randomLNet is the lnet of one NI: it takes, holds, drops and refuses messages at random,
// answers GETs from any goroutine, and checks every promise of the driver.
type randomLNet struct {
	t  *testing.T
	ni *NI // set before the first message arrives

	mu         sync.Mutex
	random     *rand.Rand
	deliveries map[*lnd.Delivery]string  // state of each delivery: "parsed", "held" or "wanted"
	out        map[*lnd.Message]struct{} // messages sent and not finalized
	up         map[nid.ProcessID]bool
	finished   int
	tasks      sync.WaitGroup
}

func (w *randomLNet) Parse(d *lnd.Delivery) (lnd.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, known := w.deliveries[d]; known {
		w.t.Errorf("%v is parsed again while %s", d.Header.Type, was)
	}
	d.Sink, d.Dropped = lnd.Payload{}, false
	n := int(d.Header.PayloadLength)
	switch w.random.IntN(12) {
	case 0:
		d.Dropped = true
		w.deliveries[d] = "parsed"
		return lnd.Accept, nil
	case 1:
		n /= 2
	case 2:
		if w.random.IntN(20) == 0 {
			return lnd.Accept, fmt.Errorf("at random")
		}
	case 3, 4, 5:
		d.Sink = lnd.Payload{Segments: [][]byte{make([]byte, n)}, Length: n}
		w.deliveries[d] = "held"
		w.tasks.Go(func() { w.want(d) })
		return lnd.Hold, nil
	}
	d.Sink = lnd.Payload{Segments: [][]byte{make([]byte, n)}, Length: n}
	w.deliveries[d] = "parsed"
	return lnd.Accept, nil
}

// want calls Recv for a message that was held, unless it was abandoned.
func (w *randomLNet) want(d *lnd.Delivery) {
	w.mu.Lock()
	held := w.deliveries[d] == "held"
	if held {
		w.deliveries[d] = "wanted"
	}
	w.mu.Unlock()
	if held {
		w.ni.Recv(d)
	}
}

func (w *randomLNet) Abandon(d *lnd.Delivery) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deliveries[d] == "held" {
		delete(w.deliveries, d)
		return true
	}
	return false
}

func (w *randomLNet) Delivered(d *lnd.Delivery, err error) {
	w.mu.Lock()
	if was := w.deliveries[d]; was != "parsed" && was != "wanted" {
		w.t.Errorf("%v is delivered while %q", d.Header.Type, was)
	}
	delete(w.deliveries, d)
	if err == nil && d.Sink.Length > 0 && !bytes.Equal(d.Sink.AppendTo(nil), noise[:d.Sink.Length]) {
		w.t.Errorf("%d bytes of a %v of %d have changed", d.Sink.Length, d.Header.Type, d.Header.PayloadLength)
	}
	answers := err == nil && d.Header.Type == lnetwire.Get && !d.Dropped
	header := d.Header
	later := w.random.IntN(2) == 0
	w.mu.Unlock()
	if !answers {
		return
	}
	get := header.Get()
	m := newMessage(w.ni, header.SrcNID, int(get.SinkLength))
	m.Header.SetReply(lnetwire.ReplyCmd{DstMD: get.ReturnMD})
	if later {
		w.tasks.Go(func() { w.send(m) })
	} else {
		w.send(m)
	}
}

func (w *randomLNet) send(m *lnd.Message) {
	w.mu.Lock()
	w.out[m] = struct{}{}
	w.mu.Unlock()
	w.ni.Send(m)
}

func (w *randomLNet) Finalize(m *lnd.Message, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, out := w.out[m]; !out {
		w.t.Errorf("%v is finalized again", m.Header.Type)
	}
	delete(w.out, m)
	clear(m.Sink.Segments) // after Finalize the driver may not use the list of segments
	m.Payload = lnd.Payload{}
	w.finished++
}

func (w *randomLNet) Waits(*lnd.Message)     {}
func (w *randomLNet) PeerUp(p nid.ProcessID) { w.peer(p, true) }

func (w *randomLNet) PeerDown(p nid.ProcessID, err error) {
	w.peer(p, false)
	if err == nil {
		w.t.Errorf("%v is down without a cause", p)
	}
}

func (w *randomLNet) peer(p nid.ProcessID, up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if up && w.up[p] {
		w.t.Errorf("%v is up again", p)
	}
	w.up[p] = up
}

// TestRandomLNet: NIs start and end while their lnets hold, drop and refuse messages at
// random. The driver keeps every promise of the contract, and nothing is left over.
func TestRandomLNet(t *testing.T) {
	at := loopbackAddrs(3)
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		var all [3]*randomLNet
		var devs []verbs.Device
		for i := range all {
			dev, err := softroce.Open(verbs.OpenConfig{Addr: at[i], Clock: realClock})
			if err != nil {
				t.Fatal(err)
			}
			devs = append(devs, dev)
			all[i] = &randomLNet{
				t: t, random: rand.New(rand.NewPCG(uint64(round), uint64(i))), deliveries: map[*lnd.Delivery]string{},
				out: map[*lnd.Message]struct{}{}, up: map[nid.ProcessID]bool{},
			}
			all[i].ni = start(t, at[i], softroce.Open, Config{ConnsPerPeer: 1 + round%3}, all[i], func(c *lnd.Config) { c.Incarnation = uint64(round + 1) })
		}
		var wg sync.WaitGroup
		for i, w := range all {
			r := rand.New(rand.NewPCG(uint64(round), uint64(10+i)))
			wg.Go(func() {
				for k := range 150 {
					to, n := all[(i+1+k%2)%3].ni.nid, r.IntN(1<<r.IntN(18))
					m := newMessage(w.ni, to, n)
					if r.IntN(2) == 0 {
						m = newGet(w.ni, to, make([]byte, n))
					}
					m.Priority = r.IntN(8) == 0
					w.send(m)
					if k%50 == 0 {
						w.ni.Snapshot()
						w.ni.scan()
					}
				}
			})
		}
		if round%2 == 1 {
			shut(all[0].ni)
		}
		wg.Wait()
		for i := range all {
			w := all[i]
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = w.ni.Shutdown(ctx)
			cancel()
			w.tasks.Wait()
			w.mu.Lock()
			if len(w.out)+len(w.deliveries) > 0 {
				t.Errorf("round %d, NI %d: %d messages and %d deliveries are left", round, i, len(w.out), len(w.deliveries))
			}
			for p, up := range w.up {
				if up {
					t.Errorf("round %d, NI %d: %v is still up", round, i, p)
				}
			}
			w.mu.Unlock()
		}
		for _, dev := range devs {
			if s := dev.(interface{ Stats() softroce.Stats }).Stats(); s.Regions != 0 || s.QueuePairs != 0 {
				t.Errorf("%d regions and %d queue pairs left", s.Regions, s.QueuePairs)
			}
			_ = dev.Close()
		}
	}
}
