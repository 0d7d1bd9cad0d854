package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
	"ulnet/scoll/wire"
)

// TestRefused: SC-60, SC-61, SC-63, SC-64, SC-12, SC-81, SC-87 and SC-160: the machine answers a message that
// it does not accept with a status that says why. It counts the message and calls no callback.
func TestRefused(t *testing.T) {
	spec.Covers(t, "SC-12", "SC-60", "SC-61", "SC-63", "SC-64", "SC-81", "SC-87", "SC-160")
	for _, c := range []struct {
		name   string
		change func(*wire.RequestHeader)
		from   int
		status wire.Status
		count  func(*Stats) uint64
	}{
		{"spoofed parent", func(*wire.RequestHeader) {}, 5, wire.EPERM, func(s *Stats) uint64 { return s.Spoofed }},
		{"we are the root", func(r *wire.RequestHeader) { r.Root = 4 }, 0, wire.EPERM, func(s *Stats) uint64 { return s.Spoofed }},
		{"another root", func(r *wire.RequestHeader) { r.Root = 7 }, 0, wire.EPERM, func(s *Stats) uint64 { return s.Spoofed }},
		{"unknown service", func(r *wire.RequestHeader) { r.Service = 8 }, 0, wire.ENOSERVICE, func(s *Stats) uint64 { return s.NoService }},
		{"digest mismatch", func(r *wire.RequestHeader) { r.Group.Digest[0]++ }, 0, wire.ESTALE, func(s *Stats) uint64 { return s.Stale }},
		{"number of nodes", func(r *wire.RequestHeader) { r.Nodes = 7 }, 0, wire.ESTALE, func(s *Stats) uint64 { return s.Stale }},
		{"contradiction", func(r *wire.RequestHeader) { r.Tree.K = 0 }, 0, wire.EPROTO, func(s *Stats) uint64 { return s.Protocol }},
		{"endless", func(r *wire.RequestHeader) { r.Processing = time.Hour }, 0, wire.EINVAL, func(s *Stats) uint64 { return s.Protocol }},
		{"lengths", func(r *wire.RequestHeader) { r.Nodes = 1 << 31; r.First = 9 }, 0, wire.EPROTO, func(s *Stats) uint64 { return s.Protocol }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, 8, 4, nil)
			header := h.header()
			c.change(&header)
			h.deliver(c.from, header, true, "x")
			if r := h.refusal(); r.Status != c.status || r.Flags != wire.ReplyLast|wire.ReplyCollective || len(h.effects) != 1 {
				t.Errorf("answered %+v, %d effects", r, len(h.effects))
			}
			if e := h.find(DoRefuse); e.Bits != 77 || e.To != h.members.NID(c.from) {
				t.Errorf("answered to %v, %d", e.To, e.Bits)
			}
			s := h.m.Stats()
			h.one(c.name, c.count(&s))
			if h.m.requests.active != 0 {
				t.Errorf("%d requests are left", h.m.requests.active)
			}
		})
	}
}

// TestUnanswerable: SC-60: malformed messages are counted.
func TestUnanswerable(t *testing.T) {
	spec.Covers(t, "SC-60")
	h := newHarness(t, 8, 4, nil)
	for _, data := range [][]byte{nil, make([]byte, 20), make([]byte, wire.MaxMessage)} {
		h.step(Input{Kind: Arrival, From: h.members.NID(0), Data: data})
		h.want("")
	}
	if h.m.Stats().Malformed != 3 {
		t.Errorf("%+v", h.m.Stats())
	}
}

// TestUnregistered: SC-12: after a service is unregistered its messages are
// refused.
func TestUnregistered(t *testing.T) {
	spec.Covers(t, "SC-12")
	h := newHarness(t, 8, 4, nil)
	h.step(Input{Kind: Unregister, Service: testService})
	h.admitted(nil)
	h.want("refuse")
	if h.refusal().Status != wire.ENOSERVICE {
		t.Errorf("%v", h.refusal())
	}
}

// TestUnregisteredMeanwhile: SC-12: when a service is unregistered, its requests that wait are refused at
// once: those that wait for a slot, for the list of members or for the members of an out-of-band group. A
// request that runs keeps its service, and after its end no other one begins.
func TestUnregisteredMeanwhile(t *testing.T) {
	spec.Covers(t, "SC-12")
	h := crowded(t, 1)
	h.another(1, nil)
	first := h.id
	h.another(2, nil)
	h.want("tell-1")
	h.step(Input{Kind: Unregister, Service: testService})
	h.refusedAs(wire.ENOSERVICE)
	h.step(Input{Kind: InPreRequest, ID: first, Status: wire.EPERM})
	h.want("refuse free")
	if h.m.requests.active != 0 {
		t.Errorf("%d requests are left", h.m.requests.active)
	}

	h = newHarness(t, 8, 4, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Flags, r.List = wire.FlagList, wire.RMA{Bits: 1, Length: 300} })
	h.want("fetch")
	h.step(Input{Kind: Unregister, Service: testService})
	h.refusedAs(wire.ENOSERVICE)
}

