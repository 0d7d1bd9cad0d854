package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// balanced returns a server that balances load and has the given number of clients.
func balanced(t *testing.T, clients int) *harness {
	t.Helper()
	h := newHarness(t, func(c *ServerConfig) { c.Uneven = false })
	for i := range clients {
		h.message(crowdHost(i), wire.Message{Kind: wire.Connect, Client: crowdID(i), Incarnation: 1, Server: me, Epoch: 1})
	}
	return h
}

// says delivers a message in which server id reports the number of its clients.
func (h *harness) says(id nid.NID, clients uint32, code wire.Code) {
	h.t.Helper()
	h.message(nid.ProcessID{NID: id, PID: nid.LustrePID}, wire.Message{Kind: wire.DigestReply, Epoch: clients, Code: code})
}

// suggested lets time d pass. It returns three results: to has for each server the number of clients
// that were asked to choose it, clients has for each client how often it was asked, and most is the
// largest number of requests in one tick.
func (h *harness) suggested(d time.Duration) (to map[nid.NID]int, clients map[wire.ClientID]int, most int) {
	h.t.Helper()
	to, clients = make(map[nid.NID]int), make(map[wire.ClientID]int)
	for end := h.now + d; h.now < end; {
		h.advance(min(h.s.cfg.Tick, end-h.now))
		now := 0
		for _, e := range h.effects {
			if e.Kind == DoSend {
				if m, _ := wire.ParseMessage(e.Token.([]byte)); m.Kind == wire.Notice && m.Code == wire.Draining {
					to[m.Server]++
					clients[m.Client]++
					now++
				}
			}
		}
		most = max(most, now)
		for i := range h.s.table.count { // every client sends a ping
			h.message(crowdHost(i), wire.Message{Kind: wire.Ping, Client: crowdID(i), Incarnation: 1, Epoch: 1})
		}
	}
	return to, clients, most
}

// TestBalance: a server that has far more clients than another asks a part of them to choose the
// other server, a few per tick, and never the same client twice. It asks none if the difference
// can be due to chance, if the other server is dead or takes no clients, or while it is itself
// cut off.
func TestBalance(t *testing.T) {
	h := balanced(t, 100)
	h.says(otherA, 10, wire.OK) // otherA has 10 clients, this server 100; each of three live servers asks a third of the difference
	to, clients, most := h.suggested(h.s.cfg.Evict)
	if to[otherA] != 30 || len(to) != 1 || len(clients) != 30 || most > 2 || h.s.Stats().Shed != 30 {
		t.Errorf("suggested %v to %d, %d at a time", to, len(clients), most)
	}
	for _, tt := range []struct {
		name    string
		clients uint32
		code    wire.Code
		prepare func()
	}{
		{"what chance makes", 60, wire.OK, func() {}},
		{"it has more", 160, wire.OK, func() {}},
		{"it is drained", 0, wire.Draining, func() {}},
		{"it is cut off", 0, wire.NoQuorum, func() {}},
		{"this one is cut off", 0, wire.OK, func() { h.step(ServerInput{Kind: QuorumIs, Unsure: true}) }},
		{"it dies", 0, wire.OK, func() { h.step(ServerInput{Kind: ServerHealth, Server: otherB}) }},
	} {
		h = balanced(t, 100)
		h.says(otherB, tt.clients, tt.code)
		tt.prepare()
		if to, _, _ := h.suggested(h.s.cfg.Evict); len(to) > 0 {
			t.Errorf("%s: suggested %v", tt.name, to)
		}
	}
	h = newHarness(t, nil) // a server with this balancing switched off (Uneven)
	for i := range 100 {
		h.message(crowdHost(i), wire.Message{Kind: wire.Connect, Client: crowdID(i), Incarnation: 1, Server: me, Epoch: 1})
	}
	h.says(otherA, 0, wire.OK)
	if to, _, _ := h.suggested(h.s.cfg.Evict); len(to) > 0 {
		t.Errorf("suggested %v", to)
	}
}

