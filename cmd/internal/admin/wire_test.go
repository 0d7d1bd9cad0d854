package admin

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestRequestFormat: the encoding of a request is the same as golden bytes. Each truncation of
// these bytes, and each wrong value of a field, is an error.
func TestRequestFormat(t *testing.T) {
	q := Request{Version: 1, Verb: Run, ID: ID{1, 15: 16}, Answer: 0x1234, Limit: 0x56789, Name: "up", Text: []byte("text")}
	b := q.AppendTo(nil)
	want := "0100" + "06" + "00" + "01000000000000000000000000000010" + "34120000" + "89670500" + "02" + "7570" + "74657874"
	if got := hex.EncodeToString(b); got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	got, err := ParseRequest(b)
	if diff := cmp.Diff(q, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for n := range requestSize + 2 {
		wanted := ErrShort
		if n >= requestSize {
			wanted = ErrName
		}
		if _, err := ParseRequest(b[:n]); !errors.Is(err, wanted) {
			t.Errorf("%d bytes: %v, want %v", n, err, wanted)
		}
	}
	for _, test := range []struct {
		at    int
		value byte
		err   error
	}{{0, 2, ErrVersion}, {1, 1, ErrVersion}, {2, 0, ErrVerb}, {2, 9, ErrVerb}, {22, 2, ErrAnswer}, {28, 7, ErrName}} {
		bad := bytes.Clone(b)
		bad[test.at] = test.value
		if q, err := ParseRequest(bad); !errors.Is(err, test.err) || q.ID != (ID{1, 15: 16}) {
			t.Errorf("byte %d is %d: %v, want %v", test.at, test.value, err, test.err)
		}
	}
}

// TestAnswerFormat: the encodings of answers are the same as golden bytes, and each truncation of
// these bytes is an error.
func TestAnswerFormat(t *testing.T) {
	for _, test := range []struct {
		name, want string
		x          interface{ AppendTo([]byte) []byte }
		parse      func([]byte) (any, error)
		least      int
	}{
		{
			"answer", "0100" + "0d00" + "e803000000000000" + "64",
			&Answer{1, 13, time.Millisecond, []byte("d")}, func(b []byte) (any, error) { a, err := ParseAnswer(b); return &a, err }, answerSize,
		},
		{
			"reading", "0100000000000000" + "0200000000000000" + "fdffffffffffffff" + "0400000000000000",
			Reading{1, 2, -3, 4},
			func(b []byte) (any, error) { r, err := ParseReading(b); return r, err }, clockSize,
		},
		{
			"trace", "0100000000000000" + "0200000000000000" + "fdffffffffffffff" + "0400000000000000" + "0500000000000000" + "0600000000000000" +
				hex.EncodeToString(nid.MustParse("10.0.0.1@tcp").AppendExtended(nil)) + "0700000000000000" + "08000000",
			&Trace{Reading{1, 2, -3, 4}, 5, 6, nid.MustParse("10.0.0.1@tcp"), 7, 8},
			func(b []byte) (any, error) { r, err := ParseTrace(b); return &r, err }, traceSize,
		},
		{
			"ran", "f7ffffff" + "03000000" + "6f7574",
			&Ran{-9, true, true, []byte("out")}, func(b []byte) (any, error) { r, err := ParseRan(b); return &r, err }, runSize,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := test.x.AppendTo(nil)
			if got := hex.EncodeToString(b); got != test.want {
				t.Fatalf("%s, want %s", got, test.want)
			}
			got, err := test.parse(b)
			if diff := cmp.Diff(any(test.x), got, cmpopts.EquateComparable(nid.NID{})); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			for n := range test.least {
				if _, err := test.parse(b[:n]); !errors.Is(err, ErrReply) {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
}

// TestThrough: over several hops the offsets between the nodes' clocks add up, and so do the bounds
// of their errors. A bound that overflows becomes Unbounded.
func TestThrough(t *testing.T) {
	const ahead, way = 1000, 10
	// The request leaves at time 0, travels for 10, is answered after 7, and the answer travels for
	// 20.
	node := Reading{Received: ahead + way, Sent: ahead + way + 7}
	if got, want := node.through(node, 0, way+7+20), (Reading{node.Received, node.Sent, ahead - 5, 15}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	below := Reading{Offset: 30, Bound: 4}
	if got := below.through(node, 0, way+7+20); got.Offset != ahead+25 || got.Bound != 19 {
		t.Errorf("%+v", got)
	}
	below.Bound = Unbounded
	if got := below.through(node, 0, 100); got.Bound != Unbounded {
		t.Errorf("%+v", got)
	}
}

// TestMessagesOf: the messages of a child fit into the buffers that are posted for the child,
// however its pieces are distributed.
func TestMessagesOf(t *testing.T) {
	for _, nodes := range []int{1, 2, 7, 250, 1000} {
		for _, answer := range []uint32{answerSize, 1000, 60_000, MaxAnswer} {
			count, size := messagesOf(nodes, answer)
			if count > maxMessages {
				continue
			}
			p := packer{}
			for range nodes {
				p.add(nid.MustParse("10.0.0.1@tcp"), make([]byte, answer))
			}
			messages := append(p.full, p.last)
			for _, m := range messages {
				if len(messages) > count || len(m) > size {
					t.Fatalf("%d nodes of %d bytes: %d messages of up to %d bytes, posted %d of %d", nodes, answer, len(messages), len(m), count, size)
				}
			}
		}
	}
	if count, _ := messagesOf(math.MaxInt32, MaxAnswer); count <= maxMessages {
		t.Error("an impossible group is possible")
	}
}

// TestMemo: an answer is found by root and payload until newer ones displace it. Many requests of one
// parent displace only answers to that parent.
func TestMemo(t *testing.T) {
	var m memo
	root, flood := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.9@tcp")
	first := m.of(root, root, []byte{1}, false)
	if m.of(root, root, []byte{1}, false) != first || m.of(root, root, []byte{2}, false) == first || m.of(root, nid.MustParse("10.0.0.2@tcp"), []byte{1}, false) == first {
		t.Error("answers are mistaken for others")
	}
	for i := range 10 * kept {
		m.of(flood, root, []byte{1: byte(i), 2: byte(i >> 8), 3: 1}, false)
	}
	if m.of(root, root, []byte{1}, false) != first || len(m.order) > keptOfOne+3 {
		t.Errorf("one parent has filled the memory: %d answers", len(m.order))
	}
	for i := range kept {
		m.of(nid.FromNumber(root.Net(), uint32(i)), root, []byte{1: byte(i), 2: 1}, false)
	}
	if m.of(root, root, []byte{1}, false) == first || len(m.byKey) > kept || len(m.order) > kept {
		t.Error("the oldest is not forgotten")
	}
}

func FuzzRequest(f *testing.F) {
	for v := Ping - 1; v <= Clients+1; v++ {
		q := Request{Version: 1, Verb: v, ID: ID{1, 15: 16}, Answer: longest(v, 2048), Limit: 30_000, Name: "install", Text: []byte("text")}
		b := q.AppendTo(nil)
		f.Add(b)
		f.Add(b[:requestSize+3]) // a request whose name is truncated
		f.Add(b[:headSize])
		q.Version, q.Name, q.Text = 2, "", nil
		f.Add(q.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := ParseRequest(b)
		if err != nil {
			return
		}
		b = bytes.Clone(b)
		b[3] &= flagCarried // encoding writes unknown flags as zeros
		if again := q.AppendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("%x, want %x", again, b)
		}
	})
}

// FuzzPieces gathers arbitrary messages of a child.
func FuzzPieces(f *testing.F) {
	id := nid.MustParse("10.0.0.1@tcp")
	a := Answer{Version: 1, Data: Reading{Received: 1}.AppendTo(nil)}
	good := scoll.AppendPiece(nil, id, a.AppendTo(nil))
	f.Add(good, good, byte(Clock))
	f.Add([]byte{}, []byte(nil), byte(Run))
	ran := Answer{Version: 1, Data: (&Ran{Exit: -9, TimeOver: true, Cut: true, Output: []byte("output")}).AppendTo(nil)}
	two := scoll.AppendPiece(scoll.AppendPiece(nil, nid.MustParse("10.0.0.2@tcp"), ran.AppendTo(nil)), id, ran.AppendTo(nil))
	f.Add(two, good, byte(Run))
	f.Add(two[:len(two)-1], two, byte(Clock)) // a truncated message, and invalid readings
	refused := Answer{Version: 2, Status: scoll.ENOTSUP, Data: (&scoll.Versions{Own: 2}).AppendTo(nil)}
	f.Add(scoll.AppendPiece(nil, id, refused.AppendTo(nil)), good, byte(Clock))
	f.Fuzz(func(t *testing.T, one, two []byte, verb byte) {
		g := gathering{request: Request{Version: 1, Verb: Verb(verb), Answer: 200}, children: []fromChild{{id: id}, {id: id}}}
		all := func(nid.NID) bool { return true }
		g.add(&g.children[0], 0, one, math.MaxInt64, all)
		g.add(&g.children[0], 1, two, math.MaxInt64, all)
		g.add(&g.children[1], 0, two, 0, all)
		messages, _ := g.pack(id, []byte("own"))
		total := 0
		for _, m := range messages {
			if total += len(m); scoll.CheckPieces(m) != nil {
				t.Errorf("%x", m)
			}
			for _, data := range scoll.Pieces(m) {
				if a, err := ParseAnswer(data); err == nil {
					_, _ = ParseRan(a.Data)
				}
			}
		}
		if most := len(one) + 2*len(two) + scoll.PieceSize + 3; total > most {
			t.Errorf("%d bytes of %d", total, most)
		}
	})
}
