package scoll_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// put sends a forged message, and returns the answer that comes to the reply portal with the match bits in
// the parameter answer.
func (s *stacks) put(from, to, portal int, match, answer uint64, message []byte) (back []byte) {
	s.t.Helper()
	buffer, length := make([]byte, 200), 0
	s.fabric.Do(sim.NodeID(from), func(*simlnd.Host) {
		table := s.nodes[from].table
		peer := nid.ProcessID{NID: simlnd.NID(sim.NodeID(to)), PID: nid.LustrePID}
		me, err := table.MEAttach(wire.ReplyPortal, portals.Match{ID: peer, Bits: answer}, portals.Unlink, portals.After)
		if err == nil {
			_, err = table.MDAttach(me, portals.MD{
				Segments: [][]byte{buffer}, Threshold: 1, Options: portals.OpPut,
				Handler: func(e *portals.Event) { length = int(e.MLength) },
			}, portals.Unlink)
		}
		var md portals.MDHandle
		if err == nil {
			md, err = table.MDBind(portals.MD{Segments: [][]byte{message}, Threshold: 1}, portals.Unlink)
		}
		if err == nil {
			err = table.Put(portals.PutRequest{MD: md, Target: peer, Portal: portal, MatchBits: match})
		}
		if err != nil {
			s.t.Error(err)
		}
		s.fabric.At(s.fabric.Now()+50*time.Millisecond, func() { _ = table.MEUnlink(me) })
	})
	s.run(100 * time.Millisecond)
	return buffer[:length]
}

// quiet fails the test if a request is under way at a node, or if one of its buffers is not
// posted again.
func (s *stacks) quiet(k *stack, buffers int) {
	s.t.Helper()
	requests, lists := k.agent.Held()
	posted, all := k.agent.Buffers()
	if requests != 0 || lists != 0 || posted != buffers || all != buffers {
		s.t.Errorf("node %d: %d requests, %d lists, %d of %d buffers posted", k.id, requests, lists, posted, all)
	}
	if n := k.table.Node().Stats().MsgsAlloc; n != 0 {
		s.t.Errorf("node %d: %d messages are on their way", k.id, n)
	}
}

// request returns a message for node 4 of 8 over a group that node 0 created.
func (s *stacks) request(change func(*wire.RequestHeader), payload int) []byte {
	list := s.members.AppendTo(nil)
	h := wire.RequestHeader{
		ReplyBits: 5555, Sequence: 1, First: 1, RootIncarnation: s.nodes[0].host.LNetIncarnation(), Service: service, Flags: wire.FlagList,
		Group: scoll.GroupID{Creator: s.members.NID(0), Incarnation: s.nodes[0].host.LNetIncarnation(), Index: 900, Digest: s.members.Digest()},
		Tree:  scoll.Tree{Type: scoll.KNomial, K: 2}, Nodes: 8, RTT: time.Millisecond, Guard: time.Millisecond,
		ListSize: uint32(len(list)), PayloadSize: uint32(payload),
	}
	if change != nil {
		change(&h)
	}
	return append(append(h.AppendTo(nil), list...), make([]byte, payload)...)
}

