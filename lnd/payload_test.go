package lnd

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawPayload draws segments, some of them empty, and a run inside them.
func drawPayload(t *rapid.T, label string) Payload {
	var p Payload
	total := 0
	for range rapid.IntRange(0, 6).Draw(t, label+" segments") {
		s := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, label)
		p.Segments = append(p.Segments, s)
		total += len(s)
	}
	p.Offset = rapid.IntRange(0, total).Draw(t, label+" offset")
	p.Length = rapid.IntRange(0, total-p.Offset).Draw(t, label+" length")
	return p
}

func (p Payload) bytes() []byte { return bytes.Join(p.Append(nil), nil) }

// TestPayload: each operation on a payload in segments has the same result as on a single slice with the
// same bytes.
func TestPayload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPayload(t, "src"), drawPayload(t, "dst")
		flat := bytes.Join(src.Segments, nil)[src.Offset : src.Offset+src.Length]
		if got := src.bytes(); !bytes.Equal(got, flat) {
			t.Fatalf("Append: got %x, want %x", got, flat)
		}
		if slices.ContainsFunc(src.Append(nil), func(s Segment) bool { return len(s) == 0 }) {
			t.Fatal("Append: empty piece")
		}
		if got := src.AppendTo([]byte("x")); !bytes.Equal(got[1:], flat) || got[0] != 'x' {
			t.Fatalf("AppendTo: got %x, want 78%x", got, flat)
		}
		cut := rapid.IntRange(0, src.Length+2).Draw(t, "cut")
		if got, want := src.Tail(cut).bytes(), flat[min(cut, len(flat)):]; !bytes.Equal(got, want) {
			t.Fatalf("Tail(%d): got %x, want %x", cut, got, want)
		}

		before := bytes.Join(dst.Segments, nil)
		want := slices.Clone(before)
		n := copy(want[dst.Offset:dst.Offset+dst.Length], flat)
		if got := Copy(dst, src); got != n {
			t.Fatalf("Copy: %d bytes, want %d", got, n)
		}
		if got := bytes.Join(dst.Segments, nil); !bytes.Equal(got, want) {
			t.Fatalf("Copy: got %x, want %x", got, want)
		}
	})
}

func TestPayloadAllocates(t *testing.T) {
	dst := Payload{Segments: []Segment{make([]byte, 100), make([]byte, 100)}, Length: 200}
	src := Payload{Segments: []Segment{make([]byte, 30), make([]byte, 300)}, Offset: 10, Length: 200}
	if n := testing.AllocsPerRun(100, func() { Copy(dst, src) }); n != 0 {
		t.Errorf("Copy allocates %v times", n)
	}
}
