package engine_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// keep makes the lab remember effects of a kind, which are not carried out.
func (l *lab) keep(kind engine.EffectKind) *[]engine.Effect {
	kept := &[]engine.Effect{}
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == kind {
			*kept = append(*kept, *e)
		}
		return e.Kind == kind
	}
	return kept
}

// read sends a BRW request to node1 that wants some bytes.
func (l *lab) read(length uint32) {
	l.send(node1, 1, &wire.BRW{Op: wire.Read, Length: length, Check: wire.CheckNone})
}

// TestSmallTransfers: a transfer of a few bytes counts as a page, so that the number of
// transfers is bounded, too.
func TestSmallTransfers(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 1 << 20}, node1)
	moves := l.keep(engine.DoPut)
	for range 300 {
		l.read(8)
	}
	if len(*moves) != 256 {
		t.Fatalf("%d transfers of 8 bytes in 1 MiB, want 256", len(*moves))
	}
	for _, e := range *moves {
		l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: e.ID})
	}
	if got := l.nodes[node1.NID].Stats(); len(*moves) != 300 || got.Moving != 44*4096 || got.BulkPut != 256*8 {
		t.Errorf("%d transfers, %+v", len(*moves), got)
	}
}

// TestWaitInOrder: a request that fits does not overtake one that waits for memory.
func TestWaitInOrder(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 8 << 20}, node1)
	moves := l.keep(engine.DoPut)
	for _, length := range []uint32{1 << 20, 1 << 19, 1 << 20, 4096} {
		l.read(length)
	}
	if len(*moves) != 2 {
		t.Fatalf("%d transfers", len(*moves))
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*moves)[0].ID})
	if len(*moves) != 4 || (*moves)[2].Length != 1<<20 || (*moves)[3].Length != 4096 {
		t.Errorf("%+v", *moves)
	}
}

// TestShare: the requests of one client use at most a quarter of the memory. A request that waits
// because its client has used its quarter is overtaken by requests of other clients. A request that waits for
// another reason is not.
func TestShare(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 4 << 20}, node1)
	moves := l.keep(engine.DoPut)
	for _, want := range []struct {
		client string
		length uint32
		moves  int // transfers under way afterwards
	}{
		{"10.0.0.1@tcp", 1 << 20, 1},
		{"10.0.0.1@tcp", 1 << 20, 1}, // waits: the client has used its quarter
		{"10.0.0.1@tcp", 4096, 1},
		{"10.0.0.2@tcp", 1 << 20, 2},
		{"10.0.0.3@tcp", 1 << 20, 3},
		{"10.0.0.4@tcp", 1 << 19, 4},
		{"10.0.0.5@tcp", 1 << 20, 4}, // waits: not enough memory is left
		{"10.0.0.6@tcp", 4096, 4},    // waits behind the request of 10.0.0.5
	} {
		l.console = process(want.client)
		if l.read(want.length); len(*moves) != want.moves {
			t.Errorf("%+v: %d transfers", want, len(*moves))
		}
	}
	l.console = (*moves)[1].Peer
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*moves)[1].ID})
	if len(*moves) != 6 || (*moves)[4].Peer != process("10.0.0.5@tcp") || (*moves)[5].Peer != process("10.0.0.6@tcp") {
		t.Errorf("%+v", *moves)
	}
}

// TestTricklingClient: clients whose transfers never end keep their memory until the shell reports that it is
// free, however often the transfers are cancelled. So all together use at most MaxBulk.
func TestTricklingClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 4 << 20}, node1)
	var moves, cancelled []engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		switch e.Kind {
		case engine.DoGet:
			moves = append(moves, *e)
		case engine.DoCancel:
			cancelled = append(cancelled, *e)
		default:
			return false
		}
		return true
	}
	write := func(client int) {
		l.console = process(fmt.Sprintf("10.0.1.%d@tcp", client+1))
		l.send(node1, 1, &wire.BRW{Op: wire.Write, Length: 1 << 20, Check: wire.CheckNone})
	}
	for range 5 {
		for client := range 6 {
			write(client)
		}
		l.advance(node1.NID, 64*time.Second)
	}
	if got := l.nodes[node1.NID].Stats(); len(moves) != 4 || len(cancelled) != 4 || got.Moving != 4<<20 || got.Errors != 4 {
		t.Fatalf("%d transfers, %d cancelled, %+v", len(moves), len(cancelled), got)
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: moves[0].ID}) // all data arrived, but the client has given up
	if got := l.nodes[node1.NID].Stats(); got.Moving != 3<<20 || got.BulkGet != 0 || len(l.replies) != 0 {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
	if write(0); len(moves) != 5 {
		t.Errorf("memory that is free again is not used: %d transfers", len(moves))
	}
}