// TestBadInput: SC-60 to SC-64, SC-80, SC-88 and SC-160: each bad message is answered with its
// status and counted. No callback is called, and no buffer is lost.
func TestBadInput(t *testing.T) {
	spec.Covers(t, "SC-60", "SC-61", "SC-62", "SC-63", "SC-64", "SC-80", "SC-88", "SC-160")
	const buffers = 3
	for _, c := range []struct {
		name    string
		from    int
		change  func(*wire.RequestHeader)
		payload int
		status  scoll.Status
		count   func(*scoll.Stats) *uint64
	}{
		{"spoofed parent", 5, nil, 0, scoll.EPERM, func(s *scoll.Stats) *uint64 { return &s.Spoofed }},
		{"unknown service", 0, func(h *wire.RequestHeader) { h.Service = 77 }, 0, scoll.ENOSERVICE, func(s *scoll.Stats) *uint64 { return &s.NoService }},
		{"unknown group", 0, func(h *wire.RequestHeader) { h.Flags, h.PayloadSize, h.ListSize = 0, h.ListSize, 0 }, 0, scoll.ENOGROUP, func(s *scoll.Stats) *uint64 { return &s.NoGroup }},
		{"digest mismatch", 0, func(h *wire.RequestHeader) { h.Group.Digest[3]++ }, 0, scoll.ESTALE, func(s *scoll.Stats) *uint64 { return &s.Stale }},
		{"wrong root", 0, func(h *wire.RequestHeader) { h.Root = 7 }, 0, scoll.EPERM, func(s *scoll.Stats) *uint64 { return &s.Spoofed }},
		{"no such root", 0, func(h *wire.RequestHeader) { h.Root = 8 }, 0, scoll.EPROTO, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
		{"payload beyond the message", 0, func(h *wire.RequestHeader) { h.PayloadSize = 1000 }, 0, scoll.EPROTO, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
		{"list beyond the message", 0, func(h *wire.RequestHeader) { h.ListSize = 1 << 31 }, 0, scoll.EPROTO, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
		{"4097 bytes", 0, nil, 4097 - wire.RequestHeaderSize - 8*56, scoll.EMSGSIZE, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
		{"a megabyte", 0, nil, 1 << 19, scoll.EMSGSIZE, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
		{"endless bulk data", 0, func(h *wire.RequestHeader) { h.Bulk.Length = 1 << 63 }, 0, scoll.EPROTO, func(s *scoll.Stats) *uint64 { return &s.Protocol }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStacks(t, 8, func(_ int, cfg *scoll.Config) { cfg.Buffers = buffers })
			k := s.nodes[4]
			back := s.put(c.from, 4, wire.RequestPortal, 0, 5555, s.request(c.change, c.payload))
			h, _, err := wire.ParseReplyHeader(back)
			if err != nil || h.Status != c.status || h.Flags != wire.ReplyLast|wire.ReplyCollective {
				t.Errorf("answered %+v, %v", h, err)
			}
			stats := k.agent.Stats()
			if count := c.count(&stats); *count != 1 {
				t.Errorf("%+v", stats)
			} else if *count = 0; stats != (scoll.Stats{}) {
				t.Errorf("counted otherwise: %+v", stats)
			}
			if k.kept != nil || len(k.ran) > 0 {
				t.Error("the service was called")
			}
			s.quiet(k, buffers)
		})
	}
}

// TestReplayed: SC-160: a message arrives three times. The two copies are counted and not answered, and the service is
// not called again.
func TestReplayed(t *testing.T) {
	spec.Covers(t, "SC-160")
	s := newStacks(t, 8, func(_ int, cfg *scoll.Config) { cfg.Buffers = 3 })
	k := s.nodes[4]
	message := s.request(nil, 5)
	for i := range 3 {
		if back := s.put(0, 4, wire.RequestPortal, 0, 5555, message); len(back) > 0 != (i == 0) {
			t.Errorf("message %d: answered %v", i, back)
		}
	}
	if stats := k.agent.Stats(); stats.Replayed != 2 || len(k.ran) != 1 {
		t.Errorf("ran %d times, %+v", len(k.ran), stats)
	}
	s.run(time.Second)
	s.quiet(k, 3)
}

// TestBadAnswers: SC-153 and SC-160: a child that answers another broadcast, or with malformed
// data, counts as unreached, and the callback for it gets the status. A second answer, and an
// answer of another node, find no buffer. After that a broadcast succeeds.
func TestBadAnswers(t *testing.T) {
	spec.Covers(t, "SC-153", "SC-160")
	answer := func(s *stacks, change func(*wire.ReplyHeader)) []byte {
		h := wire.ReplyHeader{RootIncarnation: s.nodes[0].host.LNetIncarnation(), Sequence: 1, Flags: wire.ReplyLast}
		change(&h)
		return append(h.AppendTo(nil), make([]byte, min(h.PayloadSize, 5000))...)
	}
	for _, c := range []struct {
		name   string
		from   int
		change func(*wire.ReplyHeader)
		count  func(*scoll.Stats) uint64
		status scoll.Status // status in the answer of node 1
		told   scoll.Status // status that incoming-reply receives
	}{
		{"another broadcast", 1, func(h *wire.ReplyHeader) { h.Sequence = 9 }, func(s *scoll.Stats) uint64 { return s.Stray }, scoll.ETIMEDOUT, scoll.ETIMEDOUT},
		{"another life", 1, func(h *wire.ReplyHeader) { h.RootIncarnation-- }, func(s *scoll.Stats) uint64 { return s.Stray }, scoll.ETIMEDOUT, scoll.ETIMEDOUT},
		{"trailer beyond", 1, func(h *wire.ReplyHeader) { h.Trailer = 1 << 28 }, func(s *scoll.Stats) uint64 { return s.BadReply }, scoll.EPROTO, scoll.EPROTO},
		{"larger than its buffer", 1, func(h *wire.ReplyHeader) { h.PayloadSize = 5000 }, func(s *scoll.Stats) uint64 { return s.Oversized }, scoll.EMSGSIZE, scoll.EMSGSIZE},
		{"a stranger", 2, func(*wire.ReplyHeader) {}, func(*scoll.Stats) uint64 { return 1 }, scoll.ETIMEDOUT, scoll.ETIMEDOUT},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStacks(t, 4, func(id int, cfg *scoll.Config) {
				if cfg.Buffers = 3; id == 1 {
					cfg.Buffers = 1
				}
			})
			s.nodes[1].agent.UnregisterService(service)
			if err := s.nodes[1].agent.RegisterService(mute()); err != nil {
				t.Fatal(err)
			}
			g := s.group(0, false, scoll.Tree{Type: scoll.KAry, K: 3})
			drops := s.nodes[0].table.Node().Snapshot().Stats.DropReasons[lnet.NoMatch.String()]
			bits := engine.FirstBits(s.nodes[0].host.LNetIncarnation())
			s.fabric.Do(0, func(*simlnd.Host) {
				r, err := g.NewRequest(scoll.RequestConfig{Processing: 300 * time.Millisecond})
				if err == nil {
					_ = s.nodes[0].post(r)
					err = r.Send()
				}
				if err != nil {
					t.Error(err)
				}
			})
			s.run(10 * time.Millisecond)
			s.put(c.from, 0, wire.ReplyPortal, bits, 1, answer(s, c.change))
			s.run(time.Second)
			if len(s.nodes[0].done) != 1 {
				t.Fatal("hangs")
			}
			if o := s.nodes[0].done[0]; !slices.Equal(o.unreached, []scoll.Unreached{{NID: simlnd.NID(1), Status: c.status}}) {
				t.Errorf("unreached %v", o.unreached)
			}
			stats := s.nodes[0].agent.Stats()
			dropped := s.nodes[0].table.Node().Snapshot().Stats.DropReasons[lnet.NoMatch.String()] - drops
			if c.count(&stats) != 1 || c.from == 2 && dropped != 1 {
				t.Errorf("%+v, %d dropped", stats, dropped)
			}
			calls := 0
			for _, p := range s.nodes[0].replies {
				if p.Child == 2 && p.Status == c.told {
					calls++
				}
			}
			if len(s.nodes[0].replies) != 3 || calls != 1 {
				t.Errorf("calls of incoming-reply: %+v", s.nodes[0].replies)
			}
			s.quiet(s.nodes[0], 3)
		})
	}
}

// mute is a service that never replies.
func mute() scoll.Service {
	return scoll.Service{
		ID: service, PreRequest: func(*scoll.Request) error { return nil },
		IncomingRequest: func(*scoll.Request) error { return nil }, PostReply: func(*scoll.Request) {},
	}
}

// TestMuteService: SC-39, SC-A28: a service that never replies delays the broadcast by its
// timeout, and only its own member is unreached.
func TestMuteService(t *testing.T) {
	spec.Covers(t, "SC-39", "SC-A28")
	s := newStacks(t, 4, func(_ int, cfg *scoll.Config) { cfg.Buffers = 3 })
	s.nodes[3].agent.UnregisterService(service)
	if err := s.nodes[3].agent.RegisterService(mute()); err != nil {
		t.Fatal(err)
	}
	g := s.group(0, true, scoll.Tree{})
	const processing = 40 * time.Millisecond
	o := s.broadcast(0, g, scoll.RequestConfig{Payload: []byte("x"), Processing: processing})
	if !slices.Equal(o.unreached, []scoll.Unreached{{NID: simlnd.NID(3), Status: scoll.ETIMEDOUT}}) || len(o.answered) != 3 {
		t.Errorf("answered %v, unreached %v", o.answered, o.unreached)
	}
	if o.at < processing || o.at > processing+2*(time.Millisecond+5*time.Millisecond) {
		t.Errorf("it took %v", o.at)
	}
	if silent := s.nodes[3].agent.Stats().Silent; silent != 1 {
		t.Errorf("silent %d times", silent)
	}
	for _, k := range s.nodes {
		s.quiet(k, 3)
	}
}
