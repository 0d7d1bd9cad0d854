package softroce

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestRequests: a request can be answered once, and one that cannot be accepted is refused.
func TestRequests(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	server := openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.2"), Clock: v.clock})
	client := openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.1"), Clock: v.clock})
	var answer func(r verbs.Request)
	if _, err := server.device.Listen(987, func(r verbs.Request) { answer(r) }); err != nil {
		t.Fatal(err)
	}
	cancel := false
	for _, tt := range []struct {
		name   string
		answer func(r verbs.Request)
		want   verbs.Event
	}{
		{"no completion queue", func(r verbs.Request) {
			if _, err := r.Accept(verbs.ConnConfig{}, server.event); !errors.Is(err, errParts) {
				t.Error(err)
			}
		}, verbs.Event{Kind: verbs.Rejected, Reason: uint16(ibta.RejectNoResources)}},
		{"queue of another device", func(r verbs.Request) {
			if _, err := r.Accept(client.config(), server.event); !errors.Is(err, errParts) {
				t.Error(err)
			}
		}, verbs.Event{Kind: verbs.Rejected, Reason: uint16(ibta.RejectNoResources)}},
		{"too much private data", func(r verbs.Request) {
			cfg := server.config()
			cfg.Private = make([]byte, verbs.MaxAcceptPrivate+1)
			if _, err := r.Accept(cfg, server.event); !errors.Is(err, verbs.ErrTooLarge) {
				t.Error(err)
			}
		}, verbs.Event{Kind: verbs.Rejected, Reason: uint16(ibta.RejectNoResources)}},
		{"rejected twice", func(r verbs.Request) {
			if err := r.Reject(make([]byte, verbs.MaxRejectPrivate+1)); !errors.Is(err, verbs.ErrTooLarge) {
				t.Error(err)
			}
			if err := r.Reject(nil); err != nil {
				t.Error(err)
			}
			if err := r.Reject(nil); !errors.Is(err, verbs.ErrState) {
				t.Error(err)
			}
			if _, err := r.Accept(server.config(), server.event); !errors.Is(err, verbs.ErrState) {
				t.Error(err)
			}
		}, verbs.Event{Kind: verbs.Rejected, Reason: uint16(ibta.RejectConsumer)}},
		{"accepted when the peer has gone", func(r verbs.Request) {
			cancel = true
			v.clock.AfterFunc(time.Second, func() {
				if _, err := r.Accept(server.config(), server.event); !errors.Is(err, verbs.ErrClosed) {
					t.Error(err)
				}
			})
		}, verbs.Event{Kind: verbs.Disconnected}},
	} {
		answer = tt.answer
		c, err := client.device.Connect(addrPort(server.device), client.config(), client.event)
		if err != nil {
			t.Fatal(err)
		}
		v.clock.Run(v.clock.Now() + 100*time.Millisecond)
		if cancel {
			c.Disconnect()
		}
		v.clock.Run(v.clock.Now() + 2*time.Second)
		if e := take(t, client.events); e.Kind != tt.want.Kind || e.Reason != tt.want.Reason {
			t.Errorf("%s: %+v", tt.name, e)
		}
		if len(server.events) > 0 {
			t.Errorf("%s: the server gets %+v", tt.name, <-server.events)
		}
		for _, n := range []*testNode{server, client} {
			if s := n.device.(*device).hub.stats(); s.QueuePairs != 0 {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
	}
}

// TestZone: a peer's address may be given with its zone, which packets do not have.
func TestZone(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	var nodes [2]*testNode
	for i, a := range []string{"fe80::1", "fe80::2"} {
		nodes[i] = openNode(t, v.open, verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock})
	}
	nodes[1].listen()
	if _, err := nodes[0].device.Connect(netip.MustParseAddrPort("[fe80::2%eth0]:987"), nodes[0].config(), nodes[0].event); err != nil {
		t.Fatal(err)
	}
	v.clock.Run(time.Second)
	for _, n := range nodes {
		if e := take(t, n.events); e.Kind != verbs.Established {
			t.Errorf("%+v", e)
		}
	}
}