// TestBalanceReturned: clients are asked to choose a server that has come back, or that accepts
// clients again, at a smaller difference than usual. That server is asked for its load as soon
// as it is alive.
func TestBalanceReturned(t *testing.T) {
	h := balanced(t, 8)
	h.says(gone, 0, wire.OK)
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
	h.advance(h.s.cfg.Tick)
	if d := h.last(wire.Digest); d.Epoch != 8 || d.Code != wire.OK || len(d.Entries) != 0 {
		t.Fatalf("%+v", d)
	}
	h.says(gone, 0, wire.OK)
	if to, _, _ := h.suggested(h.s.cfg.Evict); to[gone] != 2 { // each of the four live servers asks a quarter of the difference
		t.Errorf("suggested %v", to)
	}
	for clients, want := range map[uint32]int{7: 0, 6: 1, 5: 1, 4: 1, 1: 2, 0: 2} { // any order: the cases are independent
		h.advance(h.s.cfg.Tick)        // the next tick counts the clients again
		h.says(gone, clients, wire.OK) // server gone has fewer clients than this server, which has 8
		if to, _, _ := h.suggested(2 * h.s.cfg.Tick); to[gone] != want {
			t.Errorf("%d more: suggested %v, want %d", 8-clients, to, want)
		}
	}
	h.says(gone, 7, wire.OK)
	if to, _, _ := h.suggested(h.s.cfg.Evict); len(to) != 0 {
		t.Errorf("suggested %v", to)
	}
	h.suggested(4 * h.s.cfg.Evict) // after this time the server no longer counts as one that has just come back
	h.says(gone, 0, wire.OK)
	if to, _, _ := h.suggested(h.s.cfg.Evict); len(to) != 0 {
		t.Errorf("suggested %v", to)
	}

	h = balanced(t, 8)
	h.says(otherA, 0, wire.OK)
	h.says(otherA, 0, wire.Draining)
	h.says(otherA, 0, wire.OK)
	if to, _, _ := h.suggested(h.s.cfg.Evict); to[otherA] != 3 { // each of three live servers asks a third of the difference of 8, this one rounded up
		t.Errorf("suggested %v", to)
	}
}

// TestBalanceTells: a server reports its load to two other servers at a time, in turn. It also
// reports it to a server that asks.
func TestBalanceTells(t *testing.T) {
	h := balanced(t, 3)
	told := make(map[nid.NID]int)
	for range 8 {
		h.advance(h.s.cfg.Evict / 2)
		for _, e := range slices.Clone(h.effects) {
			if e.Kind == DoSend && e.Server.IsValid() {
				told[e.Server]++
			}
		}
		for i := range 3 {
			h.message(crowdHost(i), wire.Message{Kind: wire.Ping, Client: crowdID(i), Incarnation: 1, Epoch: 1})
		}
	}
	if told[otherA] < 3 || told[otherB] < 3 || told[otherA]+told[otherB] > 10 || len(told) != 2 {
		t.Errorf("told %v in four rounds", told)
	}
	h.message(nid.ProcessID{NID: otherB, PID: nid.LustrePID}, wire.Message{Kind: wire.Digest})
	if r := h.last(wire.DigestReply); r.Epoch != 3 || r.Code != wire.OK {
		t.Errorf("%+v", r)
	}
	h.step(ServerInput{Kind: Drain, Alive: true})
	h.message(nid.ProcessID{NID: otherB, PID: nid.LustrePID}, wire.Message{Kind: wire.Digest})
	if r := h.last(wire.DigestReply); r.Code != wire.Draining {
		t.Errorf("%+v", r)
	}
}

// TestClientSuggested: a client that its master asks to choose a certain server tries that one
// first, and keeps its connections. It ignores a suggestion of any other server.
func TestClientSuggested(t *testing.T) {
	third := nid.MustParse("10.0.0.9@tcp")
	for range 10 {
		h := newClientHarness(t, me, otherA, otherB, third)
		master, before := h.settled(), len(h.c.Status().Attached)
		target := third
		if master == third {
			target = otherB
		}
		h.now += 2 * time.Second
		h.from(h.other(), wire.Message{Kind: wire.Notice, Code: wire.Draining, Server: target, Epoch: h.c.epoch})
		h.want("")
		h.from(master, wire.Message{Kind: wire.Notice, Code: wire.Draining, Server: target, Epoch: h.c.epoch})
		h.want("master-lost:draining", wire.Choose)
		if h.to[0] != target {
			t.Fatalf("asks %v, not %v", h.to[0], target)
		}
		h.answer(0, wire.Message{Kind: wire.Chosen})
		if st := h.c.Status(); st.Master != target || len(st.Attached) != before {
			t.Fatalf("%+v", st)
		}
	}
}
