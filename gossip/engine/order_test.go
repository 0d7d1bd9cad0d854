package engine

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
)

// TestRulesInOrder compares the ages in the machine with the three rules of the design, applied
// to each age in their order, over random cycles, pings and replies (GO-17, GO-18, GO-19,
// GO-20, GO-21). Some replies arrive although this node sent no ping (GO-24).
func TestRulesInOrder(t *testing.T) {
	spec.Covers(t, "GO-17", "GO-18", "GO-19", "GO-20", "GO-21", "GO-24")
	rapid.Check(t, func(r *rapid.T) {
		const n, self = 11, 4
		h := newHarness(t, n, self, nil)
		want := bytes.Repeat([]byte{unheard}, n)
		want[self] = 0
		older := func(a byte) byte {
			if a < oldest {
				a++
			}
			return a
		}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			from := rapid.SampledFrom([]int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10}).Draw(r, "from")
			ages := rapid.SliceOfN(agesGen, n, n).Draw(r, "ages")
			ages[from] = 0
			switch rapid.SampledFrom([]string{"cycle", "ping", "reply"}).Draw(r, "step") {
			case "cycle":
				h.cycles(1)
				for i := range want {
					want[i] = older(want[i]) // rule 1: every age grows by a cycle
				}
			case "ping":
				h.ping(from, h.header(), ages...)
				for i := range want {
					want[i] = min(want[i], older(ages[i])) // rule 2: the younger of both ages is kept
				}
			case "reply":
				some := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID).Draw(r, "entries")
				slices.Sort(some)
				body := make([]byte, (n+7)/8)
				for _, i := range some {
					body[i/8] |= 1 << (i % 8)
					body = append(body, ages[i])
					want[i] = min(want[i], older(ages[i]))
				}
				header := h.header()
				header.Flags |= wire.FlagBitmap
				h.reply(from, header, body...)
				want[from] = min(want[from], 1) // the age of the sender is at most 1: it was heard directly
			}
			want[self] = 0 // rule 3: the node's own age is always 0
			if got := h.m.ages.Bytes(); !bytes.Equal(got, want) {
				r.Fatalf("ages %v, want %v", got, want)
			}
		}
	})
}

// TestLazyReply: a reply has the age of a participant if and only if it is lower than the age
// in the ping by at least 2 + fudge cycles (GO-26, GO-28, GO-A12).
func TestLazyReply(t *testing.T) {
	spec.Covers(t, "GO-26", "GO-28", "GO-A12")
	for _, fudge := range []int{-1, 1, 2} {
		h := newHarness(t, 16, 0, func(c *Config) { c.Fudge = fudge })
		h.cycles(1)
		ages := bytes.Repeat([]byte{10}, 16)
		ages[3] = 0
		h.set(0, 10, 9, 1, 8, 7, 6, 5, 10, 10, 10, 10, 10, 10, 10, 10)
		h.ping(3, h.params(h.header()), ages...)
		header, body := h.sent(true)
		e, err := wire.ParseEntries(header.Flags, body, 16)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []int
		e.Each(func(i int, age byte) {
			got = append(got, i)
			if age != h.m.ages.Bytes()[i] {
				t.Errorf("fudge %d: entry %d has age %d", fudge, i, age)
			}
		})
		for i, age := range h.m.ages.Bytes() {
			if int(ages[i])-int(age) >= 2+max(fudge, 0) {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("fudge %d: entries %v, want %v", fudge, got, want)
		}
	}
}

// TestSeed: the same seed draws the same partners, another seed draws others (GO-44).
func TestSeed(t *testing.T) {
	spec.Covers(t, "GO-44")
	partners := func(seed uint64) (to []int) {
		h := newHarness(t, 50, 0, func(c *Config) { c.Seed = seed })
		for range 40 {
			h.cycles(1)
			to = append(to, h.list.Index(h.sends[0].To))
		}
		return to
	}
	if a, b, c := partners(1), partners(1), partners(2); !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("seed 1 drew %v and %v, seed 2 %v", a, b, c)
	}
}

// TestStrict: Strict changes the decisions GO-A1, A3, A5, A7, A8 and A9, and nothing else
// (GO-79, GO-A20). TestLimits, TestStops, TestPause and TestNoFlapping test these; this test
// compares the rest, which is the same in both modes.
func TestStrict(t *testing.T) {
	spec.Covers(t, "GO-79", "GO-A1", "GO-A2", "GO-A4", "GO-A6", "GO-A10", "GO-A12", "GO-A16", "GO-A17",
		"GO-A18", "GO-A19", "GO-A20", "GO-A21")
	for _, strict := range []bool{false, true} {
		mode := func(c *Config) { c.Strict = strict }
		l, err := Config{Interval: interval, Strict: strict}.Limits(1000)
		if err != nil || l.Fudge != 2 || l.Stealth != l.Dead+10+4 || l.VeryOld != l.Stealth {
			t.Errorf("strict %v: %+v, %v (GO-A12, GO-A18, GO-A19)", strict, l, err)
		}
		h := newHarness(t, 16, 3, mode)
		if ages := h.m.ages.Bytes(); ages[3] != 0 || ages[0] != unheard {
			t.Errorf("strict %v: begins with %v (GO-A6)", strict, ages)
		}
		h.cycles(1)
		header := h.params(h.header())
		header.Clock = maxClock
		h.ping(1, header, young(16, 1)...)
		if h.m.Stats().BadClock != 1 {
			t.Errorf("strict %v: a clock of 2^62 was taken (GO-A10)", strict)
		}
		h.ping(1, h.params(h.header()), bytes.Repeat([]byte{1}, 16)...)
		if h.m.Stats().NotYoung != 1 {
			t.Errorf("strict %v: a sender who is not young was heard (GO-A4)", strict)
		}
		h.ping(1, h.header(), append([]byte{unheard, 0}, bytes.Repeat([]byte{254}, 14)...)...)
		if ages := h.m.ages.Bytes(); ages[0] != unheard || ages[5] != oldest || ages[1] != 1 {
			t.Errorf("strict %v: ages %v (GO-A2, GO-A6)", strict, ages)
		}
		if header, _ := h.sent(true); header.Flags&wire.FlagParams == 0 {
			t.Errorf("strict %v: no parameters in the first cycles (GO-A16)", strict)
		}
		silent := newHarness(t, 16, 3, func(c *Config) { c.Strict, c.ColdStart = strict, false })
		if !silent.m.Silent() {
			t.Errorf("strict %v: speaks at once (GO-A17)", strict)
		}
		h.stage(newListOf(t, 0, 20))
		h.step(Input{Kind: Commit})
		if h.m.Len() != 20 {
			t.Errorf("strict %v: the list cannot change (GO-A21)", strict)
		}
	}
}
