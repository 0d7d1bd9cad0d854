package collective

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
)

// TestBroadcast: CH-10, CH-27: a broadcast with one eviction, or with a full batch, asks every
// other server once and adds up the numbers in their answers. The server that broadcasts does
// not ask itself.
func TestBroadcast(t *testing.T) {
	spec.Covers(t, "CH-10", "CH-27")
	s := newServers(t, 12, nil)
	for _, entries := range []int{1, wire.MaxBatch} {
		s.want(s.broadcast(3, entries), uint32(11*entries))
	}
	for i, k := range s.nodes {
		if want := min(2, 2*abs(i-3)); k.asked != want {
			t.Errorf("server %d was asked %d times, not %d", i, k.asked, want)
		}
		if st := k.b.Stats(); st.Memory != 0 || st.Served != uint64(k.asked) {
			t.Errorf("server %d: %+v", i, st)
		}
	}
}

func abs(i int) int { return max(i, -i) }

// TestDead: CH-A22: while one of five servers is dead, a broadcast of evictions succeeds and
// lists that server as missing. That server is asked once it is back. The same holds while
// discovery has not detected the death yet.
func TestDead(t *testing.T) {
	spec.Covers(t, "CH-A22")
	for root := range 4 {
		s := newServers(t, 5, nil)
		s.fabric.Kill(4)
		o := s.broadcast(root, 1)
		if !slices.Contains(o.Missing, s.ids[4]) || o.Err != nil {
			t.Errorf("before discovery knows: %+v", o)
		}
		s.discover(4, false, 0, 1, 2, 3)
		s.want(s.broadcast(root, 1), 3, 4)
		s.fabric.Start(4, false)
		s.run(time.Millisecond)
		s.discover(4, true, 0, 1, 2, 3)
		s.want(s.broadcast(root, 1), 4)
	}
}

// TestMinority: a server that sees no other server alive sends nothing, and reports all others
// as missing.
func TestMinority(t *testing.T) {
	s := newServers(t, 3, nil)
	s.discover(1, false, 0)
	s.discover(2, false, 0)
	s.want(s.broadcast(0, 2), 0, 1, 2)
	if s.nodes[1].asked+s.nodes[2].asked != 0 {
		t.Error("dead servers were asked")
	}
}

// TestLate: a slow answer counts if it comes before the deadline of the request. A server that answers
// too late is reported as missing, wherever it is in the tree, and no other server is.
func TestLate(t *testing.T) {
	for slow := range 7 {
		s := newServers(t, 8, nil)
		s.nodes[slow].late = processing / 2
		s.want(s.broadcast(7, 1), 7)
		s.nodes[slow].late = 10 * processing
		s.want(s.broadcast(7, 1), 6, slow)
		s.run(20 * processing)
		for i, k := range s.nodes {
			if st := k.b.Stats(); st.Memory != 0 {
				t.Errorf("server %d: %+v", i, st)
			}
		}
	}
}

// TestUnserved: a server without an agent of health is reported as missing; the servers below it
// in the tree are not.
func TestUnserved(t *testing.T) {
	for silent := range 7 {
		s := newServers(t, 8, nil)
		s.nodes[silent].b.Serve(nil)
		s.want(s.broadcast(7, 1), 6, silent)
		if st := s.nodes[silent].b.Stats(); st.Unserved != 1 || st.Served != 0 {
			t.Errorf("%+v", st)
		}
		s.nodes[silent].b.Close()
		o := s.broadcast(7, 1)
		if !slices.Contains(o.Missing, s.ids[silent]) {
			t.Errorf("closed and not missing: %+v", o)
		}
	}
}

