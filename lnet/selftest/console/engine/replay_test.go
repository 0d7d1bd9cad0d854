package engine_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	node "ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

const shared = "../../../../lnd/capture/testdata/"

// recorded is a request of a recorded console, with the answer of the node that got it.
type recorded struct {
	to    nid.ProcessID
	data  []byte
	reply []byte
	list  []byte // the list of destinations that the node got
}

func (r *recorded) message(t *testing.T) wire.Message {
	m, err := wire.ParseMessage(r.data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// replay plays recorded consoles: our consoles get the same commands and the replies of the
// recorded nodes. What a console sends to its own node is answered by a node of ours, because a
// kernel sends such requests to itself and no recording shows them.
type replay struct {
	t        *testing.T
	now      time.Duration
	consoles map[nid.NID]*engine.Console
	nodes    map[nid.NID]*node.Node
	requests map[nid.NID][]recorded   // by console: recorded requests that our console has not sent yet
	answer   map[uint64]engine.Effect // the effects DoAnswer, by the numbers of their commands
	commands uint64
	compared int
}

// openReplay reads a recording with consoles.
func openReplay(t *testing.T, file string, consoles ...nid.NID) *replay {
	t.Helper()
	r := &replay{
		t: t, consoles: map[nid.NID]*engine.Console{}, nodes: map[nid.NID]*node.Node{}, requests: map[nid.NID][]recorded{}, answer: map[uint64]engine.Effect{},
	}
	replies, lists, gets := map[uint64][]byte{}, map[uint64][]byte{}, map[lnetwire.MDHandle]uint64{}
	capturetest.Decode(t, file, func(c *capture.Record) {
		if c.Kind != capture.Message {
			return
		}
		h := &c.Header
		switch h.Type {
		case lnetwire.Put:
			m, err := wire.ParseMessage(c.Payload)
			switch portal := h.Put().Portal; {
			case err != nil:
			case portal == wire.BulkPortal:
				replies[h.Put().MatchBits] = bytes.Clone(c.Payload)
			case portal == wire.FrameworkPortal:
				console := sessionOf(m.Body).Console
				r.requests[console] = append(r.requests[console], recorded{to: nid.ProcessID{NID: h.DestNID, PID: h.DestPID}, data: bytes.Clone(c.Payload)})
			}
		case lnetwire.Get:
			gets[h.Get().ReturnMD] = h.Get().MatchBits
		case lnetwire.Reply:
			lists[gets[h.Reply().DstMD]] = bytes.Clone(c.Payload)
		}
	})
	for _, id := range consoles {
		list := r.requests[id]
		if len(list) == 0 {
			t.Fatalf("%s: no console %v", file, id)
		}
		for i := range list {
			m := list[i].message(t)
			list[i].reply = replies[m.ReplyID]
			if test, ok := m.Body.(*wire.Test); ok && test.Client {
				list[i].list = lists[test.BulkID]
			}
			r.addNode(list[i].to.NID)
		}
		first := sessionOf(list[0].message(t).Body)
		c, err := engine.New(engine.Config{FirstID: 1 << 48, FirstStamp: first.Stamp - earlier.Milliseconds()})
		if err != nil {
			t.Fatal(err)
		}
		r.consoles[id] = c
		r.addNode(id)
	}
	return r
}

// earlier is when the first recorded session begins, on the clock of the replay. Sessions that send
// nothing may come before.
const earlier = time.Second

func (r *replay) addNode(id nid.NID) {
	if r.nodes[id] == nil {
		n, err := node.NewNode(node.Config{FirstID: 1 << 48})
		if err != nil {
			r.t.Fatal(err)
		}
		r.nodes[id] = n
	}
}

// sessionOf returns the session in a request.
func sessionOf(body wire.Body) wire.Session {
	switch b := body.(type) {
	case *wire.MakeSession:
		return b.Session
	case *wire.RemoveSession:
		return b.Session
	case *wire.Debug:
		return b.Session
	case *wire.Test:
		return b.Session
	case *wire.Batch:
		return b.Session
	case *wire.Stat:
		return b.Session
	}
	return wire.NoSession()
}

// do gives a command to a console, and returns its answer.
func (r *replay) do(console nid.NID, command engine.Command) engine.Effect {
	r.t.Helper()
	r.commands++
	r.step(console, engine.Input{Kind: engine.Do, ID: r.commands, Command: command, Self: console})
	answer, ok := r.answer[r.commands]
	if !ok {
		r.t.Fatalf("%T has no answer", command)
	}
	return answer
}

// want fails the test unless a command ends with an errno.
func (r *replay) want(console nid.NID, command engine.Command, errno syscall.Errno) engine.Result {
	r.t.Helper()
	a := r.do(console, command)
	if errno == 0 && a.Err != nil || errno != 0 && !errors.Is(a.Err, errno) {
		r.t.Errorf("%T: %v, want %v", command, a.Err, errno)
	}
	return a.Result
}

func (r *replay) step(console nid.NID, in engine.Input) {
	r.t.Helper()
	var out engine.Output
	r.consoles[console].Step(r.now, in, &out)
	for i := range out.Effects {
		switch e := &out.Effects[i]; e.Kind {
		case engine.DoAnswer:
			r.answer[e.ID] = *e
		case engine.DoCall:
			r.call(console, e)
		}
	}
}

// call lets a node answer a request: the recorded node or, if the request is to the console's
// own node, a node of ours.
func (r *replay) call(console nid.NID, e *engine.Effect) {
	r.t.Helper()
	to := e.Peer.NID
	if to != console {
		if len(r.requests[console]) == 0 {
			r.t.Fatalf("our console sends a %v more to %v", e.Service, to)
		}
		q := r.requests[console][0]
		r.requests[console] = r.requests[console][1:]
		r.compare(&q, e)
		if q.reply == nil {
			return // the recorded node has no selftest
		}
		r.ask(console, e, nil)
		r.step(console, engine.Input{Kind: engine.Replied, ID: e.ID, Data: q.reply})
		return
	}
	r.ask(console, e, func(reply []byte) { r.step(console, engine.Input{Kind: engine.Replied, ID: e.ID, Data: reply}) })
}

// ask hands a request to our node at its destination. RPCs of tests fail there at once.
func (r *replay) ask(console nid.NID, e *engine.Effect, reply func([]byte)) {
	self := e.Peer.NID
	inputs := []node.Input{{Kind: node.Arrived, Peer: nid.ProcessID{NID: console, PID: nid.LustrePID}, Self: self, Service: e.Service, Data: e.Data}}
	for len(inputs) > 0 {
		var out node.Output
		r.nodes[self].Step(r.now, inputs[0], &out)
		inputs = inputs[1:]
		for _, n := range out.Effects {
			switch {
			case n.Kind == node.DoReply && n.Bits == e.ID && reply != nil:
				reply(n.Data)
			case n.Kind == node.DoGet:
				inputs = append(inputs, node.Input{Kind: node.Moved, ID: n.ID, Data: e.List})
			case n.Kind == node.DoCall:
				inputs = append(inputs, node.Input{Kind: node.Sent, ID: n.ID, Failed: true})
			}
		}
	}
}

// compare compares a request with the recorded one, but for the numbers of its reply and its list.
func (r *replay) compare(q *recorded, e *engine.Effect) {
	r.t.Helper()
	r.compared++
	ours, err := wire.ParseMessage(e.Data)
	if err != nil {
		r.t.Fatal(err)
	}
	theirs := q.message(r.t)
	ours.ReplyID = theirs.ReplyID
	if a, ok := ours.Body.(*wire.Test); ok {
		if b, ok := theirs.Body.(*wire.Test); ok && (a.BulkID == 0) == (b.BulkID == 0) {
			a.BulkID = b.BulkID
		}
	}
	data, err := ours.AppendBinary(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(data, q.data) {
		r.t.Errorf("our console sends\n%v %+v, the kernel's\n%v %+v", ours.Type, ours.Body, theirs.Type, theirs.Body)
	}
	if !bytes.Equal(e.List, q.list) {
		r.t.Errorf("list of destinations % x, the kernel's % x", e.List, q.list)
	}
}

// over fails the test if the recorded console has sent a request that ours has not sent.
func (r *replay) over(console nid.NID) {
	r.t.Helper()
	for _, q := range r.requests[console] {
		m := q.message(r.t)
		r.t.Errorf("our console does not send %v %+v", m.Type, m.Body)
	}
}

// TestReplay: given the commands of recorded consoles, our console sends the same bytes, but for
// the numbers of replies and lists.
func TestReplay(t *testing.T) {
	spec.Covers(t, "ST-22")
	const testdata = "testdata/"
	for _, tt := range []struct {
		file, console string
		requests      int
	}{
		{shared + "tcp-lst-ping.pcap", "10.77.0.10@tcp", 5},
		{testdata + "tcp-csum-v2-lst.pcap.gz", "10.77.0.10@tcp", 10},
		{testdata + "tcp-csum-v3-lst.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-1M-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-1M-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-4K-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-4K-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-64K-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-read-64K-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-1M-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-1M-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-4K-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-4K-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-64K-full.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-lst-brw-write-64K-simple.pcap.gz", "10.77.0.10@tcp", 5},
		{testdata + "tcp-proto-v1-lst.pcap.gz", "10.77.0.10@tcp", 10},
		{testdata + "tcp-proto-v2-lst.pcap.gz", "10.77.0.10@tcp", 10},
		{testdata + "o2ib-rxe-lst-brw-1M-write-64K-read.pcap.gz", "10.88.0.2@o2ib", 10},
		{shared + "captures2/tcp-mr-two-rails.pcap.gz", "10.88.0.2@tcp", 4},
		{shared + "captures2/tcp-route-basic-near.pcap.gz", "10.88.0.5@tcp", 8},
		{shared + "captures2/tcp-route-basic-far.pcap.gz", "10.88.0.5@tcp", 8},
		{shared + "captures2/tcp-health-local-dropped.pcap.gz", "10.88.0.2@tcp", 4},
		{shared + "captures2/tcp-health-remote-dropped.pcap.gz", "10.88.0.2@tcp", 4},
	} {
		t.Run(tt.file, func(t *testing.T) {
			console := nid.MustParse(tt.console)
			r := openReplay(t, tt.file, console)
			r.commandsOf(tt.file, console)
			r.over(console)
			if r.compared != tt.requests {
				t.Errorf("%d requests were compared, want %d", r.compared, tt.requests)
			}
		})
	}
}

// commandsOf gives a console the commands that the recorded one must have had.
func (r *replay) commandsOf(file string, console nid.NID) {
	r.t.Helper()
	steps := recording.Steps(r.t, recording.Read(r.t, file), []nid.NID{console, nid.MustParse("10.88.0.102@tcp"), nid.MustParse("10.89.0.2@tcp")})
	var first int64
	for i := range steps {
		s := &steps[i]
		if s.Stamp != 0 {
			if first == 0 {
				first = s.Stamp
			}
			r.now = earlier + time.Duration(s.Stamp-first)*time.Millisecond
		}
		if err := s.Check(r.want(console, s.Command, 0).Answers, nil); err != nil {
			r.t.Error(err)
		}
	}
}
