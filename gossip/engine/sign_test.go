package engine

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// keysOf returns a key for each word. The bytes of the key begin with the word.
func keysOf(t testing.TB, words ...string) keyring.Keys {
	t.Helper()
	var keys [][]byte
	for _, w := range words {
		keys = append(keys, []byte(w+"................"))
	}
	k, err := keyring.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signed returns the first ping, signed with keys, that participant self sends to participant to.
func signed(t testing.TB, n, self, to int, keys keyring.Keys) []byte {
	t.Helper()
	h := newHarness(t, n, self, func(c *Config) { c.Keys = keys })
	for range 1000 {
		h.cycles(1)
		for i := range h.sends {
			if s := &h.sends[i]; !s.Reply && s.To == h.list.NID(to) {
				return slices.Clone(s.Data(&h.out))
			}
		}
	}
	t.Fatal("it never pings that one")
	return nil
}

// TestSignedMessage: a signed ping consists of the unsigned ping with the flag set, and a code
// that equals the result of Python's hmac module.
func TestSignedMessage(t *testing.T) {
	plain, with := signed(t, 2, 0, 1, keyring.Keys{}), signed(t, 2, 0, 1, keysOf(t, "key"))
	want := slices.Clone(plain)
	want[2] |= byte(wire.FlagSigned)
	if body := with[:len(with)-keyring.CodeSize]; !bytes.Equal(body, want) {
		t.Errorf("signed %x\nplain  %x", with, plain)
	}
	if code := hex.EncodeToString(with[len(with)-keyring.CodeSize:]); code != "6e6063a055f0323572600ede" {
		t.Errorf("code %s of %x", code, with[:len(with)-keyring.CodeSize])
	}
	m, err := wire.ParseMessage(wire.PingBits, with)
	if err != nil || m.Flags&wire.FlagSigned == 0 || len(m.Entries) != 2 {
		t.Errorf("an observer reads %+v, %v", m, err)
	}
	if m.Flags.String() != "params,signed" {
		t.Errorf("flags %v", m.Flags)
	}
}

// TestNotSigned: a message's code must be made with the cluster's key for this sender and
// receiver. A message with any other code changes only a counter, and is reported once for each
// participant.
func TestNotSigned(t *testing.T) {
	spec.Covers(t, "GO-80")
	const n = 4
	key, other := keysOf(t, "key"), keysOf(t, "other")
	good, plain := signed(t, n, 1, 0, key), signed(t, n, 1, 0, keyring.Keys{})
	flagOff := slices.Clone(good)
	flagOff[2] &^= byte(wire.FlagSigned)
	version := slices.Clone(good)
	version[0]++
	for _, c := range []struct {
		what string
		keys keyring.Keys
		from int
		kind Kind
		data []byte
	}{
		{"no code", key, 1, Ping, plain},
		{"another key", key, 1, Ping, signed(t, n, 1, 0, other)},
		{"in another one's name", key, 2, Ping, good},
		{"made for another node", key, 1, Ping, signed(t, n, 1, 2, key)},
		{"a ping as a reply", key, 1, Reply, good},
		{"without the flag", key, 1, Ping, flagOff},
		{"another version", key, 1, Ping, version},
		{"cut short", key, 1, Ping, good[:len(good)-1]},
		{"a code only", key, 1, Ping, good[len(good)-keyring.CodeSize:]},
		{"nothing", key, 1, Ping, nil},
		{"signed, where there is no key", keyring.Keys{}, 1, Ping, good},
	} {
		h := newHarness(t, n, 0, func(cfg *Config) { cfg.Keys, cfg.Strict = c.keys, true })
		h.cycles(1)
		before := bytes.Clone(h.m.ages.Bytes())
		var events []Event
		for range 3 {
			h.step(Input{Kind: c.kind, From: h.list.NID(c.from), Data: c.data})
			events = append(events, h.out.Events...)
			h.step(Input{Kind: c.kind, From: nid.MustParse("10.9.9.9@tcp"), Data: c.data})
			events = append(events, h.out.Events...)
		}
		if s := h.m.Stats(); s.NotSigned != 6 || s.RepliesSent > 0 || !bytes.Equal(h.m.ages.Bytes(), before) || h.m.Clock() != 1 || h.m.Stopped() {
			t.Errorf("%s: %+v, clock %d, ages %v", c.what, s, h.m.Clock(), h.m.ages.Bytes())
		}
		if !slices.Equal(kinds(events), []EventKind{NotSigned}) || events[0].NID != h.list.NID(c.from) {
			t.Errorf("%s: told %+v", c.what, events)
		}
	}
	h := newHarness(t, n, 0, func(cfg *Config) { cfg.Keys = key })
	var events []Event
	for range 5 {
		for _, data := range [][]byte{plain, good} {
			h.step(Input{Kind: Ping, From: h.list.NID(1), Data: data})
			events = append(events, h.out.Events...)
			if e, _ := h.m.Explain(h.list.NID(1)); e.Refused != []Refusal{NotRefused, RefusedCode}[(h.m.Stats().NotSigned-h.m.Stats().PingsReceived)%2] {
				t.Errorf("explained with %v after %+v", e.Refused, h.m.Stats())
			}
		}
	}
	if s := h.m.Stats(); s.PingsReceived != 5 || s.NotSigned != 5 {
		t.Errorf("good ones in between: %+v", s)
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return e.Kind != NotSigned })
	if len(events) != 1 {
		t.Errorf("told %d times", len(events))
	}
}

// TestKeyRotation: while the key changes from node to node in three steps, no participant
// appears dead, and no message is refused.
func TestKeyRotation(t *testing.T) {
	c := &troubled{t: t, rng: rand.New(rand.NewPCG(1, 1)), old: testList(t, 6)}
	steps := []keyring.Keys{keysOf(t, "old"), keysOf(t, "old", "new"), keysOf(t, "new", "old"), keysOf(t, "new")}
	for _, id := range testNIDs(6) {
		c.nodes = append(c.nodes, &troubledNode{id: id})
	}
	for _, n := range c.nodes {
		c.boot(n, c.old)
		n.m.SetKeys(steps[0])
	}
	c.pass(2 * c.nodes[0].m.Limits().Stealth)
	c.honest("before")
	for _, keys := range steps[1:] {
		for _, n := range c.nodes {
			n.m.SetKeys(keys)
			c.pass(3)
		}
	}
	c.pass(c.nodes[0].m.Limits().Stealth)
	c.honest("after")
	for _, n := range c.nodes {
		if s := n.m.Stats(); s.NotSigned > 0 || c.deaths() > 0 {
			t.Errorf("%v: %+v, %d deaths", n.id, s, c.deaths())
		}
	}
}
