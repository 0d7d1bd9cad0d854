package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// clientHarness is one client. The harness has a method for each message of the protocol that it
// delivers to the client.
type clientHarness struct {
	t    *testing.T
	c    *Client
	now  time.Duration
	wake time.Duration
	out  ClientOutput
	sent []wire.Message // the messages sent in the latest step; the field to has their receivers
	to   []nid.NID
	told string
}

func newClientHarness(t *testing.T, servers ...nid.NID) *clientHarness {
	t.Helper()
	c, err := NewClient(ClientConfig{ID: testClient, Incarnation: 5, Name: "host", Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	h := &clientHarness{t: t, c: c, now: time.Hour}
	h.step(ClientInput{Kind: ClientStart})
	return h
}

func (h *clientHarness) step(in ClientInput) {
	h.t.Helper()
	h.out.Reset()
	h.wake = h.c.Step(h.now, in, &h.out)
	if h.wake <= h.now {
		h.t.Fatalf("wake %v at %v", h.wake, h.now)
	}
	h.sent, h.to = nil, nil
	var told []string
	for i := range h.out.Effects {
		e := &h.out.Effects[i]
		switch e.Kind {
		case SendTo:
			m, err := wire.ParseMessage(slices.Clone(h.out.Data(e)))
			if err != nil {
				h.t.Fatal(err)
			}
			h.sent, h.to = append(h.sent, m), append(h.to, e.To.NID)
		case Tell:
			s := e.Event.Kind.String()
			if e.Event.Code != wire.OK {
				s += ":" + e.Event.Code.String()
			}
			told = append(told, s)
		}
	}
	h.told = strings.Join(told, " ")
}

// answer delivers m to the client as the answer to the message with index k of the latest step.
func (h *clientHarness) answer(k int, m wire.Message) {
	h.t.Helper()
	q := h.sent[k]
	m.Sequence, m.Epoch = q.Sequence, q.Epoch
	if m.Incarnation == 0 {
		m.Incarnation = q.Incarnation
	}
	h.from(h.to[k], m)
}

func (h *clientHarness) from(id nid.NID, m wire.Message) {
	h.t.Helper()
	m.Client = testClient
	if m.Incarnation == 0 {
		m.Incarnation = h.c.incarnation
	}
	h.step(ClientInput{Kind: ClientArrived, From: nid.ProcessID{NID: id, PID: nid.LustrePID}, Data: m.AppendTo(nil)})
}

// settled makes the client find a master and attach to all other servers. It returns the
// master.
func (h *clientHarness) settled() nid.NID {
	h.t.Helper()
	h.answer(0, wire.Message{Kind: wire.Accept, ServerIncarnation: 7})
	if h.told != "attached master-chosen" {
		h.t.Fatalf("told %q", h.told)
	}
	for _, id := range h.c.cfg.Servers {
		if id != h.c.master {
			h.step(ClientInput{Kind: Attach, Server: id})
			if m := h.sent[0]; m.Kind != wire.Connect || m.Server != h.c.master || h.to[0] != id {
				h.t.Fatalf("sent %+v", m)
			}
			h.answer(0, wire.Message{Kind: wire.Accept})
		}
	}
	return h.c.master
}

// other returns a server that is not the master.
func (h *clientHarness) other() nid.NID {
	if h.c.master == me {
		return otherA
	}
	return me
}

func (h *clientHarness) want(told string, kinds ...wire.Kind) {
	h.t.Helper()
	var got []wire.Kind
	for _, m := range h.sent {
		got = append(got, m.Kind)
	}
	if h.told != told || !slices.Equal(got, kinds) {
		h.t.Fatalf("told %q and sent %v, want %q and %v", h.told, got, told, kinds)
	}
}

// TestClientAttach: CH-58, CH-60: a client connects to other servers only after it has a
// master. If one of them reports the master as dead the client chooses another.
func TestClientAttach(t *testing.T) {
	spec.Covers(t, "CH-51", "CH-58", "CH-60")
	h := newClientHarness(t, me, otherA, otherB)
	h.step(ClientInput{Kind: Attach, Server: me})
	h.want("refused:not-connected")
	h = newClientHarness(t, me, otherA)
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.step(ClientInput{Kind: Attach, Server: gone})
	h.want("refused:unknown-server")
	h.now += 2 * time.Second
	master, other := h.c.master, h.other()
	h.step(ClientInput{Kind: Attach, Server: other})
	h.want("", wire.Connect)
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.MasterDead})
	h.want("refused:master-dead master-lost:master-dead", wire.Connect)
	if h.to[0] != other || h.sent[0].Server != other || h.sent[0].Epoch != 2 {
		t.Errorf("chooses %v: %+v", h.to[0], h.sent[0])
	}
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.want("attached master-chosen", wire.Choose)
	if h.to[0] != master || h.sent[0].Server != other { // the old master is told its successor (CH-51)
		t.Errorf("tells %v: %+v", h.to[0], h.sent[0])
	}
}

