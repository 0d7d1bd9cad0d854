package engine_test

import (
	"encoding/binary"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestFirstID: NewNode refuses a configuration without a FirstID.
func TestFirstID(t *testing.T) {
	if _, err := engine.NewNode(engine.Config{}); err == nil {
		t.Error("no error")
	}
}

// TestFlood: however many requests arrive, the number of those that wait is bounded, and so is the memory of
// transfers.
func TestFlood(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{}, node1)
	l.join(node1)
	l.lost = func(_ nid.NID, e *engine.Effect) bool { return e.Kind != engine.DoReply }
	test := wire.Test{BulkID: 9, Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 1}
	for range 3000 {
		l.send(node1, 1, &test)
		l.send(node1, 1, &wire.BRW{Op: wire.Write, Length: engine.MaxLength, Check: wire.CheckFull})
	}
	got := l.nodes[node1.NID].Stats()
	if got.Overload != 3000-1-2048+3000-16-2048 || got.Moving != 16<<20 || l.seen[engine.DoGet] != 1+16 {
		t.Errorf("%+v, effects %v", got, l.seen)
	}
}

// FuzzNode: no sequence of requests and reports makes a node panic, answer more often than it
// was asked, or wake in the past.
func FuzzNode(f *testing.F) {
	for _, body := range []wire.Body{
		&wire.MakeSession{Session: id1, Force: true}, &wire.Test{Session: id1, Service: wire.PingService, Loop: 2, Concurrency: 3, Client: true, Destinations: 2},
		&wire.Batch{Session: id1, Op: wire.RunBatch}, &wire.BRW{Op: wire.Write, Length: 4096, Check: wire.CheckFull}, &wire.RemoveSession{Session: id1},
	} {
		b, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 1, Body: body}).AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte{0, 5, 0, 1, 2, 3, 4, 0, 9})
	}
	f.Fuzz(func(t *testing.T, message, script []byte) {
		n, err := engine.NewNode(engine.Config{FirstID: 1 << 48, MaxUnits: 64})
		if err != nil {
			t.Fatal(err)
		}
		list, err := wire.AppendDestinations(nil, []wire.Destination{node1, node2}, false)
		if err != nil {
			t.Fatal(err)
		}
		join, _ := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 1, Body: &wire.MakeSession{Session: id1}}).AppendBinary(nil)
		now, asked, answered, latest := time.Duration(0), 0, 0, uint64(0)
		step := func(in engine.Input) {
			if in.Kind == engine.Arrived {
				asked++
			}
			var out engine.Output
			if wake := n.Step(now, in, &out); wake <= now {
				t.Fatalf("at %v it wakes at %v", now, wake)
			}
			for _, e := range out.Effects {
				if e.Kind == engine.DoReply {
					answered++
				}
				latest = max(latest, e.ID)
			}
		}
		step(engine.Input{Kind: engine.Arrived, Peer: node1, Self: node2.NID, Service: wire.MakeSessionService, Data: join})
		for _, op := range script[:min(len(script), 64)] {
			now += time.Duration(op) * 100 * time.Millisecond
			in := engine.Input{Kind: engine.InputKind(op % 6), ID: latest - uint64(op>>6), Peer: node1, Self: node2.NID, Data: message, Failed: op&64 != 0, Corrupt: op&128 != 0}
			if len(message) >= 12 {
				in.Service = service(wire.Type(binary.LittleEndian.Uint32(message[8:])))
			}
			if in.Kind == engine.Moved {
				in.Data = list
			}
			step(in)
		}
		if answered > asked {
			t.Errorf("%d replies to %d requests", answered, asked)
		}
	})
}
