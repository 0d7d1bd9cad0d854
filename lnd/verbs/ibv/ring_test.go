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

// postedRequest is what ringModel knows of a work request.
type postedRequest struct {
	id    uint64
	index uint32
	told  bool
	want  verbs.Status
	done  bool // the device need not complete it, because the ring has settled it
}

// ringModel has a ring, and the requests that are posted there.
type ringModel struct {
	slabs  fakeSlabs
	bounce *bounce
	ring   ring
	held   *lease // held by each posted request, and by the model
	posted []postedRequest
	next   uint64
}

func newRingModel(t *rapid.T) *ringModel {
	m := &ringModel{held: newLease(func() {})}
	m.bounce = &bounce{newSlab: m.slabs.new}
	m.ring = newRing(rapid.IntRange(1, 9).Draw(t, "most"), m.bounce)
	m.ring.head = rapid.SampledFrom([]uint64{0, 1<<32 - 3}).Draw(t, "start")
	m.ring.tail = m.ring.head
	return m
}

// check checks that got has the completions of the next n requests, in order, and nothing else. A
// request that succeeds and is not signaled has no completion.
func (m *ringModel) check(t *rapid.T, got []verbs.Completion, n int) {
	t.Helper()
	for _, p := range m.posted[:n] {
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
	m.posted = m.posted[n:]
}

// settled returns how many of the oldest requests are completed when the device has completed n:
// these n, and those directly after them that complete without the device.
func (m *ringModel) settled(n int) int {
	for n < len(m.posted) && m.posted[n].done {
		n++
	}
	return n
}

func (m *ringModel) push(t *rapid.T) {
	if m.ring.free() == 0 {
		return
	}
	m.next++
	p := postedRequest{id: m.next, index: uint32(m.ring.tail), told: rapid.Bool().Draw(t, "signaled")}
	s := m.ring.push(m.next, verbs.Send, p.told)
	m.held.hold()
	s.leases = append(s.leases, m.held)
	if s.copied, _ = m.bounce.get(10); len(s.copied.bytes) != 10 {
		t.Fatal("no memory")
	}
	m.posted = append(m.posted, p)
}

func (m *ringModel) cancel(t *rapid.T) {
	start, n := m.ring.tail, len(m.posted)
	m.push(t)
	m.ring.cancel(start)
	m.posted = m.posted[:n]
}

func (m *ringModel) complete(t *rapid.T) {
	i := rapid.IntRange(0, len(m.posted)).Draw(t, "which")
	status := drawStatus(t)
	if i == len(m.posted) || m.posted[i].done {
		return // the device can only complete posted requests
	}
	m.posted[i].want = status
	m.check(t, m.ring.complete(m.posted[i].index, status, 5, nil), m.settled(i+1))
}

func drawStatus(t *rapid.T) verbs.Status {
	return rapid.SampledFrom([]verbs.Status{verbs.Success, verbs.Flushed}).Draw(t, "status")
}

// strange completes a work request that was never posted.
func (m *ringModel) strange(t *rapid.T) {
	index := rapid.Uint32().Draw(t, "index")
	if uint64(index-uint32(m.ring.head)) < uint64(len(m.posted)) {
		return
	}
	m.check(t, m.ring.complete(index, verbs.Success, 5, nil), 0)
}

func (m *ringModel) settle(t *rapid.T) {
	i := rapid.IntRange(0, len(m.posted)).Draw(t, "from")
	status := drawStatus(t)
	m.ring.settle(m.ring.head+uint64(i), status)
	for j := i; j < len(m.posted); j++ {
		if !m.posted[j].done {
			m.posted[j].done, m.posted[j].want = true, status
		}
	}
	m.check(t, m.ring.sweep(5, nil), m.settled(0))
}

func (m *ringModel) invariants(t *rapid.T) {
	if n := m.held.holders.Load(); int(n) != 1+len(m.posted) || m.bounce.taken != len(m.posted) || m.ring.length() != len(m.posted) {
		t.Fatalf("%d holders and %d slots, %d are posted", n, m.bounce.taken, len(m.posted))
	}
}

// TestRing: requests are posted, taken back, completed by the device, and completed without it.
// Each request completes once and in order, is reported if it must be, and releases its memory.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newRingModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"push": m.push, "cancel": m.cancel, "complete": m.complete, "strange": m.strange, "settle": m.settle,
			"": m.invariants,
		})
		m.ring.settle(m.ring.head, verbs.Flushed)
		m.ring.sweep(5, nil)
		m.bounce.close()
		if m.slabs.live != 0 {
			t.Fatalf("%d slabs are left", m.slabs.live)
		}
	})
}

// TestLease: the function is called once, when the last holder releases the lease, which
// cannot be held again then.
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

// TestBounce: slots do not overlap, have the requested length, and are limited in number.
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
