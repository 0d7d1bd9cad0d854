package engine

import (
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// TestConnectTable is the state table of connects: CH-21 to CH-24, CH-36 to CH-40, CH-42,
// CH-A11, CH-A12. If the server has a connection of the client, it is of incarnation 5.
func TestConnectTable(t *testing.T) {
	spec.Covers(t, "CH-21", "CH-22", "CH-23", "CH-24", "CH-36", "CH-37", "CH-38", "CH-39", "CH-40",
		"CH-42", "CH-A11", "CH-A12")
	existing := map[string]func(*harness){
		"none":     func(*harness) {},
		"under A":  func(h *harness) { h.connect(5, otherA, 1) },
		"under me": func(h *harness) { h.connect(5, me, 1) },
		"orphan of A": func(h *harness) {
			h.connect(5, otherA, 1)
			h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: false})
			h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
		},
		"evicting": func(h *harness) {
			h.connect(5, me, 1)
			h.step(ServerInput{Kind: EvictClient, Client: testClient})
		},
	}
	const (
		teardown = "evicted:rebooted remove "
		accept   = "save connected accept"
	)
	tests := []struct {
		name        string
		existing    string
		incarnation uint64
		master      nid.NID
		epoch       uint32
		quorum      bool
		want        string
		state       string
	}{
		{"CH-21 no quorum, as master", "none", 6, me, 1, false, "reject:no-quorum", "none"},
		{"CH-36 no quorum, as another", "under A", 6, otherA, 1, false, "reject:no-quorum", "connected 5 10.0.0.2@tcp/1"},
		{"no quorum, same life", "under A", 5, otherA, 1, false, "reject:no-quorum", "connected 5 10.0.0.2@tcp/1"},

		{"CH-24 none, as master", "none", 6, me, 1, true, accept, "connected 6 10.0.0.1@tcp/1"},
		{"CH-42 none, as another", "none", 6, otherA, 1, true, accept, "connected 6 10.0.0.2@tcp/1"},
		{"CH-40 none, master dead", "none", 6, gone, 1, true, "reject:master-dead", "none"},

		{"same life again", "under A", 5, otherA, 1, true, "accept", "connected 5 10.0.0.2@tcp/1"},
		{"same life, newer choice", "under A", 5, otherB, 2, true, "save rehomed accept", "connected 5 10.0.0.3@tcp/2"},
		{"same life, older choice", "under A", 5, otherB, 0, true, "accept", "connected 5 10.0.0.2@tcp/1"},
		{"same life, other choice of the same epoch", "under A", 5, otherB, 1, true, "reject:old-epoch", "connected 5 10.0.0.2@tcp/1"},
		{"same life, master dead", "under A", 5, gone, 2, true, "reject:master-dead", "connected 5 10.0.0.2@tcp/1"},
		{"same life, orphan", "orphan of A", 5, otherA, 1, true, "accept:orphaned", "orphaned 5 10.0.0.2@tcp/1"},
		{"same life, orphan, same master chosen again", "orphan of A", 5, otherA, 2, true, "save rehomed accept", "connected 5 10.0.0.2@tcp/2"},

		{"CH-A12 orphan, as master", "orphan of A", 6, me, 1, true, teardown + accept + "(10.0.0.2@tcp)", "connected 6 10.0.0.1@tcp/1"},
		{"CH-37 orphan, as another", "orphan of A", 6, otherB, 1, true, teardown + accept, "connected 6 10.0.0.3@tcp/1"},
		{"CH-22 older, as master", "under A", 6, me, 1, true, teardown + accept + "(10.0.0.2@tcp)", "connected 6 10.0.0.1@tcp/1"},
		{"CH-38 older, as another", "under A", 6, otherB, 1, true, teardown + accept + "(10.0.0.2@tcp)", "connected 6 10.0.0.3@tcp/1"},
		{"CH-23 older, was mine, as master", "under me", 6, me, 1, true, "suspended broadcast1", "evicting 5 10.0.0.1@tcp/1"},
		{"CH-39 older, was mine, as another", "under me", 6, otherA, 1, true, "suspended broadcast1", "evicting 5 10.0.0.1@tcp/1"},
		{"older, is being evicted", "evicting", 6, otherA, 1, true, "", "evicting 5 10.0.0.1@tcp/1"},
		{"same life, is being evicted", "evicting", 5, me, 1, true, "reject:busy", "evicting 5 10.0.0.1@tcp/1"},

		{"CH-A11 orphan, new master dead", "orphan of A", 6, gone, 1, true, teardown + "reject:master-dead", "none"},
		{"CH-A11 older, new master dead", "under A", 6, gone, 1, true, teardown + "reject:master-dead", "none"},
		{"CH-A11 older, was mine, new master dead", "under me", 6, gone, 1, true, "suspended broadcast1", "evicting 5 10.0.0.1@tcp/1"},

		{"newer is connected", "under A", 4, me, 9, true, "reject:stale", "connected 5 10.0.0.2@tcp/1"},
		{"unknown server as master", "none", 6, nid.MustParse("10.9.9.9@tcp"), 1, true, "reject:unknown-server", "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			existing[tt.existing](h)
			if !tt.quorum {
				h.step(ServerInput{Kind: QuorumIs})
			}
			h.connect(tt.incarnation, tt.master, tt.epoch)
			h.want(tt.want)
			h.wantState(tt.state)
		})
	}
}

