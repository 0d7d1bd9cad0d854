package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"ulnet/portals/keyring"
)

// codecs returns two ends: node 0, which knows everybody by the short form at least,
// and node 1, which sends.
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

// keysOf returns keys that begin with words.
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

// encoded returns the bytes of a message of node 1 to node 0, one for each part.
func encoded(t testing.TB, m *Machine, msg Message) (parts [][]byte) {
	t.Helper()
	m.out, m.ver = &Output{}, v(3, 4)
	m.send(m.cfg.Table.Lookup(testID(0)), msg)
	m.encode(0)
	for _, s := range m.out.Sends {
		parts = append(parts, m.out.Buf[s.Begin:s.End])
	}
	return parts
}

// TestGolden has a message of every kind, with its bytes (MS-17, MS-A11).
func TestGolden(t *testing.T) {
	header := func(kind, flags string) string {
		return "5a4f4e45 01 " + kind + " " + flags + " a94a8fe5ccb19ba6 " + hex.EncodeToString(le64(testID(1).Position().short())) +
			" 0300000000000000 04000000 "
	}
	zone := hex.EncodeToString(le64(zoneNumber("test")))
	short := func(i int) string { return hex.EncodeToString(le64(testID(i).Position().short())) + " " }
	id := func(i int) string {
		b := testID(i).AppendCanonical(nil)
		return hex.EncodeToString([]byte{byte(len(b)), 0}) + " " + hex.EncodeToString(b) + " "
	}
	_, from := codecs(t)
	ref := func(i int) Ref { return from.cfg.Table.Lookup(testID(i)) }
	const v72 = "0700000000000000 02000000 "
	for _, c := range []struct {
		msg  Message
		want string
	}{
		{Message{Kind: Heartbeat, Flags: Echo, Hash: 0x1122, Tables: 0x3344}, header("01", "0200") + "2211000000000000 4433000000000000"},
		{Message{Kind: LinkRequest, Roles: Successor | Random}, header("02", "0000") + "03" + id(1)},
		{Message{Kind: LinkAccept, Roles: Random}, header("03", "0000") + "02"},
		{Message{Kind: LinkRefuse, Reason: Removed, About: ref(0), AboutVersion: v(7, 2)}, header("04", "0000") + "01" + v72},
		{Message{Kind: LinkRefuse, Reason: Redirect, About: ref(3), AboutVersion: v(7, 2)}, header("04", "0000") + "02" + id(3) + v72},
		{Message{Kind: LinkDrop, Reason: NoLink}, header("05", "0000") + "04"},
		{
			Message{Kind: Base, Flags: Repair | Ask, Lists: &Lists{
				Alive: []Member{{ref(2), v(7, 2)}}, Suspicions: []Suspicion{{ref(3), ref(4), v(7, 2)}}, Removed: []Member{{ref(5), v(7, 2)}},
			}},
			header("06", "3000") + "00000000 01000000 01000000 01000000" + id(2) + v72 + short(3) + short(4) + v72 + short(5) + v72,
		},
		{
			Message{Kind: Update, Lists: &Lists{Leaves: []Departure{{ref(2), v(7, 2), -3}}}},
			header("07", "0000") + "01000000 00000000 00000000 00000000" + short(2) + v72 + "fdffffff",
		},
		{Message{Kind: DiscoveryRequest, Flags: Healing}, header("08", "0400") + id(1)},
		{Message{Kind: DiscoveryReply, Flags: Healing | Third, Lists: &Lists{}}, header("09", "0c00") + strings.Repeat("00", 16)},
		{
			Message{Kind: AttributeDigest, Lists: &Lists{Tables: []TableVersion{{ref(2), 7, 9}}}},
			header("0a", "0000") + "01000000" + short(2) + "0700000000000000 0900000000000000",
		},
		{Message{Kind: AttributeRequest, Flags: Push, Lists: &Lists{}}, header("0b", "4000") + "00000000"},
		{
			Message{Kind: AttributeData, Lists: &Lists{Data: []TableData{{
				Owner: ref(2), Inc: 7, From: 1, To: 5, Last: true,
				Entries: []Attribute{{Key: "a", Value: []byte("xyz"), U: 2}, {Key: "bc", Deleted: true, U: 5}},
			}}}},
			header("0c", "0000") + "01000000" + short(2) + "0700000000000000 0100000000000000 0500000000000000 02000080" +
				"0200000000000000 01 00 03000000 61 78797a" + "0500000000000000 02 01 00000000 6263",
		},
		{
			Message{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(1), ref(4), v(7, 2)}}}},
			header("0d", "0000") + "00000000 00000000 01000000 00000000" + short(1) + short(4) + v72,
		},
		{
			Message{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(1), ref(4), v(7, 2)}}, Silences: []Suspicion{{ref(3), ref(4), v(7, 2)}, {ref(1), ref(5), v(7, 2)}}}},
			header("0d", "0000") + "00000000 00000000 04000000 00000000" + short(1) + short(4) + v72 +
				strings.Repeat("00", 16) + "0100000000000000 01000000" + short(3) + short(4) + v72 + short(1) + short(5) + v72,
		},
	} {
		parts := encoded(t, from, c.msg)
		want := strings.ReplaceAll(strings.ReplaceAll(c.want, " ", ""), "a94a8fe5ccb19ba6", zone)
		if got := hex.EncodeToString(parts[0]); len(parts) != 1 || got != want {
			t.Errorf("%v:\n%s\n%s", c.msg.Kind, got, want)
		}
		if n := from.cfg.Table.Size(&Message{Kind: c.msg.Kind, Flags: c.msg.Flags, Reason: c.msg.Reason, About: c.msg.About, From: ref(1), Lists: c.msg.Lists}); n != len(parts[0]) {
			t.Errorf("%v: %d bytes, said %d", c.msg.Kind, len(parts[0]), n)
		}
		parsesBack(t, from, &c.msg, parts[0])
	}
}

