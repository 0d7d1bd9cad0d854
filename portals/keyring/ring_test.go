package keyring_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

const (
	one = "0123456789abcdef"
	two = "fedcba9876543210"
)

var (
	a = nid.MustParse("10.0.0.1@tcp")
	b = nid.MustParse("10.0.0.2@tcp2")
	c = nid.MustParse("fe80::1@tcp")
)

func keysOf(t testing.TB, keys ...string) keyring.Keys {
	t.Helper()
	var all [][]byte
	for _, k := range keys {
		all = append(all, []byte(k))
	}
	k, err := keyring.NewKeys(all...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestGolden: codes equal those of Python's hmac module, with the key itself for label "" and
// with HKDF (RFC 5869) for others.
func TestGolden(t *testing.T) {
	spec.Covers(t, "KR-1")
	for _, test := range []struct {
		label string
		to    keyring.Binding
		want  string
	}{
		{"gossip", keyring.Binding{}.Number(7), "ded30184b5928ad10c4cb200"},
		{"", keyring.Binding{}.Number(7), "9ad4861de78b8971e3fd2a66"},
		{"gossip", keyring.Between(a, b), "a4b722afb21d95f88620b975"},
	} {
		got := keysOf(t, one).Ring(test.label).Append([]byte("message"), 0, test.to)
		if want := hex.EncodeToString([]byte("message")) + test.want; hex.EncodeToString(got) != want {
			t.Errorf("label %q: %x, want %s", test.label, got, want)
		}
	}
}

// TestVerify: a code verifies only with the signed message, the same label and binding, and
// one of the keys.
func TestVerify(t *testing.T) {
	spec.Covers(t, "KR-1")
	keys := keysOf(t, one)
	ring, to := keys.Ring("gossip"), keyring.Between(a, b)
	signed := ring.Append([]byte("header, body"), 8, to)
	if got := string(signed[:12]); got != "header, body" || len(signed) != 12+keyring.CodeSize {
		t.Fatalf("%q, %d bytes", got, len(signed))
	}
	signed = signed[8:]
	if m, ok := ring.Verify(signed, to); !ok || string(m) != "body" {
		t.Fatalf("%q, %v", m, ok)
	}
	if !ring.VerifyCode(signed[4:], to, []byte("bo"), nil, []byte("dy")) {
		t.Error("a message in parts does not verify")
	}
	for what, with := range map[string]struct {
		ring *keyring.Ring
		to   keyring.Binding
	}{
		"another protocol":  {keys.Ring("scoll"), to},
		"no label":          {keys.Ring(""), to},
		"another key":       {keysOf(t, two).Ring("gossip"), to},
		"no key":            {nil, to},
		"another receiver":  {ring, keyring.Between(a, c)},
		"another sender":    {ring, keyring.Between(c, b)},
		"the way back":      {ring, keyring.Between(b, a)},
		"nothing":           {ring, keyring.Binding{}},
		"a number as well":  {ring, keyring.Between(a, b).Number(0)},
		"the receiver only": {ring, keyring.Binding{}.NID(b)},
	} {
		if _, ok := with.ring.Verify(signed, with.to); ok {
			t.Errorf("%s: it verifies", what)
		}
	}
	for i := range signed {
		for bit := range 8 {
			changed := slices.Clone(signed)
			changed[i] ^= 1 << bit
			if _, ok := ring.Verify(changed, to); ok {
				t.Errorf("it verifies with bit %d of byte %d changed", bit, i)
			}
		}
		if _, ok := ring.Verify(signed[:i], to); ok {
			t.Errorf("%d of %d bytes verify", i, len(signed))
		}
	}
}

// TestRotation: the first key signs, both verify, and the counters tell when the old
// one can be removed.
func TestRotation(t *testing.T) {
	spec.Covers(t, "KR-2")
	to := keyring.Binding{}.Number(1)
	rings := map[string]*keyring.Ring{}
	for name, keys := range map[string][]string{"old": {one}, "old new": {one, two}, "new old": {two, one}, "new": {two}} {
		rings[name] = keysOf(t, keys...).Ring("x")
	}
	for _, test := range []struct {
		from, to string
		ok       bool
	}{
		{"old", "old new", true},
		{"old new", "old", true},
		{"old new", "new old", true},
		{"new old", "old new", true},
		{"new old", "new", true},
		{"new", "new old", true},
		{"old", "new", false},
		{"new", "old", false},
		{"old new", "new", false},
		{"new old", "old", false},
	} {
		if _, ok := rings[test.to].Verify(rings[test.from].Append(nil, 0, to), to); ok != test.ok {
			t.Errorf("signed with %q, verified with %q: %v", test.from, test.to, ok)
		}
	}
	if got := rings["new old"].Verified; got != [2]uint64{1, 1} {
		t.Errorf("verified by key: %v", got)
	}
}

// TestClone: a clone has the same keys, and shares no mutable state.
func TestClone(t *testing.T) {
	ring, to := keysOf(t, one, two).Ring("x"), keyring.Binding{}.NID(a)
	signed := ring.Append([]byte("m"), 0, to)
	clone := ring.Clone()
	done := make(chan bool)
	go func() {
		ok := true
		for range 100 {
			_, verified := clone.Verify(signed, to)
			ok = ok && verified
		}
		done <- ok
	}()
	for range 100 {
		if !bytes.Equal(ring.Append([]byte("m"), 0, to), signed) {
			t.Error("the ring signs otherwise")
		}
	}
	if !<-done || clone.Verified[0] != 100 || ring.Verified[0] != 0 {
		t.Errorf("clone verified %v, the ring %v", clone.Verified, ring.Verified)
	}
	if (*keyring.Ring)(nil).Clone().On() {
		t.Error("a clone of no ring has keys")
	}
}

// TestNoKeys: without keys there is no ring, and no code is appended.
func TestNoKeys(t *testing.T) {
	ring := keyring.Keys{}.Ring("x")
	if ring.On() || string(ring.Append([]byte("m"), 0, keyring.Binding{})) != "m" {
		t.Error("no keys sign")
	}
}

// TestAllocations: a ring allocates nothing when it is reused.
func TestAllocations(t *testing.T) {
	ring, buf := keysOf(t, one, two).Ring("x"), make([]byte, 0, 256)
	other := keysOf(t, two).Ring("x")
	message := []byte("some message")
	allocations := testing.AllocsPerRun(100, func() {
		signed := other.Append(append(buf, message...), 0, keyring.Between(a, b))
		if _, ok := ring.Verify(signed, keyring.Between(a, b)); !ok {
			t.Fatal("it does not verify")
		}
		code := other.AppendCode(signed, keyring.Binding{}.Number(3), message, signed)[len(signed):]
		if !ring.VerifyCode(code, keyring.Binding{}.Number(3), message, signed) {
			t.Fatal("parts do not verify")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func ExampleRing() {
	keys, err := keyring.Parse([]byte("# of 2026\nfe9b5f0e7c8c1d0a4d5f\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	self, peer := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	there, here := keys.Ring("example"), keys.Ring("example")
	data := there.Append([]byte("hello"), 0, keyring.Between(peer, self))
	message, ok := here.Verify(data, keyring.Between(peer, self))
	fmt.Println(string(message), ok)
	// Output: hello true
}
