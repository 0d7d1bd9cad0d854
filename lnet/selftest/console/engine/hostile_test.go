package engine_test

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestWrongReplies: a reply of another type or form ends its RPC, and nothing is learned from it.
func TestWrongReplies(t *testing.T) {
	spec.Covers(t, "ST-32")
	good, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.DebugReply{Session: wire.NoSession()}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.RemoveSessionReply{Session: wire.NoSession()}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	version := slices.Clone(good)
	version[4] = 2
	for name, reply := range map[string][]byte{"nothing": nil, "short": good[:159], "long": append(slices.Clone(good), 0), "type": other, "version": version, "zeros": make([]byte, 160)} {
		l := newLab(t, 2, engine.Config{})
		l.open(1)
		h := l.host(1)
		h.dead = true
		ping, _ := l.begin(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}})
		for id, service := range l.host(0).services {
			if service == wire.DebugService {
				l.host(0).stepConsole(engine.Input{Kind: engine.Replied, ID: id, Data: reply})
				l.host(0).stepConsole(engine.Input{Kind: engine.Replied, ID: id, Data: good}) // too late: the RPC has ended
			}
		}
		if !ping.over || ping.Answers[0].Failed != syscall.EBADMSG || ping.Answers[0].State == engine.Unknown {
			t.Errorf("%s: %+v", name, ping)
		}
	}
}

// TestLateReply: a reply that comes after its RPC was given up changes nothing.
func TestLateReply(t *testing.T) {
	spec.Covers(t, "ST-32")
	l := newLab(t, 2, engine.Config{})
	l.open(1)
	var late func()
	l.lost = func(from, to *host, service wire.Service) bool {
		if from.id == hostID(1) && service == wire.DebugService {
			for id, s := range to.services {
				if s == wire.DebugService {
					late = func() {
						m := wire.Message{Header: wire.Header{Features: 1}, Body: &wire.DebugReply{Session: wire.NoSession()}}
						data, _ := m.AppendBinary(nil)
						to.stepConsole(engine.Input{Kind: engine.Replied, ID: id, Data: data})
					}
				}
			}
			return true
		}
		return false
	}
	l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}})
	late()
	if got := l.states("g"); got[0] != engine.Down {
		t.Errorf("%v", got)
	}
}

// TestForgedSessions: some nodes give answers with random sessions, statuses and time-outs. The console's counts agree
// with each other all the same, its commands end, and other nodes are not affected.
func TestForgedSessions(t *testing.T) {
	spec.Covers(t, "ST-32")
	l := newLab(t, 6, engine.Config{})
	random := rand.New(rand.NewPCG(1, 2))
	own := func() wire.Session {
		s, err := l.host(0).console.Session()
		if err != nil {
			return wire.NoSession()
		}
		return s.ID
	}
	forge := func(m *wire.Message) *wire.Message {
		sessions := []wire.Session{wire.NoSession(), own(), {Console: hostID(4).NID, Stamp: random.Int64()}, {Console: nid.Any(), Stamp: 5}}
		s := sessions[random.IntN(len(sessions))]
		statuses := []wire.Status{wire.OK, wire.EBUSY, wire.EPROTO, wire.ESRCH, wire.EPERM, 1<<32 - 1}
		reply := &wire.Message{Header: wire.Header{Features: wire.Features(random.IntN(2)), BigEndian: random.IntN(2) == 0}, Status: statuses[random.IntN(len(statuses))]}
		switch m.Body.(type) {
		case *wire.MakeSession:
			reply.Body = &wire.MakeSessionReply{Session: s, Timeout: random.Uint32(), Name: "forged"}
		case *wire.RemoveSession:
			reply.Body = &wire.RemoveSessionReply{Session: s}
		case *wire.Debug:
			reply.Body = &wire.DebugReply{Session: s, Timeout: random.Uint32(), Batches: random.Uint32(), Name: "forged"}
		case *wire.Test:
			reply.Body = &wire.TestReply{Session: s}
		case *wire.Batch:
			reply.Body = &wire.BatchReply{Session: s, Active: random.Uint32()}
		default:
			reply.Body = &wire.StatReply{Session: s}
		}
		return reply
	}
	for i := 1; i <= 3; i++ {
		l.host(i).fake = forge
	}
	for range 200 {
		l.do(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
		l.do(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(5)})
		for _, c := range []engine.Command{
			&engine.AddGroup{Key: key, Name: "bad", IDs: hostIDs(1, 2, 3)}, &engine.AddTest{Key: key, Test: ping("g", "bad")}, &engine.AddTest{Key: key, Test: ping("bad", "bad")},
			&engine.Run{Key: key, Batch: "batch"}, &engine.Query{Key: key, Batch: "batch"}, &engine.Query{Key: key, Batch: "batch", Test: 1},
			&engine.Stat{Key: key, Target: engine.Target{Session: true}}, &engine.RefreshGroup{Key: key, Group: "bad"}, &engine.Stop{Key: key, Batch: "batch"},
			&engine.DeleteGroup{Key: key, Group: "bad"}, &engine.EndSession{Key: key},
		} {
			l.do(0, c)
			l.run(time.Duration(random.IntN(30)) * time.Second)
		}
		if got := l.host(5).node.Stats().Session; got != wire.NoSession() {
			t.Fatalf("the honest node has the session %v", got)
		}
	}
	if most := l.most; most > 10 {
		t.Errorf("%d RPCs at one time", most)
	}
}

// FuzzReply: no reply makes the machine panic, or makes its counts contradict each other.
func FuzzReply(f *testing.F) {
	for _, body := range []wire.Body{
		&wire.MakeSessionReply{Session: wire.NoSession()}, &wire.DebugReply{Session: wire.NoSession(), Name: "x"}, &wire.StatReply{Session: wire.NoSession()},
		&wire.TestReply{Session: wire.NoSession()}, &wire.BatchReply{Session: wire.NoSession(), Active: 7}, &wire.RemoveSessionReply{Session: wire.NoSession()},
	} {
		data, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: body}).AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		data[28+8] ^= 1
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := engine.New(engine.Config{FirstID: 1})
		if err != nil {
			t.Fatal(err)
		}
		var calls []uint64
		step := func(now time.Duration, in engine.Input) {
			var out engine.Output
			c.Step(now, in, &out)
			for _, e := range out.Effects {
				if e.Kind == engine.DoCall {
					calls = append(calls, e.ID)
				}
			}
			if err := c.Invariants(); err != nil {
				t.Fatal(err)
			}
		}
		for i, command := range []engine.Command{
			&engine.NewSession{Key: key, Name: "x", Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1, 2)},
			&engine.Ping{Key: key, Target: engine.Target{Group: "g"}}, &engine.Stat{Key: key, Target: engine.Target{Group: "g"}},
			&engine.AddTest{Key: key, Test: ping("g", "g")}, &engine.Run{Key: key, Batch: "batch"}, &engine.Query{Key: key, Batch: "batch"}, &engine.Stop{Key: key, Batch: "batch"}, &engine.EndSession{Key: key},
		} {
			now := time.Duration(i) * time.Millisecond
			step(now, engine.Input{Kind: engine.Do, ID: uint64(i + 1), Command: command, Self: hostID(0).NID})
			for n := 0; len(calls) > 0 && n < 100; n++ {
				id := calls[0]
				calls = calls[1:]
				step(now, engine.Input{Kind: engine.Replied, ID: id, Data: data})
			}
		}
		for now := time.Second; now < time.Minute; now += time.Second {
			step(now, engine.Input{})
		}
	})
}
