//go:build ibverbs && cgo && linux

package ibv

import (
	"testing"

	"pgregory.net/rapid"

	"ulnet/lnd/verbs"
)

// fakeSlabs makes slabs of Go's memory, and counts those that are not freed.
type fakeSlabs struct{ live, made int }

func (f *fakeSlabs) new(sizeBytes int) (slab, error) {
	f.live++
	f.made++
	return slab{bytes: make([]byte, sizeBytes), base: uint64(f.made) << 32, key: uint32(f.made), free: func() { f.live-- }}, nil
}

// TestRing: whatever is posted, done by the device and settled, each completes once and in
// order, those are told that are to be, and the memory of all is let go.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var slabs fakeSlabs
		b := &bounce{newSlab: slabs.new}
		r := newRing(rapid.IntRange(1, 9).Draw(t, "most"), b)
		r.head = rapid.SampledFrom([]uint64{0, 1<<32 - 3}).Draw(t, "start")
		r.tail = r.head
		held := newLease(func() {})
		type posted struct {
			id    uint64
			place uint32
			told  bool
			want  verbs.Status
			done  bool // without the device
		}
		var model []posted
		next := uint64(0)
		check := func(got []verbs.Completion, n int) {
			t.Helper()
			for _, p := range model[:n] {
				if !p.told && p.want == verbs.Success {
					continue
				}
				if len(got) == 0 || got[0].ID != p.id || got[0].Status != p.want || got[0].QPN != 5 {
					t.Fatalf("told %+v, want %+v", got, p)
				}
				got = got[1:]
			}
			if len(got) != 0 {
				t.Fatalf("told too much: %+v", got)
			}
			model = model[n:]
		}
		settled := func(n int) int {
			for n < len(model) && model[n].done {
				n++
			}
			return n
		}
		push := func(t *rapid.T) {
			if r.free() == 0 {
				return
			}
			next++
			p := posted{id: next, place: uint32(r.tail), told: rapid.Bool().Draw(t, "signaled")}
			s := r.push(next, verbs.Send, p.told)
			held.hold()
			s.leases = append(s.leases, held)
			if s.copied, _ = b.get(10); len(s.copied.bytes) != 10 {
				t.Fatal("no memory")
			}
			model = append(model, p)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": push,
			"cancel": func(t *rapid.T) {
				start, n := r.tail, len(model)
				push(t)
				r.cancel(start)
				model = model[:n]
			},
			"complete": func(t *rapid.T) {
				i := rapid.IntRange(0, len(model)).Draw(t, "which")
				status := rapid.SampledFrom([]verbs.Status{verbs.Success, verbs.Flushed}).Draw(t, "status")
				if i == len(model) || model[i].done {
					return // the device knows no others
				}
				model[i].want = status
				check(r.complete(model[i].place, status, 5, nil), settled(i+1))
			},
			"strange": func(t *rapid.T) {
				place := rapid.Uint32().Draw(t, "place")
				if uint64(place-uint32(r.head)) < uint64(len(model)) {
					return
				}
				check(r.complete(place, verbs.Success, 5, nil), 0)
			},
			"settle": func(t *rapid.T) {
				i := rapid.IntRange(0, len(model)).Draw(t, "from")
				r.settle(r.head+uint64(i), verbs.Flushed)
				for j := i; j < len(model); j++ {
					if !model[j].done {
						model[j].done, model[j].want = true, verbs.Flushed
					}
				}
				check(r.sweep(5, nil), settled(0))
			},
			"": func(t *rapid.T) {
				if n := held.holders.Load(); int(n) != 1+len(model) || b.lent != len(model) || r.length() != len(model) {
					t.Fatalf("%d holders and %d slots, %d are posted", n, b.lent, len(model))
				}
			},
		})
		r.settle(r.head, verbs.Flushed)
		r.sweep(5, nil)
		b.close()
		if slabs.live != 0 {
			t.Fatalf("%d slabs are left", slabs.live)
		}
	})
}

// TestLease: the end comes once, with the last holder, and is final.
func TestLease(t *testing.T) {
	ends := 0
	l := newLease(func() { ends++ })
	if !l.hold() {
		t.Fatal("it has ended at its beginning")
	}
	l.release()
	if ends != 0 {
		t.Error("it ends while it is held")
	}
	l.release()
	if ends != 1 || l.hold() {
		t.Errorf("it ended %d times, or is held again", ends)
	}
	defer func() {
		if recover() == nil {
			t.Error("it was released once more than it was held")
		}
	}()
	l.release()
}

// TestBounce: slots do not overlap, are as long as is asked for, and bounded.
func TestBounce(t *testing.T) {
	var slabs fakeSlabs
	b := &bounce{newSlab: slabs.new}
	seen := map[uint64]bool{}
	var all []slot
	for _, n := range []int{1, 512, 513, 4096, 4097, longestCopy} {
		for range 5 {
			s, err := b.get(n)
			if err != nil || len(s.bytes) != n || cap(s.bytes) < n || seen[s.base] {
				t.Fatalf("%d bytes: %d, capacity %d, %v", n, len(s.bytes), cap(s.bytes), err)
			}
			seen[s.base] = true
			all = append(all, s)
		}
	}
	if _, err := b.get(longestCopy + 1); err == nil {
		t.Error("too long, but copied")
	}
	for _, s := range all {
		b.put(s)
	}
	made := slabs.made
	for range all {
		if s, err := b.get(600); err != nil || len(s.bytes) != 600 {
			t.Fatal(err)
		}
	}
	if slabs.made != made {
		t.Error("slots are not used again")
	}
	bound := 0
	for ; ; bound++ {
		if _, err := b.get(longestCopy); err != nil {
			if err != verbs.ErrFull {
				t.Error(err)
			}
			break
		}
	}
	if bound > mostBounce/longestCopy {
		t.Errorf("%d slots of 64 KiB", bound)
	}
}