func le64(n uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// parsesBack parses a message as node 0, whose places are those of node 1 here, and
// every beginning of it, which must not be one.
func parsesBack(t *testing.T, from *Machine, msg *Message, b []byte) {
	t.Helper()
	c := from.codec
	c.self = from.cfg.Table.Lookup(testID(0))
	var got Message
	var l Lists
	if err := c.parse(b, &got, &l); err != nil {
		t.Errorf("%v: %v", msg.Kind, err)
		return
	}
	want := *msg
	want.From, want.Version = from.self, v(3, 4)
	gl, wl := got.Lists, want.Lists
	got.Lists, want.Lists = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if (gl == nil) != (wl == nil) || gl != nil && (len(gl.Alive) != len(wl.Alive) || len(gl.Leaves) != len(wl.Leaves) ||
		len(gl.Data) > 0 && !reflect.DeepEqual(gl.Data, wl.Data) || len(gl.Tables) > 0 && !reflect.DeepEqual(gl.Tables, wl.Tables) ||
		len(gl.Suspicions) > 0 && !reflect.DeepEqual(gl.Suspicions, wl.Suspicions) ||
		len(gl.Silences)+len(wl.Silences) > 0 && !reflect.DeepEqual(gl.Silences, wl.Silences) || len(gl.Removed) != len(wl.Removed)) {
		t.Errorf("got  %+v\nwant %+v", gl, wl)
	}
	for n := range b {
		if err := c.parse(b[:n], &got, &l); err == nil {
			t.Errorf("%v: %d of %d bytes are a message, too", msg.Kind, n, len(b))
		}
	}
	if err := c.parse(append(b[:len(b):len(b)], 0), &got, &l); !errors.Is(err, errBody) {
		t.Errorf("%v: with a byte more: %v", msg.Kind, err)
	}
}

// TestRefusals: what is no message of this zone is counted (bad input).
func TestRefusals(t *testing.T) {
	to, from := codecs(t)
	to.Step(0, Input{Kind: Join, Inc: 1}, &Output{})
	good := encoded(t, from, Message{Kind: Heartbeat})[0]
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
	longID := append(append([]byte(nil), encoded(t, from, Message{Kind: DiscoveryRequest})[0][:HeaderSize]...), 0x00, 0x28)
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
		{"zone", encoded(t, foreign, Message{Kind: Heartbeat})[0], &to.stats.OtherZone},
		{"no incarnation", change(24, 0, 0, 0, 0, 0, 0, 0, 0), &to.stats.Malformed},
		{"incarnation", change(24, 255, 255, 255, 255, 255, 255, 255, 255), &to.stats.Malformed},
		{"signed, without a key", append(change(flagsAt, 1), make([]byte, codeSize)...), &to.stats.NotSigned},
		{"id of 10 KiB", longID, &to.stats.Malformed},
	} {
		before := *c.n
		out := Output{}
		to.Step(0, Input{Kind: Arrived, Data: c.data}, &out)
		if *c.n != before+1 || len(out.Sends) > 0 {
			t.Errorf("%s: counted %d, %d sent", c.what, *c.n-before, len(out.Sends))
		}
	}
	self := encoded(t, from, Message{Kind: Heartbeat})[0]
	copy(self[16:], le64(testID(0).Position().short()))
	out := Output{}
	to.Step(0, Input{Kind: Arrived, Data: self}, &out)
	if len(out.Events) != 1 || out.Events[0].Kind != Clash {
		t.Errorf("a node with our id: %v", out.Events)
	}
}

