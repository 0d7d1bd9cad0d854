package engine_test

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestReset: an output keeps the memory of a few effects and nothing that these refer to.
func TestReset(t *testing.T) {
	small := engine.Output{Effects: []engine.Effect{{Data: make([]byte, 8)}}}
	all := small.Effects
	small.Reset()
	if len(small.Effects) != 0 || cap(small.Effects) != 1 || all[0].Data != nil {
		t.Errorf("%+v, %+v", small, all)
	}
	large := engine.Output{Effects: make([]engine.Effect, 1<<16)}
	if large.Reset(); cap(large.Effects) != 0 {
		t.Errorf("memory of %d effects is kept", cap(large.Effects))
	}
}

// TestMessagesApart: the messages of one step do not share memory. The messages of a later step use
// the same memory again.
func TestMessagesApart(t *testing.T) {
	const units = 50
	l := newLab(t, engine.Config{RPCTimeout: -1, SessionTimeout: -1}, node1)
	l.join(node1)
	l.addClient(node1, ping(-1, units), node2)
	var calls []engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoCall {
			calls = append(calls, *e)
		}
		return e.Kind == engine.DoCall
	}
	l.batch(node1, wire.RunBatch, 0, 0)
	if len(calls) != units {
		t.Fatalf("%d requests, want %d", len(calls), units)
	}
	for i := range calls {
		if m, err := wire.ParseMessage(calls[i].Data); err != nil || m.ReplyID != calls[i].ID || m.Body.(*wire.Ping).Sequence != uint32(i) {
			t.Errorf("request %d: %+v, %v", i, m, err)
		}
	}
	var out engine.Output
	reply := func(i int) []byte {
		l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: calls[i].ID})
		m := wire.Message{Body: &wire.PingReply{Magic: wire.PingMagic, Sequence: uint32(i)}}
		b, err := m.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		l.nodes[node1.NID].Step(l.now, engine.Input{Kind: engine.Replied, ID: calls[i].ID, Data: b}, &out)
		return out.Effects[len(out.Effects)-1].Data
	}
	first := reply(0)
	if second := reply(1); &first[0] != &second[0] {
		t.Error("the next step makes new memory for its request")
	}
}