// TestUnknownGroup: SC-81: a request without a list is refused if its group is unknown. A
// request with a list creates the group, once.
func TestUnknownGroup(t *testing.T) {
	spec.Covers(t, "SC-81")
	h := newHarness(t, 8, 4, nil)
	h.deliver(0, h.header(), false, "x")
	if h.refusal().Status != wire.ENOGROUP {
		t.Error("an unknown group")
	}
	h.running(nil)
	header := h.header()
	header.Sequence, header.First = 2, 2
	h.deliver(0, header, false, "x")
	h.want("pre")
}

// TestReplay: SC-A2, SC-160: a repeated request is dropped. It gets no answer, because an
// answer would end the parent's wait.
func TestReplay(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-A2")
	h := newHarness(t, 8, 4, nil)
	h.admitted(nil)
	h.want("pre")
	id := h.id
	h.admitted(nil)
	h.want("")
	h.one("replayed", h.m.Stats().Replayed)
	h.id = id
	h.step(Input{Kind: InPreRequest})
	h.want("send0 send1 incoming")
}

// TestRejected: SC-66, SC-67, SC-71 and SC-A19: an error of pre-request is the answer for the
// whole subtree. Children get no request, and the request's handle ends.
func TestRejected(t *testing.T) {
	spec.Covers(t, "SC-66", "SC-67", "SC-71", "SC-A19")
	h := newHarness(t, 8, 4, nil)
	h.admitted(nil)
	h.step(Input{Kind: InPreRequest, Status: wire.Status(333)})
	h.want("refuse free")
	if r := h.refusal(); r.Status != 333 || r.Nodes != 4 || r.Entities != 8 {
		t.Errorf("%+v", r)
	}
	h.step(Input{Kind: InIncoming})
	h.want("")
	h.one("late", h.m.Stats().Late)
}

// TestParentLearns: SC-61, SC-62, SC-139: an error of a child's module goes to the service,
// with the members that it concerns, and up the tree in the trailer.
func TestParentLearns(t *testing.T) {
	spec.Covers(t, "SC-61", "SC-62", "SC-139")
	h := newHarness(t, 8, 0, nil)
	h.root(wire.OK)
	h.childReplies(4, func(r *wire.ReplyHeader, in *Input) {
		ours(r, in)
		r.Flags |= wire.ReplyCollective
		r.Status = wire.EPERM
	})
	h.want("unpost0 child0:not the parent")
	if e := h.find(CallReply); !e.Collective || !e.Final || e.Nodes != 4 || e.Entities != 8 {
		t.Errorf("%+v", e)
	}
}

// root creates a group at member 0 and begins a broadcast over it.
func (h *harness) root(want wire.Status) {
	h.t.Helper()
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(want, Outgoing{})
}

// TestEndless: the root refuses a broadcast that could take longer than MaxTimeout.
func TestEndless(t *testing.T) {
	h := newHarness(t, 8, 0, nil)
	h.step(Input{Kind: Create, Broadcast: &Outgoing{Token: 1, Service: testService, Members: h.members}})
	h.group = h.find(Created).Group
	h.begin(wire.EINVAL, Outgoing{Processing: time.Hour})
}

func (h *harness) begin(want wire.Status, o Outgoing) {
	h.t.Helper()
	o.Group, o.Service, o.Token = h.group, testService, 2
	h.step(Input{Kind: Broadcast, Broadcast: &o})
	if want != wire.OK {
		h.want("refused:" + want.String())
		return
	}
	h.step(Input{Kind: InIncoming})
}

// ours changes the reply that the harness makes for a child into one to a broadcast of this node, whose incarnation is
// 5.
func ours(r *wire.ReplyHeader, _ *Input) { r.RootIncarnation = 5 }

