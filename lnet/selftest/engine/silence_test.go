package engine_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// write sends BRW requests to node1 that offer 1 MiB each, under match bits from 1 on in a new lab.
func (l *lab) write(count int) {
	for range count {
		l.send(node1, 1, &wire.BRW{BulkID: l.ids + 1, Op: wire.Write, Length: 1 << 20, Check: wire.CheckNone})
	}
}

// unanswered returns a lab in which node1 has sent two GETs to a client, for whose data it has memory, and two further requests of
// the client wait. What the lab keeps are effects of the kinds DoGet and DoCancel; they are not carried out.
func unanswered(t *testing.T) (l *lab, gets, cancels *[]engine.Effect) {
	t.Helper()
	l = newLab(t, engine.Config{MaxBulk: 8 << 20}, node1)
	gets, cancels = &[]engine.Effect{}, &[]engine.Effect{}
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		switch e.Kind {
		case engine.DoGet:
			*gets = append(*gets, *e)
		case engine.DoCancel:
			*cancels = append(*cancels, *e)
		default:
			return false
		}
		return true
	}
	l.write(4)
	if len(*gets) != 2 {
		t.Fatalf("%d GETs", len(*gets))
	}
	return l, gets, cancels
}

// TestRestartedClient: a client that has stopped its tests by force does not answer the GETs for them. When it sends requests of
// another test, these get the memory after a few seconds, and what waits of the earlier test is dropped.
func TestRestartedClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, gets, _ := unanswered(t)
	l.advance(node1.NID, time.Second)
	l.write(4)
	l.lost = func(nid.NID, *engine.Effect) bool { return false } // the client answers GETs from now on, and the memory of a cancelled one is free at once
	l.advance(node1.NID, 9*time.Second)
	if got := l.nodes[node1.NID].Stats(); got.BulkGet != 4<<20 || len(l.replies) != 4 || got.Moving != 0 || got.Errors != 2 || got.Dropped != 4 {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
	for _, e := range *gets { // too late
		l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: e.ID})
	}
	if len(l.replies) != 4 {
		t.Errorf("%d replies", len(l.replies))
	}
}

// TestRestOfTest: a request of the earlier test that arrived after the client's last data is mistaken for one of the later test, and gets
// memory. Its GET is given up, and the memory is free again, when the GETs of later requests have been answered.
func TestRestOfTest(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, _, _ := unanswered(t)
	l.advance(node1.NID, time.Millisecond)
	l.write(1)
	l.advance(node1.NID, time.Second)
	l.write(4)
	l.lost = func(_ nid.NID, e *engine.Effect) bool { return e.Kind == engine.DoGet && e.Bits <= 5 }
	l.advance(node1.NID, 8*time.Second)
	if got := l.nodes[node1.NID].Stats(); len(l.replies) != 4 || got.Moving != 1<<20 {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
	l.advance(node1.NID, 4*time.Second)
	if got := l.nodes[node1.NID].Stats(); len(l.replies) != 4 || got.Moving != 0 {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
}

// TestFullServer: GETs without an answer are also given up when another client waits because they have all the memory.
func TestFullServer(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, _, _ := unanswered(t)
	for _, client := range []string{"10.0.1.2@tcp", "10.0.1.3@tcp", "10.0.1.4@tcp"} {
		l.console = process(client)
		l.write(2)
	}
	l.console = process("10.0.1.5@tcp")
	l.write(1)
	l.lost = func(nid.NID, *engine.Effect) bool { return false }
	l.advance(node1.NID, 9*time.Second)
	if got := l.nodes[node1.NID].Stats(); len(l.replies) != 1 || l.replies[0].Status != wire.OK {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
}

// TestStalledClient: a client that answers nothing for a while, and sends nothing, keeps its requests: its network may have stalled.
func TestStalledClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, gets, cancels := unanswered(t)
	l.advance(node1.NID, 50*time.Second)
	for i := 0; i < len(*gets); i++ {
		l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*gets)[i].ID})
	}
	if got := l.nodes[node1.NID].Stats(); len(*cancels) != 0 || len(l.replies) != 4 || got.BulkGet != 4<<20 {
		t.Errorf("%d cancelled, %d replies, %+v", len(*cancels), len(l.replies), got)
	}
}