// TestKey: messages of who does not have the cluster's key do not count, nor do those
// to somebody else (MS-A33).
func TestKey(t *testing.T) {
	to, from := codecs(t, "secret")
	_, stranger := codecs(t, "other")
	_, plain := codecs(t)
	var m Message
	var l Lists
	good := encoded(t, from, Message{Kind: Heartbeat})[0]
	if err := to.codec.parse(good, &m, &l); err != nil || len(good) != 64 {
		t.Errorf("%v, %d bytes", err, len(good))
	}
	for _, c := range [][]byte{
		encoded(t, stranger, Message{Kind: Heartbeat})[0],
		encoded(t, plain, Message{Kind: Heartbeat})[0],
		append(append([]byte(nil), good[:HeaderSize]...), good[HeaderSize+1:]...),
	} {
		if err := to.codec.parse(c, &m, &l); !errors.Is(err, errCode) {
			t.Errorf("%x: %v", c, err)
		}
	}
	other := to.codec
	other.self = to.cfg.Table.Lookup(testID(3))
	if err := other.parse(good, &m, &l); !errors.Is(err, errCode) {
		t.Errorf("to another node: %v", err)
	}
	lists := encoded(t, from, Message{Kind: Update, Lists: &Lists{Alive: []Member{{from.cfg.Table.Lookup(testID(4)), v(1, 1)}}}})[0]
	if err := to.codec.parse(lists, &m, &l); err != nil || len(l.Alive) != 1 {
		t.Errorf("lists: %v", err)
	}
}

// TestCodeOnWire: MS-A33: the code is the beginning of HMAC-SHA-256, with the key
// itself, over the receiver's short form and the message.
func TestCodeOnWire(t *testing.T) {
	_, from := codecs(t, "secret")
	b := encoded(t, from, Message{Kind: Heartbeat})[0]
	mac := hmac.New(sha256.New, []byte("secret................"))
	mac.Write(le64(testID(0).Position().short()))
	mac.Write(b[:len(b)-codeSize])
	if want := mac.Sum(nil)[:codeSize]; !hmac.Equal(b[len(b)-codeSize:], want) {
		t.Errorf("code %x, want %x", b[len(b)-codeSize:], want)
	}
}

// TestKeyRotation: MS-A33: while the key changes node by node, no message between two
// nodes is refused, and in the end the old key is worth nothing.
func TestKeyRotation(t *testing.T) {
	steps := [][]string{{"old"}, {"old", "new"}, {"new", "old"}, {"new"}}
	var m Message
	var l Lists
	verify := func(to, from []string) error {
		receiver, _ := codecs(t, to...)
		_, sender := codecs(t, from...)
		return receiver.codec.parse(encoded(t, sender, Message{Kind: Heartbeat})[0], &m, &l)
	}
	for i := range steps {
		for j := range steps {
			err := verify(steps[i], steps[j])
			if step := max(i, j) - min(i, j); step <= 1 && err != nil {
				t.Errorf("keys %v refuse what is signed with %v: %v", steps[i], steps[j], err)
			}
		}
	}
	if err := verify([]string{"new"}, []string{"old", "new"}); !errors.Is(err, errCode) {
		t.Errorf("the old key is still accepted: %v", err)
	}
}