// TestBadReplies: a child's reply is refused if it is a second one, is for a broadcast of
// another root, has malformed data, or has more data than its buffer holds.
func TestBadReplies(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    int
		change  func(*wire.ReplyHeader, *Input)
		missing []wire.Missing
		want    string
		count   func(*Stats) uint64
	}{
		{"stranger", 3, ours, nil, "", func(s *Stats) uint64 { return s.Stray }},
		{"another broadcast", 4, func(r *wire.ReplyHeader, _ *Input) { r.Sequence = 9 }, nil, "repost", func(s *Stats) uint64 { return s.Stray }},
		{"other bits", 4, func(_ *wire.ReplyHeader, in *Input) { in.Bits++ }, nil, "", func(s *Stats) uint64 { return s.Late }},
		{"cut off", 4, func(_ *wire.ReplyHeader, in *Input) { in.Broken, in.Data = true, nil }, nil, "repost", nil},
		{"too large", 4, func(_ *wire.ReplyHeader, in *Input) { in.Cut = true }, nil, "unpost0 child0:too large", func(s *Stats) uint64 { return s.Oversized }},
		{"lengths", 4, func(r *wire.ReplyHeader, _ *Input) { r.PayloadSize = 9 }, nil, "unpost0 child0:not understood", func(s *Stats) uint64 { return s.BadReply }},
		{"trailer count", 4, func(r *wire.ReplyHeader, _ *Input) { r.Trailer = 1 << 30 }, nil, "unpost0 child0:not understood", func(s *Stats) uint64 { return s.BadReply }},
		{"about others", 4, nil, []wire.Missing{{Rank: 2, Status: wire.EIO, Scope: wire.Node}}, "unpost0 child0:not understood", func(s *Stats) uint64 { return s.BadReply }},
		{"about nobody", 4, nil, []wire.Missing{{Rank: 99, Status: wire.EIO, Scope: wire.Subtree}}, "unpost0 child0:not understood", func(s *Stats) uint64 { return s.BadReply }},
		{"part number", 4, func(r *wire.ReplyHeader, _ *Input) { r.Part = 64 }, nil, "unpost0 child0:not understood", func(s *Stats) uint64 { return s.BadReply }},
		{"error without status", 4, func(r *wire.ReplyHeader, _ *Input) { r.Flags |= wire.ReplyCollective }, nil, "unpost0 child0:not understood", nil},
		{"about itself", 4, nil, []wire.Missing{{Rank: 6, Status: wire.EIO, Scope: wire.Subtree}}, "child0", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, 8, 0, nil)
			h.root(wire.OK)
			h.childReplies(c.from, func(r *wire.ReplyHeader, in *Input) {
				if ours(r, in); c.change != nil {
					c.change(r, in)
				}
			}, c.missing...)
			h.want(c.want)
			if s := h.m.Stats(); c.count != nil {
				h.one(c.name, c.count(&s))
			}
		})
	}
}

// TestTwice: if a child answers twice the first answer counts.
func TestTwice(t *testing.T) {
	h := newHarness(t, 8, 0, nil)
	h.root(wire.OK)
	h.childReplies(4, ours)
	h.want("child0")
	h.childReplies(4, ours)
	h.want("")
	h.one("late", h.m.Stats().Late)
}

// TestPartsInAnyOrder: SC-54: the parts of a reply may overtake each other. A child has
// answered when the last part and all parts before it have arrived.
func TestPartsInAnyOrder(t *testing.T) {
	spec.Covers(t, "SC-54")
	part := func(n uint32, last bool) func(*wire.ReplyHeader, *Input) {
		return func(r *wire.ReplyHeader, in *Input) {
			if ours(r, in); !last {
				r.Flags = 0
			}
			r.Part = n
		}
	}
	h := newHarness(t, 2, 0, nil)
	h.root(wire.OK)
	h.childReplies(1, part(2, true))
	h.want("child0")
	h.step(Input{Kind: InReply})
	h.childReplies(1, part(0, false))
	h.want("child0")
	h.childReplies(1, part(0, false))
	h.want("repost") // the copy takes no buffer away from part 1
	h.one("stray", h.m.Stats().Stray)
	h.step(Input{Kind: InReply})
	h.want("")
	h.childReplies(1, part(1, false))
	h.want("child0")
	h.step(Input{Kind: InReply})
	h.want("post")
}

// TestUnsigned: SC-165: a node with keys accepts no request without a valid signature, whatever
// the request's flags say. A node without keys accepts no request that is flagged as signed.
func TestUnsigned(t *testing.T) {
	spec.Covers(t, "SC-165")
	for _, c := range []struct {
		name           string
		keys, says, ok bool
	}{
		{"unsigned", true, false, false},
		{"forged", true, true, false},
		{"code of a key that is unknown", false, true, false},
		{"says nothing of its code", true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, 8, 4, func(cfg *Config) { cfg.Signed = c.keys })
			header := h.header()
			b := h.members.AppendTo(nil)
			header.Flags, header.ListSize = header.Flags|wire.FlagList, uint32(len(b))
			if c.says {
				header.Flags |= wire.FlagSigned
				b = append(b, make([]byte, keyring.CodeSize)...)
			}
			h.step(Input{Kind: Arrival, From: h.members.NID(0), Data: append(header.AppendTo(nil), b...), Signed: c.ok})
			if r := h.refusal(); r.Status != wire.EKEY || len(h.effects) != 1 {
				t.Errorf("answered %+v, %d effects", r, len(h.effects))
			}
			h.one("unsigned", h.m.Stats().Unsigned)
		})
	}
}
