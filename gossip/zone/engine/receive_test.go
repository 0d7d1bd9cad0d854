package engine

import (
	"strings"
	"testing"

	"ulnet/gossip/zone/wire"
	"ulnet/portals/keyring"
)

// codecs returns the machines of two nodes: node 0 receives messages and knows all nodes, node 1 sends
// messages.
func codecs(t testing.TB, keys ...string) (to, from *Machine) {
	t.Helper()
	ends := make([]*Machine, 2)
	for i := range ends {
		m, err := New(Config{Zone: "test", Self: testID(i), Wire: true, Keys: keysOf(t, keys...)})
		if err != nil {
			t.Fatal(err)
		}
		for j := range 6 {
			if _, err := m.cfg.Table.Add(testID(j)); err != nil {
				t.Fatal(err)
			}
		}
		ends[i] = m
	}
	return ends[0], ends[1]
}

// keysOf returns a key for each word. The bytes of the key begin with the word.
func keysOf(t testing.TB, words ...string) keyring.Keys {
	t.Helper()
	if len(words) == 0 {
		return keyring.Keys{}
	}
	var keys [][]byte
	for _, w := range words {
		keys = append(keys, []byte(w+strings.Repeat(".", keyring.MinKey)))
	}
	k, err := keyring.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// encoded returns the bytes of a message of node 1 to node 0, a slice for each part.
func encoded(t testing.TB, m *Machine, msg wire.Message) (parts [][]byte) {
	t.Helper()
	m.out, m.ver = &Output{}, v(3, 4)
	m.send(m.cfg.Table.Lookup(testID(0)), msg)
	m.encode(0)
	for _, s := range m.out.Sends {
		parts = append(parts, m.out.Buf[s.Begin:s.End])
	}
	return parts
}

// flagsAt is the offset of the flags in a message.
const flagsAt = 6

func le64(n uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// TestRefusals: bytes that are not a message of this zone are counted by reason.
func TestRefusals(t *testing.T) {
	to, from := codecs(t)
	to.Step(0, Input{Kind: Join, Inc: 1}, &Output{})
	good := encoded(t, from, wire.Message{Kind: wire.Heartbeat})[0]
	change := func(at int, bytes ...byte) []byte {
		b := append([]byte(nil), good...)
		copy(b[at:], bytes)
		return b
	}
	foreign, err := New(Config{Zone: "other", Self: testID(1), Wire: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := foreign.cfg.Table.Add(testID(0)); err != nil {
		t.Fatal(err)
	}
	longID := append(append([]byte(nil), encoded(t, from, wire.Message{Kind: wire.DiscoveryRequest})[0][:wire.HeaderSize]...), 0x00, 0x28)
	longID = append(longID, make([]byte, 10<<10)...)
	for _, c := range []struct {
		what string
		data []byte
		n    *uint64
	}{
		{"short", good[:20], &to.stats.Malformed},
		{"magic", change(0, 'X'), &to.stats.Malformed},
		{"version", change(4, 9), &to.stats.OtherVersion},
		{"kind", change(5, 99), &to.stats.Malformed},
		{"flags", change(flagsAt, 0, 0x80), &to.stats.Malformed},
		{"zone", encoded(t, foreign, wire.Message{Kind: wire.Heartbeat})[0], &to.stats.OtherZone},
		{"no incarnation", change(24, 0, 0, 0, 0, 0, 0, 0, 0), &to.stats.Malformed},
		{"incarnation", change(24, 255, 255, 255, 255, 255, 255, 255, 255), &to.stats.Malformed},
		{"signed, without a key", append(change(flagsAt, 1), make([]byte, keyring.CodeSize)...), &to.stats.NotSigned},
		{"id of 10 KiB", longID, &to.stats.Malformed},
	} {
		before := *c.n
		out := Output{}
		to.Step(0, Input{Kind: Arrived, Data: c.data}, &out)
		if *c.n != before+1 || len(out.Sends) > 0 {
			t.Errorf("%s: counted %d, %d sent", c.what, *c.n-before, len(out.Sends))
		}
	}
	self := encoded(t, from, wire.Message{Kind: wire.Heartbeat})[0]
	copy(self[16:], le64(testID(0).Short()))
	out := Output{}
	to.Step(0, Input{Kind: Arrived, Data: self}, &out)
	if len(out.Events) != 1 || out.Events[0].Kind != Clash {
		t.Errorf("a node with our id: %v", out.Events)
	}
}

// TestParts: a view that does not fit one message is sent in several messages, each of which can be processed
// alone.
func TestParts(t *testing.T) {
	to, from := codecs(t, "k")
	from.join(3)
	from.codec.MaxBytes = 1000
	for i := 1; i < 500; i++ {
		r, err := from.cfg.Table.Add(testID(i))
		if err != nil {
			t.Fatal(err)
		}
		if i != 1 {
			from.view.set(r, entry{inc: 5, minor: 1, state: inView})
		}
	}
	parts := encoded(t, from, wire.Message{Kind: wire.Base, Lists: &wire.Lists{View: from.view.snapshot()}})
	seen := map[wire.ID]bool{}
	for i, b := range parts {
		var m wire.Message
		var l wire.Lists
		if err := to.codec.Parse(b, &m, &l); err != nil || len(b) > 1000 {
			t.Fatalf("part %d of %d bytes: %v", i, len(b), err)
		}
		if more, later := m.Flags&wire.More != 0, m.Flags&wire.Later != 0; more != (i < len(parts)-1) || later != (i > 0) {
			t.Errorf("part %d of %d has flags %v", i, len(parts), m.Flags)
		}
		for _, a := range l.Alive {
			seen[to.cfg.Table.ID(a.Node)] = true
		}
	}
	if len(seen) != 499 || len(parts) < 20 {
		t.Errorf("%d members in %d parts", len(seen), len(parts))
	}
}

// TestHeartbeatAllocations: neither sending nor receiving a heartbeat allocates memory, even with a key.
func TestHeartbeatAllocations(t *testing.T) {
	to, from := codecs(t, "secret")
	msg := append([]byte(nil), encoded(t, from, wire.Message{Kind: wire.Heartbeat})[0]...)
	out := Output{}
	to.Step(0, Input{Kind: Join, Inc: 1}, &out)
	r := to.cfg.Table.Lookup(testID(1))
	to.Step(1, Input{Kind: Delivered, Message: &wire.Message{Kind: wire.LinkRequest, From: r, Version: v(3, 4), Roles: wire.Random}}, &out)
	now := 20 * to.cfg.Heartbeat
	for range 20 { // run until the state does not change any more
		now += to.cfg.Heartbeat / 2
		out.Reset()
		to.Step(now, Input{Kind: Arrived, Data: msg}, &out)
	}
	beats := 0
	n := testing.AllocsPerRun(200, func() {
		now += to.cfg.Heartbeat / 2
		out.Reset()
		to.Step(now, Input{Kind: Arrived, Data: msg}, &out)
		beats += len(out.Sends)
	})
	if n > 0 || beats < 50 {
		t.Errorf("%v allocations for a heartbeat; %d sent", n, beats)
	}
}

// FuzzStep: a machine that takes part survives any message.
func FuzzStep(f *testing.F) {
	_, from := codecs(f)
	for _, m := range []wire.Message{{Kind: wire.LinkRequest, Roles: wire.Random}, {Kind: wire.Heartbeat}, {Kind: wire.DiscoveryRequest, Flags: wire.Healing}} {
		f.Add(encoded(f, from, m)[0], encoded(f, from, wire.Message{Kind: wire.LinkDrop, Reason: wire.NoLink})[0])
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		to, _ := codecs(t)
		out := Output{}
		to.Step(0, Input{Kind: Join, Inc: 1}, &out)
		for i, data := range [][]byte{a, b, a} {
			to.Step(1, Input{Kind: Arrived, Data: data}, &out)
			if err := to.invariants(); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
		}
	})
}