// TestDisagreement: CH-A22, SC-A20: if servers disagree about which of them are alive, the
// request is repeated. Servers that have already answered then answer once more.
func TestDisagreement(t *testing.T) {
	spec.Covers(t, "CH-A22", "SC-A20")
	s := newServers(t, 6, nil)
	s.fabric.Kill(5)
	s.discover(5, false, 0, 2, 4)
	s.fabric.At(s.fabric.Now()+500*time.Millisecond, func() { s.discover(5, false, 1, 3) })
	s.want(s.broadcast(0, 1), 4, 5)
	if s.nodes[0].agent.Stats().Again == 0 || s.nodes[4].asked != 2 || s.nodes[1].asked != 1 {
		t.Errorf("%d attempts more; who agreed was asked %d times, who did not %d", s.nodes[0].agent.Stats().Again, s.nodes[4].asked, s.nodes[1].asked)
	}
	// A server that the request never reaches is reported as missing in the end.
	s = newServers(t, 6, nil)
	s.fabric.Kill(5)
	s.discover(5, false, 0, 1, 2, 4)
	s.want(s.broadcast(0, 1), 3, 3, 5)
}

// TestExceptions: CH-A22: exceptions of several servers are merged by the index of the eviction,
// and the one with the later incarnation, or later choice of a master, wins.
func TestExceptions(t *testing.T) {
	spec.Covers(t, "CH-A22")
	s := newServers(t, 5, nil)
	except := func(i int, x ...wire.Exception) {
		s.nodes[i].answer = (&wire.Reply{Unknown: 1, Exceptions: x}).AppendTo(nil)
	}
	except(1, wire.Exception{Index: 1, Code: health.OtherMaster, Epoch: 2, Incarnation: 1, Master: s.ids[2]})
	except(2, wire.Exception{Index: 0, Code: health.Newer, Incarnation: 7}, wire.Exception{Index: 1, Code: health.OtherMaster, Epoch: 3, Incarnation: 1, Master: s.ids[3]})
	except(4, wire.Exception{Index: 1, Code: health.OtherMaster, Epoch: 1, Incarnation: 1, Master: s.ids[4]})
	r := s.want(s.broadcast(0, 2), 2)
	if len(r.Exceptions) != 2 || r.Exceptions[0].Incarnation != 7 || r.Exceptions[1].Master != s.ids[3] || r.Unknown != 3 {
		t.Errorf("%+v", r)
	}
}

// TestNonsense: a server whose own answer does not parse is reported as missing, and no other
// server is. If the answer of a child does not parse, its parent counts that, and the whole
// subtree of the child is reported as missing.
func TestNonsense(t *testing.T) {
	for name, answer := range map[string][]byte{"empty": {}, "text": []byte("evicted, all of them")} {
		t.Run(name, func(t *testing.T) {
			for bad := range 7 {
				s := newServers(t, 8, nil)
				s.nodes[bad].answer = answer
				s.want(s.broadcast(7, 2), 12, bad)
			}
		})
	}
	s := newServers(t, 8, nil)
	s.nodes[4].answer = (&wire.Reply{Exceptions: []wire.Exception{{Index: 2, Code: health.Newer}}}).AppendTo(nil)
	s.want(s.broadcast(0, 2), 6, 4, 5, 6, 7) // the server's answer refers to an eviction that is not in the request
	if s.nodes[0].b.Stats().BadAnswers != 1 {
		t.Errorf("%+v", s.nodes[0].b.Stats())
	}
}

// TestUnsent: a request that cannot be sent is an error, and no server is asked.
func TestUnsent(t *testing.T) {
	s := newServers(t, 3, nil)
	var o health.Outcome
	for _, request := range [][]byte{nil, []byte("no batch"), batchOf(wire.MaxBatch + 1)} {
		if done := s.begin(0, request, &o); s.runFor(done) != 1 || o.Err == nil {
			t.Errorf("%q: %+v", request, o)
		}
	}
	if err := s.nodes[0].b.SetServers(nil); err != nil {
		t.Fatal(err)
	}
	if o = s.broadcast(0, 1); !errors.Is(o.Err, scoll.ENOGROUP) {
		t.Errorf("without servers: %+v", o)
	}
	if err := s.nodes[0].b.SetServers(s.ids[1:]); err != nil {
		t.Fatal(err)
	}
	if o = s.broadcast(0, 1); !errors.Is(o.Err, scoll.EPERM) {
		t.Errorf("of others: %+v", o)
	}
	if err := s.nodes[0].b.SetServers(append(s.ids, s.ids[0])); !errors.Is(err, scoll.ErrTwice) {
		t.Errorf("twice: %v", err)
	}
	if s.nodes[1].asked+s.nodes[2].asked != 0 || s.nodes[0].b.Stats().Unsent != 5 {
		t.Errorf("%+v", s.nodes[0].b.Stats())
	}
}