// TestTrickledProbe: the client sends the data of the oldest GET, the probe, byte by byte until the request times out. After that,
// another GET becomes the probe, so that the client can still be found silent.
func TestTrickledProbe(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, gets, cancels := unanswered(t)
	l.advance(node1.NID, time.Second)
	l.write(1)
	l.advance(node1.NID, 59*time.Second)
	l.write(1)
	l.advance(node1.NID, 5*time.Second)
	if len(*gets) != 2 || len(*cancels) != 2 {
		t.Fatalf("%+v are cancelled of %+v", *cancels, *gets)
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*gets)[1].ID, Failed: true})
	l.advance(node1.NID, time.Second)
	l.write(1)
	l.advance(node1.NID, 7*time.Second)
	if len(*gets) != 3 || len(*cancels) != 3 || (*cancels)[2].ID != (*gets)[2].ID {
		t.Errorf("%+v are cancelled of %+v", *cancels, *gets)
	}
}

// TestSlowClient: if the data of the oldest GET have begun to arrive, the client is alive: its request gets a reply when all have arrived, and
// no other GET is given up, although new requests of the client wait.
func TestSlowClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, gets, cancels := unanswered(t)
	l.advance(node1.NID, time.Second)
	l.write(1)
	for i := range 5 {
		l.advance(node1.NID, 8*time.Second)
		if len(*cancels) != 1 || (*cancels)[0].ID != (*gets)[0].ID {
			t.Fatalf("after %d transfers: %+v are cancelled of %+v", i, *cancels, *gets)
		}
		l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*gets)[i].ID})
	}
	if got := l.nodes[node1.NID].Stats(); len(l.replies) != 5 || got.BulkGet != 5<<20 || got.Moving != 0 {
		t.Errorf("%d replies, %+v", len(l.replies), got)
	}
}

// kept returns a lab with a node that keeps effects of the given kinds in a list, without carrying them out.
func kept(t *testing.T, kinds ...engine.EffectKind) (l *lab, effects *[]engine.Effect) {
	t.Helper()
	l, effects = newLab(t, engine.Config{MaxBulk: 8 << 20}, node1), &[]engine.Effect{}
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		keep := slices.Contains(kinds, e.Kind)
		if keep {
			*effects = append(*effects, *e)
		}
		return keep
	}
	return l, effects
}

// TestReadsBesideWrites: a client on a slow link has writes, whose GETs are not answered for long, and reads, one of which ends each
// second. Further reads that wait belong to the same test, so no GET is given up. A read that comes more than 5 s after the last served
// one belongs to another test, and a GET is given up.
func TestReadsBesideWrites(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, effects := kept(t, engine.DoGet, engine.DoPut, engine.DoCancel)
	request := func(op wire.BRWOp, length int) {
		l.send(node1, 1, &wire.BRW{BulkID: l.ids + 1, Op: op, Length: uint32(length), Check: wire.CheckNone})
	}
	request(wire.Write, 896<<10)
	request(wire.Write, 896<<10)
	request(wire.Read, 256<<10)
	request(wire.Read, 256<<10)
	for range 30 {
		l.advance(node1.NID, time.Second)
		last := (*effects)[len(*effects)-1]
		if last.Kind != engine.DoPut {
			t.Fatalf("at %v: %+v", l.now, last)
		}
		l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: last.ID})
		l.advance(node1.NID, 200*time.Millisecond)
		request(wire.Read, 256<<10)
	}
	l.advance(node1.NID, 10*time.Second)
	if got := l.nodes[node1.NID].Stats(); len(*effects) != 2+31 || got.BulkPut != 30*256<<10 {
		t.Fatalf("%d effects, %+v", len(*effects), got)
	}
	request(wire.Read, 256<<10)
	l.advance(node1.NID, time.Second)
	if last := (*effects)[len(*effects)-1]; last.Kind != engine.DoCancel || last.ID != (*effects)[0].ID {
		t.Errorf("%+v", last)
	}
}

// TestUnsentProbe: a GET that was given up before it left this node does not show that its client is silent: no other
// GET is given up because of it, and no waiting request is dropped. The next GET is given up only after 5 s more
// without data.
func TestUnsentProbe(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, gets, cancels := unanswered(t)
	l.advance(node1.NID, time.Second)
	l.write(1)
	l.advance(node1.NID, 5*time.Second)
	if len(*cancels) != 1 {
		t.Fatalf("%+v are cancelled", *cancels)
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: (*cancels)[0].ID, Failed: true, Unsent: true})
	l.advance(node1.NID, 4*time.Second)
	if got := l.nodes[node1.NID].Stats(); len(*cancels) != 1 || len(*gets) != 3 || got.Dropped != 1 {
		t.Errorf("%+v are cancelled of %+v; %+v", *cancels, *gets, got)
	}
	l.advance(node1.NID, 2*time.Second)
	if len(*cancels) != 2 || (*cancels)[1].ID != (*gets)[1].ID {
		t.Errorf("%+v are cancelled of %+v", *cancels, *gets)
	}
}
