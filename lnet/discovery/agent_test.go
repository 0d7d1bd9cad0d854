package discovery_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

const (
	nidA = "10.0.0.1@tcp"
	nidB = "10.0.0.2@tcp"
)

// TestExchange (PD-5) checks which messages two nodes that do not know each other exchange when A
// has a message for B and B answers it.
func TestExchange(t *testing.T) {
	spec.Covers(t, "PD-5")
	for name, c := range map[string]struct {
		first int // index of the message of B that arrives first; 0: its push, 1: its ACK
		want  []string
	}{
		"push first": {0, []string{"10.0.0.1@tcp ACK", "10.0.0.1@tcp PUT 5 10", "10.0.0.1@tcp PUT 5 11"}},
		"ACK first":  {1, []string{"10.0.0.1@tcp PUT 5 10", "10.0.0.1@tcp PUT 5 11", "10.0.0.1@tcp ACK"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCable(t)
			a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB)
			a.put(nidB, 10)
			a.put(nidB, 11)
			w.want("1: A asks", "10.0.0.1@tcp GET 0 272")
			w.arrive(0)
			w.want("2: B answers", "10.0.0.2@tcp REPLY 48")
			w.arrive(0)
			w.want("3: A pushes", "10.0.0.1@tcp PUT 0 48")
			w.arrive(0)
			w.want("4: B pushes and acknowledges", "10.0.0.2@tcp PUT 0 48", "10.0.0.2@tcp ACK")
			b.put(nidA, 20)
			w.want("B's answer waits for A's ACK")
			w.arrive(c.first)
			w.arrive(0)
			w.want("5 and 6: A's messages, and its ACK", c.want...)
			w.settle()
			w.want("7: B's answer", "10.0.0.2@tcp PUT 5 20")
			if diff := cmp.Diff([]string{"10.0.0.1@tcp 10", "10.0.0.1@tcp 11"}, b.got); diff != "" {
				t.Errorf("B got (-want +got):\n%s", diff)
			}
			a.put(nidB, 12)
			b.put(nidA, 21)
			w.want("from now on", "10.0.0.1@tcp PUT 5 12", "10.0.0.2@tcp PUT 5 21")
			w.settle()
		})
	}
}

// TestOff (PD-6): the exchange with a node whose discovery is off ends after that node's REPLY. That node
// itself sends no ping.
func TestOff(t *testing.T) {
	spec.Covers(t, "PD-6")
	w := newCable(t)
	a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{Off: true}, nidB)
	a.put(nidB, 10)
	w.settle()
	w.want("to a node without discovery", "10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 48", "10.0.0.1@tcp PUT 5 10")
	b.put(nidA, 10)
	w.want("from a node without discovery", "10.0.0.2@tcp PUT 5 10")
	w.settle()
	if f := b.agent.Info().Features; f != 0x0E || b.agent.Discovery() {
		t.Errorf("features %#x, want 0x0E", uint32(f))
	}
	if f := a.agent.Info().Features; f != 0x1E || !a.agent.Discovery() {
		t.Errorf("features %#x, want 0x1E", uint32(f))
	}
}

// TestToggle: when discovery is turned off the peers are told, and waiting messages leave.
func TestToggle(t *testing.T) {
	w := newCable(t)
	a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB)
	a.put(nidB, 10)
	w.settle()
	w.log = nil
	a.agent.SetDiscovery(false)
	w.settle()
	w.want("off", "10.0.0.1@tcp PUT 0 48", "10.0.0.2@tcp ACK")
	if p := b.table.Node().Peer(nid.MustParse(nidA)); p.Primary.IsValid() {
		t.Errorf("B still believes %+v", p)
	}
	a.put("10.0.0.9@tcp", 10)
	w.want("to a stranger", "10.0.0.1@tcp PUT 5 10")
	a.agent.SetDiscovery(true)
	a.put("10.0.0.9@tcp", 10)
	w.want("on again, B and the stranger", "10.0.0.1@tcp GET 0 272", "10.0.0.1@tcp GET 0 272")
}

