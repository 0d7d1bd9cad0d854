package softroce

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

const both = verbs.LocalWrite | verbs.RemoteWrite

// register registers pieces of memory with margins between and around them. It returns the
// pieces, and all memory including the margins.
func register(t testing.TB, d *domain, sizes ...int) (r *region, pieces [][]byte, all []byte) {
	t.Helper()
	const margin = 8
	total := margin
	for _, n := range sizes {
		total += n + margin
	}
	all = make([]byte, total)
	at := margin
	for _, n := range sizes {
		pieces = append(pieces, all[at:at+n])
		at += n + margin
	}
	mr, err := d.Register(pieces, both)
	if err != nil {
		t.Fatal(err)
	}
	return mr.(*region), pieces, all
}

// TestRegionWrite writes at random, at and beyond the bounds: data inside the bounds arrives
// where it belongs, data beyond them changes nothing.
func TestRegionWrite(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	r, pieces, all := register(t, d, 1, 0, 4096, 17, 100)
	flat := make([]byte, r.length)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		at, n := rng.IntN(len(flat)+20)-10, rng.IntN(200)
		if rng.IntN(50) == 0 {
			n = len(flat) - max(at, 0)
		}
		b := make([]byte, max(n, 0))
		for i := range b {
			b[i] = byte(rng.Uint32() | 1)
		}
		address := r.base + uint64(at)
		inside := at >= 0 && at+len(b) <= len(flat)
		if d.Check(r.key, address, uint32(len(b))) != inside || d.Write(r.key, address, b) != inside {
			t.Fatalf("%d bytes at %d of %d", len(b), at, len(flat))
		}
		if inside {
			copy(flat[at:], b)
		}
	}
	if !bytes.Equal(bytes.Join(pieces, nil), flat) {
		t.Error("not what was written")
	}
	for _, p := range pieces {
		clear(p)
	}
	if !bytes.Equal(all, make([]byte, len(all))) {
		t.Error("bytes outside of the region were written")
	}
}

// TestRegionRefuses: ranges that overflow, other domains, other keys, and regions that are not
// for writing are refused.
func TestRegionRefuses(t *testing.T) {
	table := newRegionTable(randomNumbers{})
	d, other := &domain{table}, &domain{table}
	r, _, _ := register(t, d, 100)
	readOnly, err := d.Register([][]byte{make([]byte, 100)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	ro := readOnly.(*region)
	for name, ok := range map[string]bool{
		"all": !d.Check(r.key, r.base, 100), "one more": d.Check(r.key, r.base, 101), "before": d.Check(r.key, r.base-1, 2),
		"overflow": d.Check(r.key, math.MaxUint64, 2), "wrap to the beginning": d.Check(r.key, math.MaxUint64, math.MaxUint32),
		"long": d.Check(r.key, r.base, math.MaxUint32), "another domain": other.Check(r.key, r.base, 1) || other.Write(r.key, r.base, []byte{1}),
		"another key": d.Check(r.key+1, r.base, 1), "key 0": d.Check(0, r.base, 1),
		"for sending alone": d.Check(ro.key, ro.base, 1) || d.Write(ro.key, ro.base, []byte{1}),
	} {
		if ok {
			t.Error(name)
		}
	}
	r.Deregister()
	if d.Check(r.key, r.base, 1) || d.Write(r.key, r.base, []byte{1}) {
		t.Error("deregistered")
	}
	r.Deregister()
	for _, access := range []verbs.Access{verbs.RemoteWrite, 4, 255} {
		if _, err := d.Register([][]byte{make([]byte, 1)}, access); err == nil {
			t.Errorf("access %d", access)
		}
	}
	if _, err := d.Register(nil, both); err == nil {
		t.Error("no memory")
	}
	if len(table.regions) != 1 {
		t.Errorf("%d regions", len(table.regions))
	}
}

// repeatingNumbers is a source that repeats each key.
type repeatingNumbers struct {
	randomNumbers
	n ibta.RKey
}

func (r *repeatingNumbers) RKey() ibta.RKey {
	r.n++
	return r.n / 4 % 50
}

// TestRegionNumbers: although the source of numbers repeats itself, keys differ, and none is
// 0. Each region begins at the address of a page.
func TestRegionNumbers(t *testing.T) {
	table := newRegionTable(&repeatingNumbers{})
	d := &domain{table}
	seen := make(map[ibta.RKey]bool)
	for range 40 {
		r, _, _ := register(t, d, 8)
		if seen[r.key] || r.key == 0 || r.base == 0 || r.base%4096 != 0 {
			t.Fatalf("key %#x, base %#x", r.key, r.base)
		}
		seen[r.key] = true
		if f := r.Frags(nil); len(f) != 1 || f[0] != (verbs.Frag{Address: r.base, Length: 8}) {
			t.Fatal(f)
		}
	}
}

// TestRegionDeregister deregisters memory while two goroutines write to it: after Deregister has
// returned, no byte of the memory changes.
func TestRegionDeregister(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	for range 50 {
		r, _, all := register(t, d, 3000, 3000)
		key, base := r.key, r.base
		done, began := make(chan int), make(chan struct{}, 2)
		for i := range 2 {
			go func() {
				b := bytes.Repeat([]byte{byte(i + 1)}, 6000)
				n := 0
				for ; d.Write(key, base, b); n++ {
					if n == 0 {
						began <- struct{}{}
					}
				}
				done <- n
			}()
		}
		<-began
		r.Deregister()
		clear(all) // the memory is ours again; the race detector checks this write
		<-done
		<-done
		if !bytes.Equal(all, make([]byte, len(all))) {
			t.Fatal("written after Deregister")
		}
	}
}

// TestRegionAllocations checks that writing allocates nothing.
func TestRegionAllocations(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	r, _, _ := register(t, d, 4096, 4096)
	b := make([]byte, 1024)
	if n := testing.AllocsPerRun(100, func() { d.Write(r.key, r.base+4000, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPool: the buffer that was returned last is taken first, and an empty pool is counted.
func TestPool(t *testing.T) {
	d := &domain{newRegionTable(randomNumbers{})}
	made, err := d.NewPool(verbs.PoolConfig{Buffers: 2, Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*bufferPool)
	a, _ := p.Take()
	b, ok := p.Take()
	if !ok || len(a.Bytes) != 100 || len(b.Bytes) != 100 || &a.Bytes[0] == &b.Bytes[0] {
		t.Fatal("not two buffers")
	}
	if _, ok := p.Take(); ok || p.Stats() != (verbs.PoolStats{Empty: 1}) {
		t.Errorf("a third, %+v", p.Stats())
	}
	a.Bytes = a.Bytes[:1]
	p.Return(a)
	again, ok := p.Take()
	if !ok || len(again.Bytes) != 100 || &again.Bytes[0] != &a.Bytes[0] {
		t.Error("not the whole of the first again")
	}
	p.Return(again)
	p.Return(b)
	for _, bad := range []verbs.Buffer{b, {Token: 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("buffer %d was taken back", bad.Token)
				}
			}()
			p.Return(bad)
		}()
	}
	if n := testing.AllocsPerRun(100, func() { x, _ := p.Take(); p.Return(x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if p.Stats().Free != 2 || p.Close() != nil {
		t.Error(p.Stats())
	}
	if _, ok := p.Take(); ok {
		t.Error("taken by a closed pool")
	}
	if _, err := d.NewPool(verbs.PoolConfig{Buffers: 1}); err == nil {
		t.Error("buffers of no bytes")
	}
}