// TestClientMasterRestarted: CH-A19: if the master was restarted the client chooses it again,
// or another one, with the next epoch.
func TestClientMasterRestarted(t *testing.T) {
	spec.Covers(t, "CH-A19")
	h := newClientHarness(t, me, otherA, otherB)
	master := h.settled()
	h.now += 2 * time.Second
	h.from(master, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
	h.want("")
	h.from(master, wire.Message{Kind: wire.Pong, ServerIncarnation: 8})
	h.want("master-lost:orphaned", wire.Choose)
	if h.to[0] != master || h.sent[0].Epoch != 2 {
		t.Errorf("asks %v with %+v", h.to[0], h.sent[0])
	}
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 8})
	h.want("master-chosen", wire.Choose, wire.Choose)
}

// TestClientNotices: CH-61, CH-68, CH-A13, CH-A19: the effect of each kind of notice.
func TestClientNotices(t *testing.T) {
	spec.Covers(t, "CH-61", "CH-68", "CH-A13", "CH-A19")
	start := func() *clientHarness {
		h := newClientHarness(t, me, otherA, otherB)
		h.settled()
		h.now += 2 * time.Second
		return h
	}
	h := start()
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Global})
	h.want("evicted:global")
	if st := h.c.Status(); len(st.Attached) != 0 || st.Incarnation != 6 || st.State != "electing" {
		t.Errorf("CH-61: %+v", st)
	}
	h = start()
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Global, Incarnation: 4}) // the notice is about an earlier incarnation of the client
	h.want("")
	h.from(gone, wire.Message{Kind: wire.Notice, Code: wire.Global}) // the notice comes from a server that the client is not connected to
	h.want("")
	if n := h.c.Stats().Stray; n != 2 {
		t.Errorf("%d stray messages", n)
	}
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
	h.want("dropped:no-quorum")
	if st := h.c.Status(); len(st.Attached) != 2 || st.Incarnation != 5 || st.State != "settled" {
		t.Errorf("%+v", st)
	}
	h = start()
	master := h.c.master
	h.from(master, wire.Message{Kind: wire.Notice, Code: wire.NoQuorum})
	h.want("dropped:no-quorum master-lost:no-quorum", wire.Choose)
	if h.to[0] == master {
		t.Error("asks the master that is cut off")
	}
	h = start()
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Orphaned, Server: h.c.master, Epoch: 1})
	h.want("master-lost:orphaned", wire.Choose)
	h = start()
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Orphaned, Server: gone}) // that server does not know the client's new master yet
	h.want("", wire.Choose)
	h = start()
	h.step(ClientInput{Kind: Detach, Server: h.other()})
	h.want("dropped", wire.Disconnect)
	h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Orphaned, Server: gone}) // a late notice about the former master
	h.want("", wire.Disconnect)
	h = start()
	h.from(h.c.master, wire.Message{Kind: wire.Notice, Code: wire.Draining})
	h.want("master-lost:draining", wire.Choose)
	h.from(h.to[0], wire.Message{Kind: wire.Notice, Code: 3})
	h.step(ClientInput{Kind: ClientLeave})
	h.want("", wire.Disconnect, wire.Disconnect, wire.Disconnect)
	for i, id := range h.to {
		h.from(id, wire.Message{Kind: wire.Reject, Code: wire.NotConnected, Sequence: h.c.farewells[0].sequence})
		if n := len(h.c.farewells); n != 2-i {
			t.Fatalf("%d farewells after %d answers", n, i+1)
		}
	}
	if h.wake != machine.Never {
		t.Error("a client that has left waits for something")
	}
}

// TestClientLaterIncarnation: a client whose incarnation number is too low takes a higher one. A
// client stops if it was started again on another node.
func TestClientLaterIncarnation(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Stale, Incarnation: 9})
	h.want("")
	h.now = h.wake
	h.step(ClientInput{})
	if h.sent[0].Incarnation != 10 {
		t.Errorf("connects as %d", h.sent[0].Incarnation)
	}
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Global, Incarnation: 20})
	if h.want("", wire.Connect); h.sent[0].Incarnation != 21 {
		t.Errorf("connects as %d", h.sent[0].Incarnation)
	}
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.from(h.c.master, wire.Message{Kind: wire.Pong, Code: wire.Stale})
	h.want("superseded:stale")
	if h.wake-h.now < againAfter/2 {
		t.Errorf("it goes on after %v", h.wake-h.now)
	}
}