// TestMultiRail: a node is known by those of its NIDs that can be pinged: by the first one, and
// by each other NID once that NID has been pinged. When the NIs of the node change, the NIDs by
// which it is known change, too.
func TestMultiRail(t *testing.T) {
	w := newCable(t)
	a := w.node(discovery.Config{}, nidA, "10.1.0.1@tcp1")
	b := w.node(discovery.Config{}, "10.7.0.2@tcp7", nidB)
	a.put(nidB, 10)
	w.settle()
	w.want("first message", "10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 64", "10.0.0.1@tcp PUT 0 64",
		"10.0.0.2@tcp PUT 0 64", "10.0.0.2@tcp ACK", "10.0.0.1@tcp ACK", "10.0.0.1@tcp PUT 5 10")
	a.put("10.7.0.2@tcp7", 11)
	if len(a.sent) != 2 || !errors.Is(a.sent[1], syscall.EHOSTUNREACH) {
		t.Errorf("to a NID that B claims and nobody can ask: %v", a.sent)
	}
	b.put(nidA, 10)
	w.settle()
	if diff := cmp.Diff([]string{"10.0.0.2@tcp 10"}, a.got); diff != "" {
		t.Errorf("initiators (-want +got):\n%s", diff)
	}
	w.log = nil
	ni := b.add("10.1.0.2@tcp1")
	w.settle()
	w.want("B gets an NI, and both ask the other's", "10.0.0.2@tcp PUT 0 80", "10.1.0.2@tcp1 GET 0 272", "10.1.0.1@tcp1 GET 0 272",
		"10.0.0.1@tcp ACK", "10.1.0.1@tcp1 REPLY 64", "10.1.0.2@tcp1 REPLY 80")
	if p := a.table.Node().Peer(nid.MustParse("10.1.0.2@tcp1")); p.Primary.String() != nidB || len(p.NIs) != 2 || len(p.Claimed) != 1 {
		t.Errorf("A knows %+v", p)
	}
	a.put("10.1.0.2@tcp1", 12)
	a.put("10.1.0.2@tcp1", 13)
	w.settle()
	w.want("in turn", "10.0.0.1@tcp PUT 5 12", "10.1.0.1@tcp1 PUT 5 13")
	if err := b.table.Node().RemoveNI(t.Context(), ni); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want("B loses it", "10.0.0.2@tcp PUT 0 64", "10.0.0.1@tcp ACK")
	if p := a.table.Node().Peer(nid.MustParse("10.1.0.2@tcp1")); p.Primary.IsValid() {
		t.Errorf("A still knows %+v", p)
	}
}

// TestUnreachable (PD-18): messages to a peer that cannot be pinged fail with the error of
// the ping, and the next message leads to another ping.
func TestUnreachable(t *testing.T) {
	spec.Covers(t, "PD-18")
	w := newCable(t)
	a := w.node(discovery.Config{}, nidA)
	w.refuse = func(*lnd.Message) error { return syscall.ECONNREFUSED }
	a.put(nidB, 1)
	a.put(nidB, 2)
	if len(a.sent) != 2 || !errors.Is(a.sent[0], syscall.ECONNREFUSED) || !errors.Is(a.sent[1], syscall.ECONNREFUSED) {
		t.Errorf("messages ended with %v", a.sent)
	}
	w.refuse = nil
	a.put(nidB, 3)
	w.want("next time", "10.0.0.1@tcp GET 0 272")
}

// TestSilent: messages to a peer that never answers fail after the timeout of discovery.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCable(t)
		cfg := discovery.Config{Limits: discovery.Limits{Timeout: time.Minute}}
		a := w.node(cfg, nidA)
		a.put(nidB, 1)
		<-time.After(time.Minute)
		synctest.Wait()
		if len(a.sent) != 1 || !errors.Is(a.sent[0], syscall.ETIMEDOUT) {
			t.Errorf("message ended with %v", a.sent)
		}
	})
}

// TestParkedLeft: messages that wait for discovery end when they are aborted,
// and when the node goes down.
func TestParkedLeft(t *testing.T) {
	w := newCable(t)
	a, _ := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB)
	aborted := a.put(nidB, 1)
	a.put(nidB, 2)
	if err := a.table.MDUnlink(aborted); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if len(a.sent) != 2 || !errors.Is(a.sent[0], syscall.ECANCELED) || a.sent[1] != nil {
		t.Errorf("messages ended with %v, want one cancelled", a.sent)
	}
	a.put("10.0.0.9@tcp", 3)
	_ = a.agent.Close(t.Context())
	if len(a.sent) != 3 || !errors.Is(a.sent[2], syscall.ESHUTDOWN) {
		t.Errorf("messages ended with %v, want ESHUTDOWN at last", a.sent)
	}
	a.agent.SetDiscovery(true) // discovery is on already, so this has no effect
	a.put("10.0.0.9@tcp", 4)
	if len(a.sent) != 4 || a.sent[3] != nil {
		t.Errorf("messages ended with %v, want the last one sent", a.sent)
	}
	if _, err := a.agent.Discover(t.Context(), nid.MustParse("10.0.0.9@tcp"), false); !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("Discover after Close: %v", err)
	}
}

