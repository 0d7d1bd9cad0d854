package scoll

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/tree"
)

func binomialOf(n, root int) tree.Tree {
	topology, _ := Tree{}.OrDefault().Topology()
	return tree.Tree{Topology: topology, N: n, Root: root}
}

// TestTallyGolden checks the bytes of an encoded answer.
func TestTallyGolden(t *testing.T) {
	y := newTally(binomialOf(8, 0), 4) // node 4, with 6, 5 and 7 below it
	y.set(0, OK, "")
	y.set(1, OK, "")
	y.set(2, EIO, "no\ndisk")
	y.set(3, notAsked, "")
	want := []byte{1, 4, 2, 0, 0, 1, 5, 0, 1, 0xfe, 0xff, 1, 2, 7, 'n', 'o', ' ', 'd', 'i', 's', 'k'}
	if got := y.append(nil); !bytes.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	a, err := parseTally(append(want, "rest"...), binomialOf(8, 0), 4)
	if err != nil || a.rank != 4 || !slices.Equal(a.tally.status, y.status) || a.tally.texts[2] != "no disk" || string(a.payload) != "rest" {
		t.Errorf("%+v, %v", a, err)
	}
	for i := range want {
		if _, err := parseTally(want[:i], binomialOf(8, 0), 4); err == nil {
			t.Errorf("%d bytes of it are an answer", i)
		}
	}
}

// TestTallyRefused: an answer is refused if it names members that are not below the child, or
// names a member twice.
func TestTallyRefused(t *testing.T) {
	spec.Covers(t, "SC-166")
	whole := binomialOf(8, 0)
	mine := newTally(whole, 0)
	of := func(rank int) []byte {
		y := newTally(whole, rank)
		for i := range y.status {
			y.set(i, OK, "")
		}
		return y.append(nil)
	}
	below, err := parseTally(of(6), whole, 4)
	if err != nil || !mine.take(&below) {
		t.Fatalf("an answer that was passed on is refused: %v", err)
	}
	if again, err := parseTally(of(4), whole, 4); err != nil || mine.take(&again) || mine.count() != 2 {
		t.Errorf("6 and 7 are counted twice: %v", err)
	}
	for _, rank := range []int{0, 1, 2, 3} {
		if _, err := parseTally(of(rank), whole, 4); !errors.Is(err, EPROTO) {
			t.Errorf("4 answers for %d: %v", rank, err)
		}
	}
}

// TestTallyTexts: error texts are bounded, each one and all together; statuses are never
// dropped.
func TestTallyTexts(t *testing.T) {
	whole := binomialOf(1024, 0)
	y := newTally(whole, 0)
	for i := range y.status {
		y.set(i, EIO, strings.Repeat("é", 300))
	}
	b := y.append(nil)
	if len(b) > maxTallySize(1024) || y.size > maxTexts || len(y.texts[0]) != maxText {
		t.Errorf("%d bytes, %d of texts, %d in one", len(b), y.size, len(y.texts[0]))
	}
	if a, err := parseTally(b, whole, 0); err != nil || slices.ContainsFunc(a.tally.status, func(s Status) bool { return s != EIO }) {
		t.Error(err)
	}
	if got := cleanText(" a\x1b]0;b\x07\u202ec\xff\n "); got != "a\ufffd]0;b\ufffd\ufffdc\ufffd" {
		t.Errorf("%q", got)
	}
}

// TestTallyTextGoes: a later status of a member replaces its earlier text, and frees the room
// that the text took.
func TestTallyTextGoes(t *testing.T) {
	y := newTally(binomialOf(8, 0), 0)
	y.set(3, OK, "well")
	y.fail(y.nodes[3:4], EIO, "")
	if text, ok := y.texts[3]; ok || y.size != 0 {
		t.Errorf("%q is the text of another status; %d bytes are taken", text, y.size)
	}
	for range maxTexts {
		y.set(3, EIO, "a text that comes again and again")
	}
	if y.texts[3] == "" || y.size != len(y.texts[3])+textHead {
		t.Errorf("%q, %d bytes are taken", y.texts[3], y.size)
	}
}

// FuzzTally: an answer of a child that is accepted has one status for each member of the
// subtree, and its texts are printable.
func FuzzTally(f *testing.F) {
	y := newTally(binomialOf(13, 3), 7)
	f.Add(y.append(nil))
	y.set(0, EIO, "disk")
	f.Add(append(y.append(nil), 1, 2, 3))
	f.Add([]byte{1, 7, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := binomialOf(13, 3)
		a, err := parseTally(b, whole, 7)
		if err != nil {
			return
		}
		if !isBelow(whole, a.rank, 7) || len(a.tally.status) != whole.Size(a.rank) || a.tally.size > maxTexts {
			t.Fatalf("%+v", a)
		}
		for _, text := range a.tally.texts {
			if len(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != unicode.ReplacementChar }) {
				t.Fatalf("%q", text)
			}
		}
		again, err := parseTally(append(a.tally.append(nil), a.payload...), whole, 7)
		if err != nil || again.rank != a.rank || !slices.Equal(again.tally.status, a.tally.status) || !bytes.Equal(again.payload, a.payload) {
			t.Fatalf("%+v, then %+v, %v", a, again, err)
		}
	})
}

// FuzzCallQuestion: a call's payload that parses is encoded to the same bytes again.
func FuzzCallQuestion(f *testing.F) {
	for _, q := range []callQuestion{{}, {payload: []byte("x")}, {only: rankSet{}}, {only: newRankSet([]int{9, 3, 4, 0, 4})}} {
		f.Add(q.append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := parseQuestion(b)
		if err != nil {
			return
		}
		again, err := parseQuestion(q.append(nil))
		if err != nil || !slices.Equal(q.only, again.only) || (q.only == nil) != (again.only == nil) || !bytes.Equal(q.payload, again.payload) {
			t.Fatalf("%+v, then %+v, %v", q, again, err)
		}
		for _, rank := range q.only {
			if i, _ := slices.BinarySearch(q.only, rank); q.only.includes(rank) != (i%2 == 0) {
				t.Fatalf("%v: %d", q.only, rank)
			}
		}
	})
}
