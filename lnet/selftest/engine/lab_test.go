package engine_test

import (
	"testing"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// lab is a network of nodes in virtual time, with a console whose requests the test itself
// sends. It delivers effects at once and in order.
type lab struct {
	t       *testing.T
	now     time.Duration
	nodes   map[nid.NID]*engine.Node
	console nid.ProcessID
	lists   map[uint64][]byte        // lists of destinations at the console, by their match bits
	replies []wire.Message           // replies to the console that the test has not looked at
	posted  map[uint64]engine.Effect // calls by the match bits of their bulk data
	callers map[uint64]nid.NID
	lost    func(from nid.NID, e *engine.Effect) bool // reports whether an effect gets lost, that is, is not carried out
	corrupt bool                                      // bulk data are damaged on their way
	seen    map[engine.EffectKind]int
	wakes   map[nid.NID]time.Duration // by node: the time at which the node wants to be stepped next, as its latest step has returned it
	ids     uint64
}

func process(text string) nid.ProcessID {
	return nid.ProcessID{NID: nid.MustParse(text), PID: nid.LustrePID}
}

var (
	node1 = process("10.0.0.11@tcp")
	node2 = process("10.0.0.12@tcp")
	id1   = wire.Session{Console: nid.MustParse("10.0.0.1@tcp"), Stamp: 100}
	id2   = wire.Session{Console: nid.MustParse("10.0.0.2@tcp"), Stamp: 200}
)

func newLab(t *testing.T, cfg engine.Config, nodes ...nid.ProcessID) *lab {
	t.Helper()
	l := &lab{
		t: t, nodes: map[nid.NID]*engine.Node{}, console: process("10.0.0.1@tcp"), lists: map[uint64][]byte{},
		posted: map[uint64]engine.Effect{}, callers: map[uint64]nid.NID{}, seen: map[engine.EffectKind]int{}, wakes: map[nid.NID]time.Duration{},
		lost: func(nid.NID, *engine.Effect) bool { return false },
	}
	for i, p := range nodes {
		cfg.FirstID = uint64(i+1) << 48
		n, err := engine.NewNode(cfg)
		if err != nil {
			t.Fatal(err)
		}
		l.nodes[p.NID] = n
	}
	return l
}

// step steps a node, and carries out what follows from it.
func (l *lab) step(at nid.NID, in engine.Input) {
	var out engine.Output
	l.wakes[at] = l.nodes[at].Step(l.now, in, &out)
	for i := range out.Effects {
		e := &out.Effects[i]
		l.seen[e.Kind]++
		if !l.lost(at, e) {
			l.carryOut(at, e)
		}
	}
}

func (l *lab) carryOut(at nid.NID, e *engine.Effect) {
	switch e.Kind {
	case engine.DoReply:
		if e.Peer == l.console {
			m, err := wire.ParseMessage(e.Data)
			if err != nil {
				l.t.Fatal(err)
			}
			l.replies = append(l.replies, m)
		} else {
			l.step(e.Peer.NID, engine.Input{Kind: engine.Replied, ID: e.Bits, Data: e.Data})
		}
	case engine.DoPut, engine.DoGet:
		l.move(at, e)
	case engine.DoCancel: // the memory of the transfer is free at once, and a machine ignores the report if the id is that of an RPC
		l.step(at, engine.Input{Kind: engine.Moved, ID: e.ID, Failed: true})
	case engine.DoCall:
		if e.Bits != 0 {
			l.posted[e.Bits] = *e
		}
		l.step(at, engine.Input{Kind: engine.Sent, ID: e.ID})
		l.step(e.Peer.NID, engine.Input{Kind: engine.Arrived, Peer: nid.ProcessID{NID: at, PID: nid.LustrePID}, Self: e.Peer.NID, Service: e.Service, Data: e.Data})
	}
}

// move moves bulk data between a server and its client, or a list from the console.
func (l *lab) move(at nid.NID, e *engine.Effect) {
	if e.List {
		l.step(at, engine.Input{Kind: engine.Moved, ID: e.ID, Data: l.lists[e.Bits], Failed: l.lists[e.Bits] == nil})
		return
	}
	if e.Peer == l.console {
		l.step(at, engine.Input{Kind: engine.Moved, ID: e.ID})
		return
	}
	call := l.posted[e.Bits]
	data := make([]byte, e.Length)
	engine.Fill(data, e.Check)
	if l.corrupt {
		data[0] ^= 1
	}
	good := engine.Verify(data, e.Check, false)
	l.step(e.Peer.NID, engine.Input{Kind: engine.Bulk, ID: call.ID, Corrupt: e.Kind == engine.DoPut && !good})
	l.step(at, engine.Input{Kind: engine.Moved, ID: e.ID, Corrupt: e.Kind == engine.DoGet && !good})
}

// advance lets time pass at a node, with all its timers.
func (l *lab) advance(at nid.NID, by time.Duration) {
	for end := l.now + by; ; {
		l.step(at, engine.Input{})
		wake := l.wakes[at]
		if wake > end {
			l.now = end
			return
		}
		if wake <= l.now {
			l.t.Fatalf("at %v a node wants to be stepped at %v", l.now, wake)
		}
		l.now = wake
	}
}

// ask sends a request of the console and returns the reply, or false if there is none.
func (l *lab) ask(to nid.ProcessID, features wire.Features, body wire.Body) (wire.Message, bool) {
	l.t.Helper()
	l.send(to, features, body)
	if len(l.replies) == 0 {
		return wire.Message{}, false
	}
	m := l.replies[0]
	l.replies = l.replies[1:]
	if m.Type != body.Type().Reply() {
		l.t.Errorf("a %v is answered by a %v", body.Type(), m.Type)
	}
	return m, true
}

func (l *lab) send(to nid.ProcessID, features wire.Features, body wire.Body) {
	l.t.Helper()
	l.ids++
	m := wire.Message{Header: wire.Header{Features: features}, ReplyID: 1<<40 + l.ids, Body: body}
	data, err := m.AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.step(to.NID, engine.Input{Kind: engine.Arrived, Peer: l.console, Self: to.NID, Service: serviceOf(body), Data: data})
}

// serviceOf returns the service that takes a request.
func serviceOf(body wire.Body) wire.Service { return service(body.Type()) }

// service returns the service that takes requests of a type.
func service(want wire.Type) wire.Service {
	for s := range wire.PingService + 1 {
		if t, ok := s.Request(); ok && t == want {
			return s
		}
	}
	return 99
}

// want fails the test unless a request gets a reply with a status, and returns that reply.
func (l *lab) want(to nid.ProcessID, body wire.Body, status wire.Status) wire.Body {
	l.t.Helper()
	m, ok := l.ask(to, 1, body)
	if !ok || m.Status != status {
		l.t.Errorf("%T: %v, %t, want %v", body, m.Status, ok, status)
	}
	return m.Body
}

// join makes the session id1 at all nodes.
func (l *lab) join(nodes ...nid.ProcessID) {
	l.t.Helper()
	for _, p := range nodes {
		l.want(p, &wire.MakeSession{Session: id1, Name: "one"}, wire.OK)
	}
}

// addClient adds a test to batch 2 of a node, with a list of destinations.
func (l *lab) addClient(at nid.ProcessID, test wire.Test, to ...nid.ProcessID) {
	l.t.Helper()
	list, err := wire.AppendDestinations(nil, to, false)
	if err != nil {
		l.t.Fatal(err)
	}
	l.ids++
	l.lists[l.ids] = list
	test.BulkID, test.Session, test.Batch, test.Client, test.Destinations = l.ids, id1, 2, true, uint32(len(to))
	l.want(at, &test, wire.OK)
}

// batch sends a request about batch 2.
func (l *lab) batch(at nid.ProcessID, op wire.BatchOp, number int32, argument uint32) *wire.BatchReply {
	l.t.Helper()
	return l.want(at, &wire.Batch{Session: id1, Batch: 2, Op: op, Test: number, Argument: argument}, wire.OK).(*wire.BatchReply)
}

// stat returns the counters of a node.
func (l *lab) stat(at nid.ProcessID) *wire.StatReply {
	l.t.Helper()
	return l.want(at, &wire.Stat{Session: id1}, wire.OK).(*wire.StatReply)
}