// TestLargePush (PD-10): a push that is larger than the buffer is cut off, and the receiver
// pings for the whole info; the next push fits.
func TestLargePush(t *testing.T) {
	spec.Covers(t, "PD-10")
	w := newCable(t)
	a := w.node(discovery.Config{}, nidA)
	b := w.node(discovery.Config{}, nidB)
	var last *lnet.NI
	for i := range 16 {
		last = b.add(fmt.Sprintf("10.8.0.2@tcp%d", i+1))
	}
	a.put(nidB, 10)
	w.settle()
	w.want("first contact", "10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 272", "10.0.0.1@tcp GET 0 304", "10.0.0.2@tcp REPLY 304",
		"10.0.0.1@tcp PUT 0 48", "10.0.0.2@tcp PUT 0 304", "10.0.0.2@tcp ACK", "10.0.0.1@tcp ACK",
		"10.0.0.1@tcp GET 0 304", "10.0.0.2@tcp REPLY 304", "10.0.0.1@tcp PUT 5 10")
	if err := b.table.Node().RemoveNI(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want("another push", "10.0.0.2@tcp PUT 0 288", "10.0.0.1@tcp ACK")
	if p := a.table.Node().Peer(nid.MustParse(nidB)); len(p.NIs) != 1 || len(p.Claimed) != 15 {
		t.Errorf("A knows %d NIs and %d more are claimed, want 1 and 15", len(p.NIs), len(p.Claimed))
	}
}

// TestBadPushes (PD-7): whatever a push contains, it is acknowledged; one that cannot be
// parsed makes its receiver ping.
func TestBadPushes(t *testing.T) {
	spec.Covers(t, "PD-7")
	for name, at := range map[string]struct {
		offset int
		value  uint32
	}{
		"magic":        {0, 1},
		"NI_STATUS":    {4, 0},
		"no NI":        {12, 0},
		"too many NIs": {12, 5000},
		"no lo":        {16, 7},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCable(t)
			a, b := w.node(discovery.Config{}, nidA), w.node(discovery.Config{}, nidB)
			a.put(nidB, 1)
			w.arrive(0)
			w.arrive(0)
			w.log = nil
			w.spoil = func(h wire.Header, payload []byte) {
				if h.Type == wire.Put {
					binary.LittleEndian.PutUint32(payload[at.offset:], at.value)
				}
			}
			w.arrive(0)
			w.want("B asks and acknowledges", "10.0.0.2@tcp GET 0 272", "10.0.0.2@tcp ACK")
			w.spoil = nil
			w.settle()
			if s := b.agent.Stats(); s.BadPushes != 1 || len(b.got) != 1 {
				t.Errorf("counters %+v, messages %v", s, b.got)
			}
		})
	}
}

// TestDiscover: Discover returns what is known of a node after its discovery. The test checks which messages
// that takes, for another node, for a NID without a node, and for a NID of this node.
func TestDiscover(t *testing.T) {
	for name, c := range map[string]struct {
		before bool // a message went to the node before discovery
		force  bool
		id     string
		passes []string
		err    error
	}{
		"stranger": {id: nidB, passes: []string{
			"10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 64", "10.0.0.1@tcp PUT 0 48",
			"10.0.0.2@tcp PUT 0 64", "10.0.0.2@tcp ACK", "10.0.0.1@tcp ACK",
		}},
		"known": {before: true, id: nidB, passes: []string{"10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 64"}},
		"known, forced": {before: true, force: true, id: nidB, passes: []string{
			"10.0.0.1@tcp GET 0 272", "10.0.0.2@tcp REPLY 64", "10.0.0.1@tcp PUT 0 48", "10.0.0.2@tcp ACK",
		}},
		"nobody":      {id: "10.0.0.9@tcp", passes: []string{"10.0.0.1@tcp GET 0 272", "10.0.0.1@tcp GET 0 272", "10.0.0.1@tcp GET 0 272"}, err: syscall.ETIMEDOUT},
		"unreachable": {id: "10.0.0.9@tcp9", passes: []string{}, err: syscall.EHOSTUNREACH},
		"itself":      {id: nidA, passes: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newCable(t)
				// A ping fails after this time. Before, the agent repeats it twice.
				short := discovery.Config{Limits: discovery.Limits{Timeout: 2 * time.Second}}
				a, _ := w.node(short, nidA), w.node(discovery.Config{}, nidB, "10.1.0.2@tcp1")
				if c.before {
					a.put(nidB, 1)
					w.settle()
					w.log = nil
				}
				var peer lnet.Peer
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					peer, err = a.agent.Discover(t.Context(), nid.MustParse(c.id), c.force)
				}()
				synctest.Wait()
				w.settle()
				<-done
				w.want("to discover", c.passes...)
				if !errors.Is(err, c.err) || err == nil && peer.Primary.String() != c.id {
					t.Errorf("%+v, %v; want error %v", peer, err, c.err)
				}
			})
		})
	}
}

// TestDiscoverCancelled: Discover returns when its context is canceled, before the discovery
// has ended.
func TestDiscoverCancelled(t *testing.T) {
	w := newCable(t)
	a := w.node(discovery.Config{}, nidA)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("test: enough")
	cancel(cause)
	if _, err := a.agent.Discover(ctx, nid.MustParse(nidB), false); !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
}
