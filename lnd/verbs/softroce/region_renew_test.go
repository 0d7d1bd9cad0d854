package softroce

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// TestRegionRenew: a region that is registered again can be reached under its new key only,
// and consists of its new memory only.
func TestRegionRenew(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	r, old, _ := register(t, d, 100, 50)
	key, base := r.key, r.base
	if err := r.Renew(old, both); !errors.Is(err, errRegistered) {
		t.Errorf("while it is registered: %v", err)
	}
	r.Deregister()
	if err := r.Renew(nil, both); err == nil || d.table.len() != 0 {
		t.Errorf("without memory: %v, %d regions", err, d.table.len())
	}
	memory := make([]byte, 60)
	if err := r.Renew([][]byte{memory[:30], nil, memory[30:]}, both); err != nil {
		t.Fatal(err)
	}
	if r.key == key || d.table.len() != 1 {
		t.Errorf("key %#x as before, or %d regions", r.key, d.table.len())
	}
	if d.Check(key, base, 1) || d.Write(key, base, []byte{1}) || d.Check(r.key, r.base, 61) {
		t.Error("the old key still writes, or beyond the new memory")
	}
	b := bytes.Repeat([]byte{7}, 60)
	if !d.Check(r.key, r.base, 60) || !d.Write(r.key, r.base, b) || !bytes.Equal(memory, b) {
		t.Error("the new key does not write")
	}
	r.Deregister()
	if err := r.Renew([][]byte{memory}, 0); err != nil || d.Write(r.key, r.base, b) {
		t.Errorf("%v, or memory is written that was registered for reading", err)
	}
	if n := testing.AllocsPerRun(100, func() {
		r.Deregister()
		if err := r.Renew([][]byte{memory}, both); err != nil {
			t.Fatal(err)
		}
	}); n != 0 && !effort.Race {
		t.Errorf("%v allocations", n)
	}
}

// TestRegionRenewMeanwhile: two goroutines write by the keys of regions that are registered and
// deregistered at the same time. Memory that was deregistered is never written.
func TestRegionRenewMeanwhile(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	r, _, _ := register(t, d, 64)
	var running sync.WaitGroup
	defer running.Wait()
	keys := make(chan [2]uint64, 1)
	for range 2 {
		running.Go(func() {
			b := bytes.Repeat([]byte{1}, 64)
			for k := range keys {
				for range 20 { // many writes, of which some come too late
					d.Write(ibta.RKey(k[0]), k[1], b)
				}
			}
		})
	}
	for range 2000 {
		r.Deregister()
		memory := make([]byte, 64)
		if err := r.Renew([][]byte{memory}, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
			t.Fatal(err)
		}
		keys <- [2]uint64{uint64(r.key), r.base}
		r.Deregister()
		if had := bytes.Clone(memory); !bytes.Equal(had, memory) || !bytes.Equal(had, bytes.Repeat(had[:1], 64)) {
			t.Fatalf("% x", had)
		}
		if err := r.Renew([][]byte{make([]byte, 64)}, 0); err != nil {
			t.Fatal(err)
		}
	}
	close(keys)
}
