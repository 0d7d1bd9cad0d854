package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/spec"
)

// vectorOf returns a vector that has the given ages.
func vectorOf(ages ...byte) ageVector {
	v := newAgeVector(len(ages))
	copy(v.bytes, ages)
	return v
}

var agesGen = rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 1, 127, 128, 253, 254, 255}))

// TestVectorAgainstBytes compares the methods that work on words with the rules of the design
// applied entry by entry (GO-18, GO-19, GO-A6).
func TestVectorAgainstBytes(t *testing.T) {
	spec.Covers(t, "GO-18", "GO-19", "GO-A6")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100).Draw(t, "n")
		gen := agesGen
		if rapid.Bool().Draw(t, "young") {
			gen = rapid.OneOf(rapid.ByteRange(0, 127), rapid.SampledFrom([]byte{0, 126, 127}))
		}
		local := rapid.SliceOfN(gen, n, n).Draw(t, "local")
		remote := rapid.SliceOfN(gen, n, n).Draw(t, "remote")
		limit := rapid.ByteRange(1, 253).Draw(t, "limit")
		again := rapid.ByteRange(1, limit).Draw(t, "again")
		cycles := rapid.Uint64Range(0, 300).Draw(t, "cycles")
		v := vectorOf(local...)
		v.merge(remote)
		v.ageBy(cycles)
		want := bytes.Clone(local)
		for i, r := range remote {
			if r < 254 {
				r++
			}
			want[i] = min(want[i], r)
			for range cycles {
				if want[i] < 254 {
					want[i]++
				}
			}
		}
		if !bytes.Equal(v.Bytes(), want) {
			t.Fatalf("merge %v into %v, then %d cycles: got %v, want %v", remote, local, cycles, v.Bytes(), want)
		}
		was, set := rapid.SliceOfN(rapid.Byte(), (n+7)/8, (n+7)/8).Draw(t, "was"), make([]byte, (n+7)/8)
		got, count := v.alive(limit, again, was, set), 0
		for i, a := range want {
			alive := a <= again || a <= limit && was[i/8]>>(i%8)&1 != 0
			if alive {
				count++
			}
			if set[i/8]>>(i%8)&1 != 0 != alive {
				t.Fatalf("bit %d of %08b for %v, limits %d and %d, was %08b", i, set, want, limit, again, was)
			}
		}
		if got != count {
			t.Fatalf("%d of %v are alive, want %d", got, want, count)
		}
	})
}

// TestFresher: fresher finds the entries whose age is lower than the peer's by at least gap,
// and no others (GO-26).
func TestFresher(t *testing.T) {
	spec.Covers(t, "GO-26")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		local := rapid.SliceOfN(agesGen, n, n).Draw(t, "local")
		peer := rapid.SliceOfN(agesGen, n, n).Draw(t, "peer")
		gap := rapid.IntRange(1, 9).Draw(t, "gap")
		var got, want []int
		vectorOf(local...).fresher(peer, gap, func(i int, age byte) {
			if age != local[i] {
				t.Fatalf("entry %d: age %d, want %d", i, age, local[i])
			}
			got = append(got, i)
		})
		for i := range local {
			if int(peer[i])-int(local[i]) >= gap {
				want = append(want, i)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// mergeBytes is the plain loop with which merge is compared.
func mergeBytes(local, remote []byte) {
	for i, r := range remote {
		if r < oldest {
			r++
		}
		local[i] = min(local[i], r)
	}
}

// BenchmarkMerge compares merge with the plain loop: on the ages of a healthy cluster, for
// which merge should be 2.4 times as fast, and on random ages.
func BenchmarkMerge(b *testing.B) {
	const n = 1 << 16
	for _, ages := range []struct {
		name string
		most uint32
	}{{"alive", 14}, {"any", 256}} {
		r := rand.New(rand.NewPCG(1, 2))
		local, remote := newAgeVector(n), make([]byte, n)
		for i := range remote {
			local.bytes[i], remote[i] = byte(r.Uint32N(ages.most)), byte(r.Uint32N(ages.most))
		}
		b.Run(ages.name+"/words", func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				local.merge(remote)
			}
		})
		b.Run(ages.name+"/bytes", func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				mergeBytes(local.bytes, remote)
			}
		})
	}
}

func BenchmarkFresher(b *testing.B) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(1, 2))
	local, remote := newAgeVector(n), make([]byte, n)
	for i := range remote {
		local.bytes[i], remote[i] = byte(r.IntN(12)), byte(r.IntN(12))
	}
	b.SetBytes(n)
	for b.Loop() {
		count := 0
		local.fresher(remote, 6, func(int, byte) { count++ })
	}
}
