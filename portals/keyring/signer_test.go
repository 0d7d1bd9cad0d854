package keyring_test

import (
	"errors"
	"sync"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
)

// TestSigner: while keys change in three steps, two nodes verify each other's messages.
// Counters tell which key verified a message, and in the end the old key does not verify any
// more.
func TestSigner(t *testing.T) {
	spec.Covers(t, "KR-2", "KR-5")
	here, there, to := keysOf(t, one).Signer("x"), keysOf(t, one).Signer("x"), keyring.Between(a, b)
	verifies := func(from, at *keyring.Signer) bool {
		signed := from.Append([]byte("message"), to, []byte("mess"), []byte("age"))
		return at.Verify(signed[len("message"):], to, []byte("message"))
	}
	for i, keys := range []keyring.Keys{keysOf(t, one, two), keysOf(t, two, one), keysOf(t, two)} {
		if err := here.Set(keys); err != nil {
			t.Fatal(err)
		}
		if !verifies(here, there) || !verifies(there, here) {
			t.Fatalf("step %d: one does not verify what the other signed", i)
		}
		want := keyring.Stats{Keys: keys.Len(), Verified: [][2]uint64{{1, 0}, {0, 1}, {1, 0}}[i]}
		if got := here.Stats(); got != want {
			t.Errorf("step %d: %+v, want %+v", i, got, want)
		}
		if err := there.Set(keys); err != nil {
			t.Fatal(err)
		}
	}
	if old := keysOf(t, one).Signer("x"); verifies(old, here) || verifies(here, old) || here.Stats().Verified[0] != 1 {
		t.Errorf("the old key verifies: %+v", here.Stats())
	}
}

// TestSignerOnOff: keys can be changed, not introduced or removed.
func TestSignerOnOff(t *testing.T) {
	spec.Covers(t, "KR-2")
	on, off := keysOf(t, one).Signer("x"), keyring.Keys{}.Signer("x")
	if err := on.Set(keyring.Keys{}); !errors.Is(err, keyring.ErrOnOff) || !on.On() || on.CodeSize() != keyring.CodeSize {
		t.Errorf("off: %v, %+v", err, on.Stats())
	}
	if err := off.Set(keysOf(t, one)); !errors.Is(err, keyring.ErrOnOff) || off.On() || off.CodeSize() != 0 {
		t.Errorf("on: %v, %+v", err, off.Stats())
	}
	if err := off.Set(keyring.Keys{}); err != nil {
		t.Errorf("still off: %v", err)
	}
	signed := on.Append(nil, keyring.Binding{}, []byte("m"))
	if off.Verify(signed, keyring.Binding{}, []byte("m")) || len(off.Append(nil, keyring.Binding{}, []byte("m"))) > 0 || off.Stats() != (keyring.Stats{}) {
		t.Error("a signer without keys signs or verifies")
	}
}

// TestSignerBeside: goroutines sign and verify while the keys change; a test for the race
// detector.
func TestSignerBeside(t *testing.T) {
	s := keysOf(t, one).Signer("x")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if code := s.Append(nil, keyring.Binding{}, []byte("m")); !s.Verify(code, keyring.Binding{}, []byte("m")) {
					t.Error("a code does not verify")
				}
			}
		})
	}
	for i := range 100 {
		if err := s.Set([]keyring.Keys{keysOf(t, one, two), keysOf(t, two, one)}[i%2]); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}
