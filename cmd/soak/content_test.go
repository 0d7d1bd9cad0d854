package main

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestContent: content that fill writes in pieces matches when it is compared in other pieces.
// It does not match if a bit, the key or the position differs.
func TestContent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	whole := make([]byte, 1000)
	fill(whole, 7, 100)
	for range 1000 {
		from := random.IntN(len(whole))
		to := from + random.IntN(len(whole)-from) + 1
		piece := make([]byte, to-from)
		fill(piece, 7, 100+uint64(from))
		if !slices.Equal(piece, whole[from:to]) {
			t.Fatalf("bytes %d to %d differ by how they are made", from, to)
		}
		if i := mismatch(piece, 7, 100+uint64(from)); i != -1 {
			t.Fatalf("bytes %d to %d: mismatch at %d", from, to, i)
		}
		at := random.IntN(len(piece))
		piece[at] ^= 1 << random.IntN(8)
		if i := mismatch(piece, 7, 100+uint64(from)); i != at {
			t.Fatalf("byte %d of %d is wrong, mismatch at %d", at, len(piece), i)
		}
	}
	if mismatch(whole, 8, 100) != 0 || mismatch(whole, 7, 101) < 0 {
		t.Error("another key or place has the same content")
	}
	if mismatch(nil, 7, 0) != -1 {
		t.Error("nothing differs from nothing")
	}
}

func TestOperationID(t *testing.T) {
	for _, id := range []opID{{}, {1, 2, 3}, {255, 65535, 1<<32 - 1}} {
		if got := idOf(id.bits()); got != id {
			t.Errorf("got %v, want %v", got, id)
		}
	}
	if a, b := putKey(opID{1, 2, 3}, 100), putKey(opID{1, 2, 3}, 101); a == b {
		t.Error("the size does not count")
	}
}
