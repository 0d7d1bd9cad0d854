package scoll_test

import (
	"bytes"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// TestPartsOutOfOrder: SC-54, SC-154 and SC-160: parts of an answer arrive in another order
// than they were sent, and one arrives twice. The service gets each part once, with its own
// bytes, whichever buffer the part came to, and the copy takes no buffer away from the others.
func TestPartsOutOfOrder(t *testing.T) {
	spec.Covers(t, "SC-54", "SC-154", "SC-160")
	s := newStacks(t, 2, nil)
	s.nodes[1].agent.UnregisterService(service)
	if err := s.nodes[1].agent.RegisterService(mute()); err != nil {
		t.Fatal(err)
	}
	root := s.nodes[0]
	root.parts, root.size = 3, 100 // a buffer for each part: the copy of one uses up none
	g := s.group(0, false, scoll.Tree{})
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := g.NewRequest(scoll.RequestConfig{Processing: time.Minute})
		if err == nil {
			_ = root.post(r)
			err = r.Send()
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(10 * time.Millisecond)
	bits := engine.FirstBits(root.host.LNetIncarnation())
	for _, part := range []uint32{2, 0, 0, 1} {
		h := wire.ReplyHeader{RootIncarnation: root.host.LNetIncarnation(), Sequence: 1, Part: part, PayloadSize: 10 + part}
		if part == 2 {
			h.Flags = wire.ReplyLast
		}
		s.put(1, 0, wire.ReplyPortal, bits, 1, append(h.AppendTo(nil), bytes.Repeat([]byte{byte(part)}, int(10+part))...))
	}
	if len(root.done) != 1 || len(root.done[0].unreached) != 0 || root.agent.Stats().Stray != 1 {
		t.Fatalf("%+v, %+v", root.done, root.agent.Stats())
	}
	for i, part := range []int{2, 0, 1} {
		p := root.replies[i]
		if len(root.replies) != 3 || p.Part != part || p.Last != (part == 2) || !bytes.Equal(p.Payload, bytes.Repeat([]byte{byte(part)}, 10+part)) {
			t.Errorf("message %d: %+v", i, p)
		}
	}
	s.run(2 * time.Minute) // after its timeout the module answers in place of the mute service
	s.quiet(root, 64)
}

// TestPartsRelisted: SC-54, SC-160: a child that has answered a part says that it does not know the
// group. The part's memory belongs to the service by then, and the child cannot write to it again.
func TestPartsRelisted(t *testing.T) {
	spec.Covers(t, "SC-54", "SC-160")
	s := newStacks(t, 2, nil)
	g := s.group(0, true, scoll.Tree{})
	s.nodes[1].agent.UnregisterService(service)
	if err := s.nodes[1].agent.RegisterService(mute()); err != nil {
		t.Fatal(err)
	}
	root := s.nodes[0]
	root.parts, root.size = 2, 100
	bits := engine.FirstBits(root.host.LNetIncarnation()) + 2 // match bits of the broadcast below: the creation of the group has used the two before them
	s.fabric.Do(0, func(*simlnd.Host) {
		r, err := g.NewRequest(scoll.RequestConfig{Processing: time.Minute})
		if err == nil {
			_ = root.post(r)
			err = r.Send()
		}
		if err != nil {
			t.Error(err)
		}
	})
	s.run(10 * time.Millisecond)
	h := wire.ReplyHeader{RootIncarnation: root.host.LNetIncarnation(), Sequence: 2, PayloadSize: 10}
	s.put(1, 0, wire.ReplyPortal, bits, 1, append(h.AppendTo(nil), "part 0 ..."...))
	unknown := wire.ReplyHeader{RootIncarnation: h.RootIncarnation, Sequence: 2, Flags: wire.ReplyLast | wire.ReplyCollective, Status: scoll.ENOGROUP}
	s.put(1, 0, wire.ReplyPortal, bits, 1, unknown.AppendTo(nil))
	for part := range uint32(2) {
		h.Part, h.Flags = 1+part, 0
		s.put(1, 0, wire.ReplyPortal, bits, 1, append(h.AppendTo(nil), "overwrites"...))
	}
	if stats := root.agent.Stats(); stats.Relisted != 0 || len(root.replies) < 2 {
		t.Errorf("%d parts, %+v", len(root.replies), stats)
	}
	if got := string(root.replies[0].Payload); got != "part 0 ..." {
		t.Errorf("the service's memory has %q", got)
	}
}