// TestConnectWaits: CH-23, CH-39, CH-25: if this server was the master of the old incarnation,
// it evicts the old one from all servers before it accepts the new one. If the master of the new
// incarnation dies while the connect waits, the server notices that (CH-A11).
func TestConnectWaits(t *testing.T) {
	spec.Covers(t, "CH-23", "CH-25", "CH-39", "CH-A11")
	for _, tt := range []struct {
		name   string
		master nid.NID
		want   string
	}{
		{"CH-23", me, "notice:global evicted:rebooted bury save connected accept"},
		{"CH-39", otherA, "notice:global evicted:rebooted bury save connected accept"},
		{"CH-A11", gone, "notice:global evicted:rebooted bury reject:master-dead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			h.connect(5, me, 1)
			h.connect(6, tt.master, 1)
			h.want("suspended broadcast1")
			r, err := wire.ParseBatch(h.effects[1].Token.([]byte))
			if err != nil || r.Entries.At(0) != (wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.Rebooted), Epoch: 1}) {
				t.Errorf("CH-25: evicts %+v, %v", r.Entries.At(0), err)
			}
			h.done(wire.Reply{Evicted: 1}, gone)
			h.want(tt.want)
		})
	}
}

// TestConnectBusy: CH-A21: a connect does not wait for ever, and of several waiting
// incarnations the newest one is kept.
func TestConnectBusy(t *testing.T) {
	spec.Covers(t, "CH-A21")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.connect(6, me, 1)
	h.connect(7, me, 1)
	if r := h.last(wire.Reject); r.Code != wire.Stale || r.Incarnation != 7 {
		t.Errorf("life 6 is told %+v", r)
	}
	h.connect(6, me, 1)
	h.want("reject:stale")
	h.advance(3*h.s.cfg.Broadcast + h.s.cfg.Tick)
	if r := h.last(wire.Reject); r.Code != wire.Busy || r.Retry != h.s.cfg.Broadcast {
		t.Errorf("life 7 is told %+v", r)
	}
	h.done(wire.Reply{})
	h.want("notice:global evicted:rebooted bury")
	h.connect(7, me, 1)
	h.want("save connected accept")
}

// TestConnectIsDurable: CH-4: a client is accepted when its record is durable, and refused if
// the record cannot be saved.
func TestConnectIsDurable(t *testing.T) {
	spec.Covers(t, "CH-4")
	h := newHarness(t, nil)
	h.hold = true
	h.connect(5, me, 3)
	h.want("save")
	save := h.effects[0]
	if r := save.Record; r.Client != testClient || r.Incarnation != 5 || r.Master != me || r.Epoch != 3 || r.Name != "host" || r.Peer != host {
		t.Errorf("record %+v", r)
	}
	h.connect(5, me, 3)
	h.want("")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:busy")
	h.step(ServerInput{Kind: Saved, ID: save.ID, Failed: true})
	h.want("reject:store-failed remove")
	h.wantState("none")
	h.step(ServerInput{Kind: Saved, ID: save.ID})
	h.want("")

	h.connect(6, me, 1)
	save = h.effects[0]
	h.step(ServerInput{Kind: Saved, ID: save.ID})
	h.want("connected accept")
}

// TestConnectEvictedWhileSaved: CH-A20: a client that is evicted while its record is being saved
// is not accepted afterwards.
func TestConnectEvictedWhileSaved(t *testing.T) {
	spec.Covers(t, "CH-A20")
	h := newHarness(t, nil)
	h.hold = true
	h.connect(5, otherA, 1)
	id := h.effects[0].ID
	if r := h.evicted(otherA, 5); r.Evicted != 1 {
		t.Errorf("reply %+v", r)
	}
	h.want("reject:global bury answer")
	h.step(ServerInput{Kind: Saved, ID: id})
	h.want("")
	h.wantState("none")
	h.connect(5, otherA, 1)
	h.want("reject:global")
}

// TestConnectLimits: a connect is refused with the reason when the table is full, when the
// client restarts too often, and when another node uses its id.
func TestConnectLimits(t *testing.T) {
	h := newHarness(t, func(c *ServerConfig) { c.MaxClients, c.MaxIncarnations = 1, 3 })
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{7}, Incarnation: 1, Server: me})
	h.want("reject:full")
	thief := nid.ProcessID{NID: otherB, PID: 9}
	h.message(thief, wire.Message{Kind: wire.Connect, Incarnation: 5, Server: me})
	h.want("reject:foreign")
	h.message(thief, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:foreign")
	h.message(thief, wire.Message{Kind: wire.Disconnect, Incarnation: 5})
	h.want("")
	h.wantState("connected 5 10.0.0.1@tcp/1")
	if st := h.s.Stats(); st.Foreign != 3 || st.Rejected[wire.Full] != 1 {
		t.Errorf("%+v", st)
	}

	h = newHarness(t, func(c *ServerConfig) { c.MaxIncarnations = 3 })
	for incarnation := range uint64(3) {
		h.connect(5+incarnation, otherA, 1)
	}
	h.wantState("connected 7 10.0.0.2@tcp/1")
	h.connect(8, otherA, 1)
	h.want("reject:flapping")
	if r := h.last(wire.Reject); r.Retry <= 0 || r.Retry > h.s.cfg.FlapWindow {
		t.Errorf("come back after %v", r.Retry)
	}
	h.wantState("connected 7 10.0.0.2@tcp/1")
	h.advance(h.s.cfg.FlapWindow + h.s.cfg.Tick)
	h.connect(8, otherA, 1)
	h.wantState("connected 8 10.0.0.2@tcp/1")
}

