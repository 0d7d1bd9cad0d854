package engine

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/rmcast/wire"
)

// TestMerge: RM-43: messages whose sends wait to be applied share datagrams of at most a fragment,
// in order. All effects but the datagrams that are merged stay as they are. Messages of two
// fragments, heartbeats and a gap in the numbers end a datagram.
func TestMerge(t *testing.T) {
	spec.Covers(t, "RM-43", "RM-A25")
	w, _ := packing(t, 3, 64, nil, nil)
	m, now := w.hosts[0].m, w.net.Now()
	var outs []*Output
	var want []string
	post := func(text string) {
		now++
		out := new(Output)
		m.Step(now, Input{Kind: Send, Data: []byte(text), Token: &sent{data: text}}, out)
		outs, want = append(outs, out), append(want, text)
	}
	for i := range 20 {
		post(fmt.Sprint("message ", i))
	}
	post("")
	post(long(150)) // two fragments
	post("after")
	post(long(98))
	post("last")
	first := m.sender.stream.stable
	merged, packed := Merge(outs)
	if again, _ := Merge(outs[:1]); again > 0 {
		t.Errorf("%d merged in one output", again)
	}
	var got []string
	datagrams, gone, shared, fragment := 0, 0, 0, ""
	for _, out := range outs {
		for _, e := range out.Effects {
			if e.Kind == Merged {
				gone++
			}
			if e.Kind != DoMulticast {
				continue
			}
			datagrams++
			d, payload, err := wire.ParseDatagram(slices.Concat(out.Buf[e.Head.Begin:e.Head.End], e.Data))
			if err != nil || d.Seq != first || len(payload) > 100 {
				t.Fatalf("%+v, %d bytes, want seq %d, %v", d, len(payload), first, err)
			}
			if d.Flags&wire.FlagPacked == 0 {
				first++
				if fragment += string(payload); d.Index+1 == d.Count {
					got, fragment = append(got, fragment), ""
				}
				continue
			}
			first += uint64(d.Count)
			shared += int(d.Count)
			for range d.Count {
				var message []byte
				message, payload, _ = wire.ParseMessage(payload)
				got = append(got, string(message))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	// The datagrams are: three that pack 8, 8 and 5 messages, the empty one among the 5; two with
	// the fragments of the long message; and one each for "after", for the 98 bytes, and for
	// "last".
	if datagrams != 8 || gone != merged || merged != 21-3 || packed != 21 || shared != 21 {
		t.Errorf("%d datagrams, %d of %d merged, %d of %d packed", datagrams, gone, merged, packed, shared)
	}
	for i, out := range outs {
		delivered := slices.ContainsFunc(out.Effects, func(e Effect) bool { return e.Kind == Deliver && bytes.Equal(e.Data, []byte(want[i])) })
		accepted := slices.ContainsFunc(out.Effects, func(e Effect) bool { return e.Kind == Accepted })
		if !delivered || !accepted {
			t.Errorf("message %d: %+v", i, out.Effects)
		}
	}
}
