package portals

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/cputime"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

const million = 1_000_000

// crowd is a unique portal with a million MEs, each with an MD, and a Go map with the same
// keys for comparison.
type crowd struct {
	tb     testing.TB
	table  *Table
	rand   *rand.Rand
	keys   []matchKey
	mes    []MEHandle
	ground map[matchKey]uint32
	sum    uint32 // sum of the values that look-ups have found
}

const crowded = 9 // number of the portal that has the million MEs

func newCrowd(tb testing.TB) *crowd {
	node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	tb.Cleanup(func() {
		if err := node.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	c := &crowd{
		tb: tb, table: New(node), rand: rand.New(rand.NewPCG(1, 2)),
		keys: make([]matchKey, million), mes: make([]MEHandle, million),
		ground: make(map[matchKey]uint32, million),
	}
	for i := range c.keys {
		peer := nid.ProcessID{NID: nid.From4(0x0002_0000_0A00_0000 | uint64(i%50_000)), PID: nid.LustrePID}
		c.keys[i] = matchKey{c.rand.Uint64(), peer}
		c.ground[c.keys[i]] = uint32(i)
	}
	return c
}

// sample draws the numbers of n keys, each at most once and none of the excluded ones.
func (c *crowd) sample(n int, excluded []int) (numbers []int) {
	drawn := make(map[int]bool, n+len(excluded))
	for _, i := range excluded {
		drawn[i] = true
	}
	for len(numbers) < n {
		if i := c.rand.IntN(million); !drawn[i] {
			drawn[i] = true
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func (c *crowd) lookUp(i int) { c.sum += c.ground[c.keys[i]] }

func (c *crowd) attach(i int) {
	me, err := c.table.MEAttach(crowded, Match{ID: c.keys[i].id, Bits: c.keys[i].bits}, Unlink, After)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.mes[i] = me
}

func (c *crowd) give(i int) {
	if _, err := c.table.MDAttach(c.mes[i], MD{Threshold: ThresholdInfinite, Options: OpPut}, Unlink); err != nil {
		c.tb.Fatal(err)
	}
}

// match finds an ME as for an incoming PUT, begins the operation on its MD, and undoes that.
func (c *crowd) match(i int) {
	k := &c.keys[i]
	p := &c.table.portals[crowded]
	p.mu.Lock()
	d, _, _, out := c.table.match(p, &request{op: OpPut, id: k.id, source: k.id.NID, bits: k.bits})
	p.mu.Unlock()
	if out != matched {
		c.tb.Fatalf("key %d: outcome %d", i, out)
	}
	d.refs--
	d.mu.Unlock()
}

func (c *crowd) unlink(i int) {
	if err := c.table.MEUnlink(c.mes[i]); err != nil {
		c.tb.Fatal(err)
	}
}

// each returns the mean CPU time that f takes for a number. On a busy machine real time would include
// the time of other processes.
func each(numbers []int, f func(i int)) time.Duration {
	return cputime.Of(func() {
		for _, i := range numbers {
			f(i)
		}
	}) / time.Duration(len(numbers))
}

func liveHeap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// mostLookups bounds the time of a call, as a multiple of the time of a look-up in a Go map. On a
// quiet machine a call takes 3 to 5 look-ups, and up to 6 if other programs use the CPU's caches too.
// A search whose time grows with the number of MEs takes thousands.
const mostLookups = 10

// TestMillion: there are a million MEs. Attaching one more, finding it, and unlinking it with its MD each
// take not much more time than a look-up of the same key in a Go map of that size.
func TestMillion(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" || effort.Race {
		t.Skip("takes seconds and a third of a GiB: set ULNET_LONG, without the race detector")
	}
	c := newCrowd(t)
	all := c.rand.Perm(million)
	before := liveHeap()
	fill := each(all, c.attach)
	size := (liveHeap() - before) / million
	each(all, c.give)

	times := make(map[string][]time.Duration)
	measure := func(name string, numbers []int, f func(int)) {
		times[name] = append(times[name], each(numbers, f))
	}
	var out []int // numbers of the MEs that the round before has unlinked; they are no longer in the CPU's caches
	for range 51 {
		unlinked := c.sample(4000, out)
		measure("map", c.sample(4000, nil), c.lookUp)
		measure("match", c.sample(4000, out), c.match)
		measure("unlink", unlinked, c.unlink)
		if out != nil {
			measure("attach", out, c.attach)
			each(out, c.give)
		}
		out = unlinked
	}
	median := func(name string) time.Duration {
		slices.Sort(times[name])
		return times[name][len(times[name])/2]
	}
	yardstick := median("map")
	t.Logf("map look-up %v; %d bytes per ME; the first million attached at %v each", yardstick, size, fill)
	for _, name := range []string{"attach", "match", "unlink"} {
		took := median(name)
		ratio := float64(took) / float64(yardstick)
		t.Logf("%s: %v, %.2f look-ups", name, took, ratio)
		if ratio > mostLookups {
			t.Errorf("%s takes %.2f look-ups of a map, want at most %d", name, ratio, mostLookups)
		}
	}
	if size > 100 {
		t.Errorf("%d bytes per ME, want at most 100", size)
	}
}

// BenchmarkMillion measures each call among a million MEs, and the look-up in a map.
func BenchmarkMillion(b *testing.B) {
	c := newCrowd(b)
	all := c.rand.Perm(million)
	each(all, c.attach)
	each(all, c.give)
	run := func(name string, f func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				f(all[n%million])
			}
		})
	}
	run("map", c.lookUp)
	run("match", c.match)
	run("sweep of all", func(int) { c.table.sweep() })
	run("unlink+attach", func(i int) {
		c.unlink(i)
		c.attach(i)
		c.give(i)
	})
}