// TestClientLateOrphaned: CH-68: a notice about an earlier choice that arrives long after the
// connections were made has no effect. A notice about a later incarnation of the master counts.
func TestClientLateOrphaned(t *testing.T) {
	spec.Covers(t, "CH-68")
	h := newClientHarness(t, me, otherA)
	master, other := h.settled(), h.other()
	h.c.epoch++ // as if the client had changed its master and gone back
	late := wire.Message{Kind: wire.Notice, Code: wire.Orphaned, Server: master, Epoch: h.c.epoch - 1}
	for h.now = h.wake; h.now < time.Hour+2*h.c.cfg.Orphan; h.now = h.wake {
		h.step(ClientInput{})
		h.from(master, wire.Message{Kind: wire.Pong, ServerIncarnation: 7})
	}
	late.ServerIncarnation = 7
	h.from(master, late)
	h.want("")
	h.from(other, late)
	h.want("", wire.Choose)
	h.answer(0, wire.Message{Kind: wire.Chosen, ServerIncarnation: 3})
	h.want("")
	late.ServerIncarnation = 8
	h.from(master, late)
	if !strings.HasPrefix(h.told, "master-lost:orphaned") || len(h.c.Status().Attached) != 2 {
		t.Errorf("told %q, %+v", h.told, h.c.Status())
	}
}

// TestClientLateRefusal: a server refuses the connect of an earlier incarnation because the
// present one is connected. The refusal has the code Stale, the present incarnation's number,
// and perhaps a sequence number that the client uses now. The client does not take it as a
// report of a later incarnation.
func TestClientLateRefusal(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	h.settled()
	h.step(ClientInput{Kind: Doubt, Server: h.other()})
	h.want("", wire.Choose)
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Stale, Incarnation: 5})
	h.want("")
	if st := h.c.Status(); st.State != "settled" || st.Incarnation != 5 {
		t.Errorf("%+v", st)
	}
}

// TestClientServers: a list of no servers changes nothing.
func TestClientServers(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	h.step(ClientInput{Kind: ClientServers})
	for range 10 {
		h.now = h.wake
		h.step(ClientInput{})
	}
	if h.c.phase != electing || h.c.stats.Sent < 3 {
		t.Errorf("%v, %d sent", h.c.phase, h.c.stats.Sent)
	}
}

// TestClientPings: CH-9, CH-16, CH-49, CH-56: a client sends at least one message per interval,
// and one more when the answer is lost. After T_client without an answer it chooses another
// master.
func TestClientPings(t *testing.T) {
	spec.Covers(t, "CH-9", "CH-16", "CH-49", "CH-56")
	h := newClientHarness(t, me, otherA)
	master, began := h.settled(), h.now
	var pings []time.Duration
	for steps := 0; h.c.phase == settled; steps++ {
		if steps > 20 {
			t.Fatalf("settled at %v, with pings %v", h.now-began, pings)
		}
		h.now = h.wake
		h.step(ClientInput{})
		if len(h.sent) > 0 && h.sent[0].Kind == wire.Ping {
			pings = append(pings, h.now-began)
		}
	}
	if len(pings) != 2 || pings[0] > 5100*time.Millisecond || pings[1]-pings[0] != 1250*time.Millisecond {
		t.Errorf("pings %v", pings)
	}
	h.want("master-lost:not-connected", wire.Choose)
	if h.now-began != 7500*time.Millisecond || h.to[0] == master {
		t.Errorf("after %v asks %v", h.now-began, h.to[0])
	}
}

// TestClientConfig: invalid configurations are refused.
func TestClientConfig(t *testing.T) {
	good := ClientConfig{ID: testClient, Incarnation: 1, Servers: []nid.NID{me}}
	for _, tt := range []struct {
		change func(*ClientConfig)
		want   error
	}{
		{func(c *ClientConfig) { c.ID = wire.ClientID{} }, wire.ErrClientID},
		{func(c *ClientConfig) { c.Name = strings.Repeat("x", wire.MaxName+1) }, wire.ErrName},
		{func(c *ClientConfig) { c.Name = "\n" }, wire.ErrName},
		{func(c *ClientConfig) { c.Servers = nil }, nil},
		{func(c *ClientConfig) { c.Evict = time.Second }, nil},
	} {
		c := good
		tt.change(&c)
		if _, err := NewClient(c); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