// TestParts: a view that does not fit a message comes in several, each complete.
func TestParts(t *testing.T) {
	to, from := codecs(t, "k")
	from.join(3)
	from.codec.most = 1000
	for i := 1; i < 500; i++ {
		r, err := from.cfg.Table.Add(testID(i))
		if err != nil {
			t.Fatal(err)
		}
		if i != 1 {
			from.view.set(r, entry{inc: 5, minor: 1, state: inView})
		}
	}
	parts := encoded(t, from, Message{Kind: Base, Lists: &Lists{View: from.view.snapshot()}})
	seen := map[ID]bool{}
	for i, b := range parts {
		var m Message
		var l Lists
		if err := to.codec.parse(b, &m, &l); err != nil || len(b) > 1000 {
			t.Fatalf("part %d of %d bytes: %v", i, len(b), err)
		}
		if more, later := m.Flags&More != 0, m.Flags&Later != 0; more != (i < len(parts)-1) || later != (i > 0) {
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

// TestHeartbeatAllocations: a heartbeat allocates nothing, neither sent nor received,
// with a key.
func TestHeartbeatAllocations(t *testing.T) {
	to, from := codecs(t, "secret")
	msg := append([]byte(nil), encoded(t, from, Message{Kind: Heartbeat})[0]...)
	out := Output{}
	to.Step(0, Input{Kind: Join, Inc: 1}, &out)
	r := to.cfg.Table.Lookup(testID(1))
	to.Step(1, Input{Kind: Delivered, Message: &Message{Kind: LinkRequest, From: r, Version: v(3, 4), Roles: Random}}, &out)
	now := 20 * to.cfg.Heartbeat
	for range 20 { // until all is settled
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

// FuzzParse: nothing that arrives panics, and what is understood is written as it was.
func FuzzParse(f *testing.F) {
	to, from := codecs(f)
	ref := func(i int) Ref { return from.cfg.Table.Lookup(testID(i)) }
	for _, m := range []Message{
		{Kind: Heartbeat},
		{Kind: LinkRequest},
		{Kind: LinkRefuse, Reason: Redirect, About: ref(3), AboutVersion: v(1, 1)},
		{Kind: Base, Flags: Repair, Lists: &Lists{Alive: []Member{{ref(2), v(1, 1)}}, Removed: []Member{{ref(2), v(1, 1)}}}},
		{Kind: Update, Lists: &Lists{Leaves: []Departure{{ref(2), v(7, 2), -3}}, Suspicions: []Suspicion{{ref(2), ref(3), v(1, 1)}}}},
		{Kind: Notice, Lists: &Lists{Suspicions: []Suspicion{{ref(2), ref(3), v(1, 1)}}, Silences: []Suspicion{{ref(3), ref(2), v(1, 1)}}}},
		{Kind: AttributeDigest, Lists: &Lists{Tables: []TableVersion{{ref(2), 7, 9}}}},
		{Kind: AttributeData, Lists: &Lists{Data: []TableData{{Owner: ref(2), Inc: 7, To: 5, Entries: []Attribute{{Key: "a", U: 2}}}}}},
	} {
		for _, b := range encoded(f, from, m) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		var l Lists
		if err := to.codec.parse(b, &m, &l); err != nil || m.From == 0 {
			return
		}
		if to.cfg.Table.Len() > 10_000 {
			to.cfg.Table.forget(bitmap{0xFFFF})
		}
		if l.Removed == nil && len(l.Suspicions) == 0 && m.Lists == nil {
			if again := to.codec.appendFixed(nil, &m); string(again) != string(b) {
				t.Errorf("%x\nis written as\n%x", b, again)
			}
		}
	})
}

// FuzzStep: a machine that takes part bears whatever arrives.
func FuzzStep(f *testing.F) {
	_, from := codecs(f)
	for _, m := range []Message{{Kind: LinkRequest, Roles: Random}, {Kind: Heartbeat}, {Kind: DiscoveryRequest, Flags: Healing}} {
		f.Add(encoded(f, from, m)[0], encoded(f, from, Message{Kind: LinkDrop, Reason: NoLink})[0])
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
