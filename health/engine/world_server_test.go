package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// server is a server's process, together with the state that survives the process.
type server struct {
	base
	ids        []nid.NID
	m          *Server
	out        ServerOutput
	store      map[wire.ClientID]Record
	tombstones map[wire.ClientID]tombstone
	durable    time.Duration // time at which the latest write becomes durable
	// for each death of the server that lost a write which was not durable yet: index of the first
	// event after the death
	unwritten []int
	views     map[nid.NID]*view
	quorum    bool
	unsure    time.Duration // until this time, discovery does not know whether there is a quorum, and reports no deaths or returns
	ready     time.Duration // the server is silent until this time after a start
	events    []Event
	fsync     time.Duration
	broken    bool          // the store fails every write
	quick     time.Duration // by how much this server's discovery is faster than that of other servers
}

// view is what discovery at one server believes about another server.
type view struct {
	alive    bool
	lifetime uint64
	heard    time.Duration
}

func (s *server) start() {
	s.up, s.stopped, s.inbox = true, false, nil
	s.incarnation++
	m, err := NewServer(ServerConfig{Self: s.id, Incarnation: s.incarnation, Servers: s.ids, MaxIncarnations: 1000, ClaimKeys: s.w.claims})
	if err != nil {
		s.w.t.Fatal(err)
	}
	s.m, s.quorum = m, false
	if s.incarnation > 1 {
		s.ready = s.w.now + s.w.detect*5/4
	}
	s.w.log("server %v starts", s.id)
	for _, v := range s.views { // any order: the entries are independent
		*v = view{heard: -time.Hour}
	}
	for _, id := range slices.SortedFunc(keys(s.store), wire.ClientID.Compare) {
		r := s.store[id]
		s.step(ServerInput{Kind: Restore, Record: &r})
	}
	for _, id := range slices.SortedFunc(keys(s.tombstones), wire.ClientID.Compare) {
		g := s.tombstones[id]
		s.step(ServerInput{Kind: RestoreTombstone, Client: id, Incarnation: g.incarnation, Epoch: g.epoch, For: 10 * time.Minute})
	}
	s.step(ServerInput{})
}

func keys[V any](m map[wire.ClientID]V) func(func(wire.ClientID) bool) {
	return func(yield func(wire.ClientID) bool) {
		for k := range m { // any order: sorted by the caller
			if !yield(k) {
				return
			}
		}
	}
}

func (s *server) kill() {
	s.w.log("server %v dies", s.id)
	s.up = false
	if s.w.now < s.durable {
		s.unwritten = append(s.unwritten, len(s.events))
	}
}

func (s *server) deliver(from nid.ProcessID, data []byte) {
	s.step(ServerInput{Kind: Arrived, From: from, Data: data})
}

func (s *server) step(in ServerInput) {
	s.out.Reset()
	wake := s.m.Step(s.w.now, in, &s.out)
	if s.w.steps++; s.w.steps%max(s.w.sparse, 1) == 0 {
		if err := s.m.invariants(); err != nil {
			s.w.fail("server %v: %v", s.id, err)
		}
	}
	effects := slices.Clone(s.out.Effects)
	buf := slices.Clone(s.out.Buf)
	s.wake(wake, func() { s.step(ServerInput{}) })
	for i := range effects {
		e := &effects[i]
		s.effect(e, buf[e.Begin:e.End])
	}
}

func (s *server) effect(e *ServerEffect, data []byte) {
	w, incarnation := s.w, s.incarnation
	switch e.Kind {
	case DoSend:
		w.send(s.id, e.To.NID, data)
	case DoSave:
		s.write(func() {
			if !s.broken {
				s.store[e.Record.Client] = *e.Record
			}
			failed := s.broken
			if e.ID != 0 {
				s.run(incarnation, func() { s.step(ServerInput{Kind: Saved, ID: e.ID, Failed: failed}) })
			}
		})
	case DoRemove:
		s.write(func() {
			delete(s.store, e.Client)
			if e.For < 0 && s.tombstones[e.Client].incarnation <= e.Incarnation {
				delete(s.tombstones, e.Client)
			}
			if e.For > 0 && e.Incarnation >= s.tombstones[e.Client].incarnation {
				s.tombstones[e.Client] = tombstone{incarnation: e.Incarnation, epoch: e.Epoch}
			}
		})
	case DoBroadcast:
		s.broadcast(e.ID, data)
	case DoLook: // the transport has received no message: nodes send only messages of client health
		w.at(w.now, func() {
			s.run(incarnation, func() { s.step(ServerInput{Kind: Seen, Client: e.Client, Failed: true}) })
		})
	case DoAnswer:
		e.Token.(func([]byte))(data)
	case DoTell:
		ev := e.Event
		w.log("%v: %v %v %x/%d master %v/%d", s.id, ev.Kind, ev.Cause, ev.Client[:4], ev.Incarnation, ev.Master, ev.Epoch)
		s.events = append(s.events, ev)
	}
}