// runFor runs virtual time for a second, and returns how often the callback was called.
func (s *servers) runFor(done *int) int {
	s.run(time.Second)
	return *done
}

// TestSetServers: CH-A22: after its list of servers has changed, a server reaches each of the
// others once their lists have changed as well. Until then they are reported as missing, with no
// other effect.
func TestSetServers(t *testing.T) {
	spec.Covers(t, "CH-A22")
	s := newServers(t, 4, func(i int, cfg *Config) {
		cfg.Servers = cfg.Servers[1:] // without server 3: the list is in descending order
	})
	s.nodes[3].b.SetServers(s.ids)
	s.want(s.broadcast(0, 1), 2)
	for _, i := range []int{0, 1} {
		if err := s.nodes[i].b.SetServers(s.ids); err != nil {
			t.Fatal(err)
		}
	}
	s.want(s.broadcast(0, 1), 1, 2, 3) // server 3 is missing because in the tree it is below server 2, which still has the old list
	if err := s.nodes[2].b.SetServers(s.ids); err != nil {
		t.Fatal(err)
	}
	s.want(s.broadcast(0, 1), 3)
}

// TestMalformed: a request of the group is refused if it does not parse, and if there is no
// memory for its answers.
func TestMalformed(t *testing.T) {
	s := newServers(t, 8, func(_ int, cfg *Config) { cfg.MaxMemory = 100 })
	done := false
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := s.nodes[0].b.group.NewRequest(scoll.RequestConfig{Payload: []byte("HEVB?"), Live: true, Private: &call{
			done: func(health.Outcome) { done = true }, servers: s.nodes[0].b.servers(), gathering: gathering{entries: 1},
		}})
		if err == nil {
			err = post(r, 1)
		}
		if err == nil {
			err = r.Send()
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(time.Second)
	if !done || s.nodes[4].b.Stats().Malformed != 1 {
		t.Errorf("%v, %+v", done, s.nodes[4].b.Stats())
	}
	o := s.broadcast(0, 2) // a server without children in the tree needs no memory for answers
	var busy uint64
	for _, k := range s.nodes {
		busy += k.b.Stats().Busy
	}
	if busy == 0 || len(o.Missing) == 0 || slices.Contains(o.Missing, s.ids[1]) {
		t.Errorf("%d busy, %v missing", busy, o.Missing)
	}
}

// TestPinned: CH-A22: the group of all servers is never removed, however many groups others
// create.
func TestPinned(t *testing.T) {
	spec.Covers(t, "CH-A22")
	const n, other = 3, scoll.ServiceID(9)
	s := newServers(t, n, nil)
	s.broadcast(0, 1)
	targets := make([]scoll.Target, n)
	for i, id := range s.ids {
		targets[i] = scoll.Target{NID: id, Entities: entity}
	}
	members, err := scoll.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	prepare := func(r *scoll.Request) error { return post(r, 0) }
	for _, k := range s.nodes {
		if err := k.agent.RegisterService(scoll.Service{
			ID: other, PreRequest: prepare, IncomingRequest: func(*scoll.Request) error { return nil },
			PostReply: func(r *scoll.Request) { _ = r.Reply(nil) }, // at the root a nil answer fails with EINVAL
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 * fewGroups {
		s.fabric.Do(0, func(*simlnd.Host) {
			s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: other, Members: members, Done: func(g *scoll.Group, err error) {
				r, err2 := g.NewRequest(scoll.RequestConfig{})
				if err2 == nil {
					err2 = errors.Join(prepare(r), r.Send())
				}
				if err = errors.Join(err, err2); err != nil {
					t.Error(err)
				}
			}})
		})
		s.run(time.Second)
	}
	for i, k := range s.nodes[1:] {
		groups, health := k.agent.Groups(), 0
		for _, g := range groups {
			if g.Service == ServiceID {
				health++
			}
		}
		if health != 1 || len(groups) != 1+fewGroups {
			t.Errorf("server %d: %+v", i+1, groups)
		}
	}
}