// TestDeafClient: clients that do not read what the node puts keep their shares of the memory for bulk data only until the
// transfers are cancelled. Then another client is served.
func TestDeafClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 4 << 20}, node1)
	moves := 0
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoPut {
			moves++
		}
		return e.Kind == engine.DoPut || e.Kind == engine.DoCancel // the transfer is cancelled, and its end is not reported
	}
	for client := range 4 {
		l.console = process(fmt.Sprintf("10.0.1.%d@tcp", client+1))
		l.read(1 << 20)
	}
	l.advance(node1.NID, 10*time.Second)
	l.console = process("10.0.1.9@tcp")
	if l.read(1 << 20); moves != 4 {
		t.Fatalf("%d transfers", moves)
	}
	l.advance(node1.NID, 54*time.Second)
	if got := l.nodes[node1.NID].Stats(); moves != 5 || got.Moving != 1<<20 {
		t.Errorf("%d transfers, %+v", moves, got)
	}
}

// TestWaitTooLong: a request whose client does not wait any more gets no memory and no reply.
func TestWaitTooLong(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 1 << 20}, node1)
	moves := l.keep(engine.DoPut)
	l.read(1 << 20)
	l.advance(node1.NID, 10*time.Second)
	l.read(1 << 20)
	l.advance(node1.NID, 54*time.Second) // the first transfer expires, and the second begins
	l.read(1 << 20)
	l.now += 64 * time.Second
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*moves)[1].ID}) // the second transfer ends, at the moment at which it would expire
	if got := l.nodes[node1.NID].Stats(); len(*moves) != 2 || got.Moving != 0 || got.Dropped != 2 || len(l.replies) != 1 {
		t.Errorf("%d transfers, %d replies, %+v", len(*moves), len(l.replies), got)
	}
}

// TestDiscard: a test with CheckDiscard sends its requests with CheckNone, because kernel servers do not
// know CheckDiscard in a request.
func TestDiscard(t *testing.T) {
	spec.Covers(t, "ST-15")
	_, call := oneCall(t, brw(wire.Read, 4096, wire.CheckDiscard, 1))
	m, err := wire.ParseMessage(call.Data)
	if err != nil || m.Body.(*wire.BRW).Check != wire.CheckNone || call.Check != wire.CheckNone {
		t.Errorf("%v, %+v, %+v", err, m.Body, call)
	}
}

// TestStrangers: nodes that are not allowed do not wait in the queue of consoles, and are not
// told of the session.
func TestStrangers(t *testing.T) {
	spec.Covers(t, "ST-12")
	allowed := true
	l := newLab(t, engine.Config{MaxWaiting: 2, Allow: func(nid.NID) bool { return allowed }}, node1)
	l.want(node1, &wire.MakeSession{Session: id1}, wire.OK)
	l.keep(engine.DoGet)
	l.send(node1, 1, &wire.Test{BulkID: 9, Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 1})
	allowed = false
	for _, features := range []wire.Features{0, 1, 3} {
		m, ok := l.ask(node1, features, &wire.MakeSession{Session: id2, Force: true})
		if !ok {
			t.Fatalf("features %d: no reply", features)
		}
		if id, _ := sessionOf(m.Body); m.Status != wire.EPERM || id != wire.NoSession() {
			t.Errorf("features %d: %v, session %v", features, m.Status, id)
		}
	}
	if got := l.nodes[node1.NID].Stats(); got.NotAllowed != 3 || got.Overload != 0 || got.Session != id1 {
		t.Errorf("%+v", got)
	}
}

// TestRetryDelay: even with a negative RetryDelay, a unit goes on after an RPC that failed, but not at once.
func TestRetryDelay(t *testing.T) {
	spec.Covers(t, "ST-16")
	l := newLab(t, engine.Config{RetryDelay: -time.Second}, node1, node2)
	l.corrupt = true
	l.join(node1)
	l.addClient(node1, brw(wire.Read, 8, wire.CheckFull, 2), node2)
	l.batch(node1, wire.RunBatch, 0, 0)
	l.advance(node1.NID, time.Millisecond)
	if got := l.stat(node1); got.RPC.Sent != 2 || got.Framework.Batches != 0 {
		t.Errorf("%+v", got)
	}
}

// TestShortTimeout: replies do not give a time-out below one second as 0, which means without end.
func TestShortTimeout(t *testing.T) {
	spec.Covers(t, "ST-10")
	for timeout, want := range map[time.Duration]uint32{-1: 0, 1: 1, time.Second: 1, time.Second + 1: 2} {
		l := newLab(t, engine.Config{SessionTimeout: timeout}, node1)
		if got := l.want(node1, &wire.MakeSession{Session: id1}, wire.OK).(*wire.MakeSessionReply).Timeout; got != want {
			t.Errorf("%v is told as %d s, want %d", timeout, got, want)
		}
	}
}

// TestShortList: a list that is too short is refused; BulkGet counts the bytes that have arrived.
func TestShortList(t *testing.T) {
	spec.Covers(t, "ST-13")
	l := newLab(t, engine.Config{}, node1)
	l.join(node1)
	l.lists[9] = make([]byte, 5)
	l.want(node1, &wire.Test{BulkID: 9, Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 1}, wire.EINVAL)
	if got := l.stat(node1).RPC.BulkGet; got != 5 {
		t.Errorf("%d bytes were got, want 5", got)
	}
}