// TestHostileMessages: messages that are malformed, or not meant for a server, are counted.
func TestHostileMessages(t *testing.T) {
	h := newHarness(t, nil)
	sent := h.s.Stats().Sent
	h.step(ServerInput{Kind: Arrived, From: host, Data: []byte("HLTH")})
	m := wire.Message{Kind: wire.Connect, Client: testClient, Server: me, Name: make([]byte, 256)}
	h.step(ServerInput{Kind: Arrived, From: host, Data: m.AppendTo(nil)})
	b := (&wire.Message{Kind: wire.Ping, Client: testClient}).AppendTo(nil)
	b[4]++
	h.step(ServerInput{Kind: Arrived, From: host, Data: b})
	h.message(host, wire.Message{Kind: wire.Accept})
	h.message(host, wire.Message{Kind: wire.Digest, Entries: entries(wire.Entry{Client: testClient})})
	h.message(host, wire.Message{Kind: wire.DigestReply, Entries: entries(wire.Entry{Client: testClient})})
	h.message(host, wire.Message{Kind: wire.Tombstones, Retry: 3600e9})
	h.message(host, wire.Message{Kind: wire.TombstonesReply, Sequence: 1, Epoch: 1, Entries: entries(wire.Entry{Client: testClient, Incarnation: 1, Mark: 255})})
	h.message(host, wire.Message{Kind: wire.Disconnect})
	h.step(ServerInput{Kind: Saved, ID: 99 << 32})
	h.step(ServerInput{Kind: BroadcastDone, ID: 99})
	st := h.s.Stats()
	if st.Malformed != 1 || st.BadName != 1 || st.OtherVersion != 1 || st.Unexpected != 1 || st.Strangers != 4 || st.Late != 3 || st.Sent != sent {
		t.Errorf("%+v", st)
	}
}

// claimKeys returns keys whose bytes are the given texts.
func claimKeys(t *testing.T, texts ...string) keyring.Keys {
	t.Helper()
	var list [][]byte
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	keys, err := keyring.NewKeys(list...)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestClaims: CH-43, CH-44, CH-A15: a server without keys accepts a forged claim. A server with
// keys refuses it, even while keys change.
func TestClaims(t *testing.T) {
	spec.Covers(t, "CH-43", "CH-44", "CH-A15")
	old, both := claimKeys(t, "0123456789abcdef"), claimKeys(t, "fedcba9876543210", "0123456789abcdef")
	h := newHarness(t, func(c *ServerConfig) { c.ClaimKeys = old })
	h.connect(5, me, 4)
	token := h.last(wire.Accept).Token
	if !claims(old.All()).verify(token, testClient, 5, me, 4) {
		t.Fatal("the master's token is not true")
	}
	ask := func(c keyring.Keys, change func(*wire.Message)) string {
		h := newHarness(t, func(s *ServerConfig) { s.Self, s.ClaimKeys = otherB, c })
		h.step(ServerInput{Kind: ServerHealth, Server: me, Alive: true})
		m := wire.Message{Kind: wire.Connect, Incarnation: 5, Epoch: 4, Server: me, Token: token}
		if change != nil {
			change(&m)
		}
		h.message(host, m)
		return h.words()
	}
	const accepted, refused = "save connected accept", "reject:bad-claim"
	for _, tt := range []struct {
		name   string
		keys   keyring.Keys
		change func(*wire.Message)
		want   string
	}{
		{"true", old, nil, accepted},
		{"second key", both, nil, accepted},
		{"other client", old, func(m *wire.Message) { m.Client = wire.ClientID{3} }, refused},
		{"other life", old, func(m *wire.Message) { m.Incarnation++ }, refused},
		{"other epoch", old, func(m *wire.Message) { m.Epoch++ }, refused},
		{"other master", old, func(m *wire.Message) { m.Server = otherA }, refused},
		{"no token", old, func(m *wire.Message) { m.Token = nil }, refused},
		{"CH-43 off", keyring.Keys{}, func(m *wire.Message) { m.Token = nil }, accepted},
	} {
		if got := ask(tt.keys, tt.change); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	// A Choose that names another master needs the signature of a claim as well.
	h = newHarness(t, func(s *ServerConfig) { s.ClaimKeys = old })
	h.connect(5, me, 1)
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.want("chosen:bad-claim")
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherA, Token: claims(old.All()).append(nil, testClient, 5, otherA, 2)})
	h.want("save rehomed chosen")
}
