package console_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// TestForgedReply: a reply that comes from another node than the one that was asked is dropped,
// even if its number is right; a reply of the node that was asked is taken.
func TestForgedReply(t *testing.T) {
	spec.Covers(t, "ST-32")
	l := newLab(t, 3, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	s, err := l.consoles[0].Session()
	if err != nil {
		t.Fatal(err)
	}
	l.hosts[1].Do(func() {
		if err := l.agents[1].Close(t.Context()); err != nil { // node 1 will not answer, so that the test can answer in its place
			t.Error(err)
		}
	})
	var result engine.Result
	var over bool
	l.hosts[0].Do(func() {
		l.consoles[0].Begin(&engine.AddGroup{Key: key, Name: "g", IDs: processes(1)}, func(r engine.Result, _ error) { result, over = r, true })
	})
	l.run(10 * time.Millisecond)
	reply := func(host int) {
		data, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.MakeSessionReply{Session: s.ID, Timeout: 100}}).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		l.hosts[host].Do(func() {
			md, err := l.tables[host].MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: 1}, portals.Unlink)
			if err == nil {
				err = l.tables[host].Put(portals.PutRequest{MD: md, Target: process(0), Portal: wire.BulkPortal, MatchBits: l.consoles[0].UnderWay()})
			}
			if err != nil {
				t.Error(err)
			}
		})
		l.run(10 * time.Millisecond)
	}
	if reply(2); over {
		t.Fatalf("the forged reply was taken: %+v", result)
	}
	if reply(1); !over || result.Answers[0].State != console.Active {
		t.Errorf("%t, %+v", over, result)
	}
	if id := l.consoles[0].UnderWay(); id != 0 {
		t.Errorf("the memory of RPC %#x is still posted", id)
	}
}

// TestCutReply: a reply that a dying connection cut off ends its RPC with EIO, although what has
// arrived of it says that the node has joined.
func TestCutReply(t *testing.T) {
	spec.Covers(t, "ST-32")
	l := newLab(t, 2, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	s, err := l.consoles[0].Session()
	if err != nil {
		t.Fatal(err)
	}
	l.hosts[1].Do(func() {
		if err := l.agents[1].Close(t.Context()); err != nil { // node 1 will not answer
			t.Error(err)
		}
	})
	b, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.MakeSessionReply{Session: s.ID, Timeout: 100}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var result engine.Result
	var over bool
	l.hosts[0].Do(func() {
		l.consoles[0].Begin(&engine.AddGroup{Key: key, Name: "g", IDs: processes(1)}, func(r engine.Result, _ error) { result, over = r, true })
	})
	l.run(10 * time.Millisecond)
	l.hosts[0].Do(func() {
		l.consoles[0].Replied(l.consoles[0].UnderWay(), b, &portals.Event{Kind: portals.EventPut, MLength: uint32(len(b)), Err: syscall.ECONNRESET})
	})
	l.run(10 * time.Millisecond)
	if !over || len(result.Answers) != 1 || result.Answers[0].Failed != syscall.EIO || result.Answers[0].State != console.Unknown {
		t.Errorf("%t, %+v", over, result)
	}
	if id := l.consoles[0].UnderWay(); id != 0 {
		t.Errorf("the memory of RPC %#x is still posted", id)
	}
}

// TestNumbers: RPCs of a console have other numbers than those of the test node on its node, and of
// earlier consoles there.
func TestNumbers(t *testing.T) {
	spec.Covers(t, "ST-30")
	const incarnation = 1700000000_123456789
	const consoles = 1 << 47
	first := console.FirstID(incarnation, 0)
	if first&consoles == 0 || first>>48 != 1700000000&0xffff {
		t.Errorf("%#x", first)
	}
	if later := console.FirstID(incarnation, time.Microsecond); later-first < 1<<16 || later&consoles == 0 {
		t.Errorf("%#x after %#x", later, first)
	}
	if last := console.FirstID(incarnation, 999999999-123456789); last&consoles == 0 || last>>48 != first>>48 {
		t.Errorf("%#x", last)
	}
}