// write calls f when a write becomes durable, in the order of the writes. If the server dies
// before that, f is never called.
func (s *server) write(f func()) {
	s.durable = max(s.durable, s.w.now+s.w.between(time.Millisecond, 5*time.Millisecond)+s.fsync)
	incarnation := s.incarnation
	s.w.at(s.durable, func() {
		if s.up && s.incarnation == incarnation {
			f()
		}
	})
}

// broadcast sends a request to all servers that this one believes alive, and collects their
// answers.
func (s *server) broadcast(id uint64, data []byte) {
	w, incarnation := s.w, s.incarnation
	done := func(failed bool, missing []nid.NID, reply []byte) {
		s.run(incarnation, func() {
			s.step(ServerInput{Kind: BroadcastDone, ID: id, Failed: failed, Servers: missing, Data: reply})
		})
	}
	if w.rng.Float64() < w.stale {
		w.after(time.Millisecond, func() { done(true, nil, nil) })
		return
	}
	asked, over := 0, false
	var missing []nid.NID
	reply := (&wire.Reply{}).AppendTo(nil)
	finish := func() {
		if !over {
			over = true
			done(false, missing, reply)
		}
	}
	for _, o := range w.servers {
		if o == s {
			continue
		}
		missing = append(missing, o.id)
		if !s.views[o.id].alive {
			continue
		}
		asked++
		ask := func(answered func(b []byte)) {
			w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
				if w.separated(s.id, o.id) || w.rng.Float64() < w.loss {
					return
				}
				o.run(o.incarnation, func() { o.step(ServerInput{Kind: EvictArrived, Server: s.id, Data: data, Token: answered}) })
			})
		}
		ask(func(b []byte) {
			w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
				if over || w.separated(s.id, o.id) {
					return
				}
				reply = wire.MergeReplies(reply, b)
				missing = slices.DeleteFunc(missing, func(id nid.NID) bool { return id == o.id })
				if asked--; asked == 0 {
					finish()
				}
			})
		})
		if w.rng.Float64() < w.late {
			w.after(w.between(time.Second, 40*time.Second), func() { ask(func([]byte) {}) })
		}
	}
	w.after(400*time.Millisecond, finish)
}

// poll is one round of discovery at a server: it reports to the server which others have died or
// returned, and whether there is a quorum.
func (w *world) poll(s *server) {
	w.after(200*time.Millisecond, func() { w.poll(s) })
	if !s.up || s.stopped {
		return
	}
	alive := 1
	for _, o := range w.servers {
		if o == s {
			continue
		}
		v := s.views[o.id]
		if o.up && !o.stopped && w.now >= o.ready && !w.separated(s.id, o.id) {
			v.heard = w.now
		}
		if now := w.now-v.heard < w.detect-s.quick; now != v.alive && w.now >= s.unsure {
			if v.alive = now; !now {
				v.lifetime++
			}
			s.step(ServerInput{Kind: ServerHealth, Server: o.id, Alive: v.alive, Lifetime: v.lifetime})
		}
		if v.alive {
			alive++
		}
	}
	if quorum := alive*2 > len(w.servers); quorum != s.quorum {
		s.quorum = quorum
		s.step(ServerInput{Kind: QuorumIs, Alive: quorum, Unsure: w.now < s.unsure})
	}
}

// pause stops a node for a while, as SIGSTOP does.
func (w *world) pause(n node, d time.Duration) {
	b := n.host()
	if !b.up || b.stopped {
		return
	}
	w.log("%v stands still for %v", b.id, d)
	incarnation := b.incarnation
	b.stop()
	w.after(d, func() {
		if !b.up || b.incarnation != incarnation {
			return
		}
		w.log("%v goes on", b.id)
		if s, ok := n.(*server); ok {
			for _, v := range s.views { // any order: the entries are independent
				v.heard += d // the pause must not change the ages of the entries
			}
			s.unsure = w.now + time.Second
		}
		b.resume()
	})
}
