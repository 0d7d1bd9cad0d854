package collective

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// anAnswer has a value in every field.
var anAnswer = Answer{
	Absent: []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")},
	Reply:  wire.Reply{Evicted: 3, Unknown: 4, Exceptions: []wire.Exception{{Index: 5, Code: health.Newer, Incarnation: 6}}},
}

// TestAnswer: an answer is encoded and parsed again, and every shorter prefix of it is refused.
func TestAnswer(t *testing.T) {
	golden := []byte{2, 0, 0, 0}
	for _, id := range anAnswer.Absent {
		golden = id.AppendExtended(golden)
	}
	golden = anAnswer.Reply.AppendTo(golden)
	b := anAnswer.AppendTo(nil)
	if diff := cmp.Diff(golden, b); diff != "" {
		t.Error(diff)
	}
	got, err := ParseAnswer(b, 6, 2)
	if diff := cmp.Diff(anAnswer, got, cmp.Comparer(func(a, b nid.NID) bool { return a == b })); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if len(b) > longest(6, 2) {
		t.Errorf("%d bytes, more than the longest answer", len(b))
	}
	for n := range b {
		if _, err := ParseAnswer(b[:n], 6, 2); err == nil {
			t.Errorf("the first %d bytes are an answer", n)
		}
	}
	if _, err := ParseAnswer(b, 5, 2); !errors.Is(err, errAnswer) {
		t.Errorf("an eviction that was not asked for: %v", err)
	}
	if _, err := ParseAnswer(b, 6, 1); !errors.Is(err, errAnswer) {
		t.Errorf("more servers than there are: %v", err)
	}
}

// FuzzParseAnswer: any bytes are either refused, or parse as an answer that respects the
// bounds. Such an answer is encoded to the same bytes.
func FuzzParseAnswer(f *testing.F) {
	f.Add(anAnswer.AppendTo(nil), 6, 2)
	f.Add((&Answer{}).AppendTo(nil), 1, 1)
	f.Add([]byte{255, 255, 255, 255}, 1, 1)
	f.Fuzz(func(t *testing.T, b []byte, entries, servers int) {
		a, err := ParseAnswer(b, entries, servers)
		if err != nil {
			return
		}
		if len(a.Absent) > servers || slices.ContainsFunc(a.Reply.Exceptions, func(x wire.Exception) bool { return int(x.Index) >= entries }) {
			t.Errorf("%+v of %d servers, %d evictions", a, servers, entries)
		}
		again, err := ParseAnswer(a.AppendTo(nil), entries, servers)
		if diff := cmp.Diff(a, again, cmp.Comparer(func(a, b nid.NID) bool { return a == b })); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}
