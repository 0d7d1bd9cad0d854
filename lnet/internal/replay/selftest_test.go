package replay

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/recording"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// tester is lnet_selftest on our node, in the place of the recorded node's: a test node and, if
// the recorded node is a console, a console that gets its commands.
type tester struct {
	p       *player
	agent   *selftest.Agent
	console *console.Console // console of the node; nil: the node has none
	steps   []recording.Step // commands that the console has not got yet
	due     int              // number of recorded requests at FrameworkPortal that the player has come to
	tests   int              // number of test requests that the latest command waited for
	under   chan error       // receives the error of the command under way; nil: no command is
	ctx     context.Context  // context in which the commands run
	stop    context.CancelFunc

	differ recording.Differences
	calls  map[uint64]*pair         // requests of the node, by the recorded match bits of their replies and bulk data
	bulk   map[wire.MDHandle]uint64 // match bits of the GETs that arrive, by their handles
}

// newTester makes a node a test node. steps are the commands of its console, if it has one.
func newTester(p *player, steps []recording.Step) *tester {
	x := &tester{p: p, steps: steps, differ: recording.Differences{LNet: true}, calls: map[uint64]*pair{}, bulk: map[wire.MDHandle]uint64{}}
	x.ctx, x.stop = context.WithCancel(context.Background())
	var err error
	if x.agent, err = selftest.New(p.table, selftest.Config{}); err == nil && len(steps) > 0 {
		x.console, err = console.New(p.table, x.agent, console.Config{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return x
}

// steps returns the commands that a node of the recording got as a console; none if the node is
// no console.
func (r *recorded) steps(t *testing.T, node []nid.NID) []recording.Step {
	file := filesOf(r.files, r.name)[0]
	return recording.Steps(t, recording.Read(t, filepath.Join(folder, file+".pcap.gz")), node)
}

// isRPC reports whether a message belongs to lnet_selftest.
func (x *tester) isRPC(h *wire.Header) bool {
	portal := uint32(wire.PingPortal)
	switch h.Type {
	case wire.Put:
		portal = h.Put().Portal
	case wire.Get:
		portal = h.Get().Portal
	case wire.Reply:
		_, is := x.bulk[h.Reply().DstMD]
		return is
	}
	return portal >= selftestwire.TestPortal && portal <= selftestwire.BulkPortal
}

// ends returns the source and the destination under which a message of lnet_selftest is compared. The node
// with the console is the client of the tests. It chooses the rails of its requests itself, and gets the
// answers on these. For its messages, ends therefore returns names of nodes, not NIDs of rails.
func (x *tester) ends(h *wire.Header) (src, dst nid.NID) {
	if x.console != nil {
		return x.p.first(h.SrcNID), x.p.first(h.DestNID)
	}
	return h.SrcNID, h.DestNID
}

// expected is called when the player comes to a message of the recorded node. It counts requests of the
// console, so that the method next knows which commands are due.
func (x *tester) expected(s *step) {
	if s.head.Type == wire.Put && s.head.Put().Portal == selftestwire.FrameworkPortal {
		x.due++
	}
}

// next gives the console its commands, as far as they are due.
func (x *tester) next() {
	synctest.Wait()
	for {
		if x.under != nil {
			select {
			case err := <-x.under:
				if x.under = nil; err != nil {
					x.p.t.Error(err)
				}
			default:
				return
			}
		}
		if len(x.steps) == 0 || x.steps[0].Due > x.due || !x.sent(x.steps[0].Tests) {
			return
		}
		s := x.steps[0]
		x.steps, x.tests, x.under = x.steps[1:], s.Tests, make(chan error, 1)
		go func() { x.under <- s.Run(x.ctx, x.console) }()
		synctest.Wait()
	}
}

// sent reports whether the node has sent the given number of test requests, and all its RPCs have
// ended. If the latest command waited for the same number of requests, sent returns true without
// looking at the RPCs.
func (x *tester) sent(tests int) bool {
	status := x.agent.Status()
	return tests == x.tests || int(status.Sent) >= tests && status.Calls == 0
}

// over fails the test if the console has not done all that the recorded one did.
func (x *tester) over(samples int) {
	x.next()
	if x.under != nil {
		x.p.t.Error("a command has not ended")
	}
	x.stop()
	synctest.Wait()
	if len(x.steps) > 0 {
		x.p.t.Errorf("%d commands are left", len(x.steps))
	}
	if x.differ.Samples != samples {
		x.p.t.Errorf("%d differences of two samples were compared, want %d", x.differ.Samples, samples)
	}
	if s := x.agent.Status(); s.Session != selftestwire.NoSession().String() || s.Dropped+s.Expired+s.Errors+s.BRWErrors+s.PingErrors+s.Malformed+s.NotAllowed+s.Overload > 0 {
		x.p.t.Errorf("%+v", s)
	}
}

// remember stores a recorded request under the match bits that its reply and its bulk data will have.
func (x *tester) remember(q *pair) {
	if m, ok := request(q.recorded); ok {
		x.calls[m.ReplyID] = q
		if b, ok := m.Body.(*selftestwire.BRW); ok {
			x.calls[b.BulkID] = q
		}
	}
}

// request returns the request in a message.
func request(s *step) (m selftestwire.Message, ok bool) {
	if s.head.Type != wire.Put || s.head.Put().Portal != selftestwire.FrameworkPortal && s.head.Put().Portal != selftestwire.TestPortal {
		return m, false
	}
	m, err := selftestwire.ParseMessage(s.data)
	return m, err == nil
}

// compare compares the payload of a message of our node with the recorded one.
func (x *tester) compare(q *pair) {
	recorded, ours := q.recorded.data, q.ours.data
	want, err := recorded, error(nil)
	switch h := &q.recorded.head; {
	case h.Type == wire.Reply:
		want = x.differ.AdaptData(x.bulk[h.Reply().DstMD], 0, recorded, ours)
	case h.Type == wire.Put && len(recorded) == selftestwire.MessageSize:
		want, err = x.differ.Adapt(recorded, ours)
	case h.Type == wire.Put:
		want = x.differ.AdaptData(h.Put().MatchBits, 0, recorded, ours)
	case h.Get().MatchBits != q.ours.head.Get().MatchBits:
		x.p.differ("%s gets other data", x.p.what(h))
	}
	if err != nil || !bytes.Equal(want, ours) {
		x.p.differ("%s has another payload: %v", x.p.what(&q.recorded.head), err)
	}
	x.differ.Note(recorded, ours)
}

// arriving returns a message of lnet_selftest as our node gets it. Requests, and what belongs to
// them, arrive as they were recorded. Answers go to the match bits of our node's request, between
// its NIDs (selftest §1).
func (x *tester) arriving(s *step) (head wire.Header, data []byte, of *pair) {
	head, data = s.head, x.differ.Substitute(s.data)
	switch head.Type {
	case wire.Get:
		g := head.Get()
		x.bulk[g.ReturnMD] = g.MatchBits
		of = x.calls[g.MatchBits]
		g.MatchBits = x.differ.Own(g.MatchBits)
		head.SetGet(g)
	case wire.Put:
		c := head.Put()
		if c.Portal != selftestwire.BulkPortal {
			return head, data, nil
		}
		of = x.calls[c.MatchBits]
		c.MatchBits = x.differ.Own(c.MatchBits)
		head.SetPut(c)
	}
	return head, data, of
}
