package portals_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// cycle is one operation, whose steps happen in the order that the test gives.
type cycle struct {
	*harness
	net   *network
	clock *fakeClock
	md    portals.MDHandle
	me    portals.MEHandle
	d     *lnd.Delivery // the message that arrives in this test
	log   []string
}

func newCycle(t *testing.T) *cycle {
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second}, lnd.Tunables{PeerCredits: 1})
	return &cycle{harness: h, net: net, clock: clock}
}

// see records an event: its kind, "!" if it is the last one, and its error.
func (c *cycle) see(e *portals.Event) { c.log = append(c.log, short(e)) }

// comes makes the header of a message arrive. The test decides whether and when its payload follows.
func (c *cycle) comes(h wire.Header) {
	c.t.Helper()
	c.d = &lnd.Delivery{Header: h, From: there}
	if _, err := c.net.up.Parse(c.d); err != nil {
		c.t.Fatal(err)
	}
}

// steps are the steps of an operation; each test says in which order they happen.
var steps = map[string]func(c *cycle){
	"ACK":          func(c *cycle) { c.comes(ackHeader(handle(c.md), 8)); c.net.receive(c.d, nil) },
	"REPLY":        func(c *cycle) { c.comes(replyHeader(8, handle(c.md))); c.net.receive(c.d, nil) },
	"REPLY begins": func(c *cycle) { c.comes(replyHeader(8, handle(c.md))) },
	"PUT begins":   func(c *cycle) { c.comes(putHeader(8, wire.PutCmd{AckMD: handle(77), Portal: 1})) },
	"GET":          func(c *cycle) { c.comes(getHeader(wire.GetCmd{ReturnMD: handle(77), Portal: 1, SinkLength: 8})) },
	"ends":         func(c *cycle) { c.net.receive(c.d, nil) },
	"breaks off":   func(c *cycle) { c.net.receive(c.d, syscall.EIO) },
	"sent":         func(c *cycle) { c.net.finalize(c.net.next(), nil) },
	"fails":        func(c *cycle) { c.net.finalize(c.net.next(), syscall.EIO) },
	"unlink":       func(c *cycle) { c.note(c.MDUnlink(c.md)) },
	"unlink ME":    func(c *cycle) { c.note(c.MEUnlink(c.me)) },
	"time":         func(c *cycle) { c.clock.advance(20 * time.Second) },
	"no credit": func(c *cycle) { // sends another PUT, which takes the only credit of the peer until the next step "sent" or "fails"
		if err := c.Put(portals.PutRequest{MD: c.bind(portals.MD{Threshold: 1}), Target: there}); err != nil {
			c.t.Fatal(err)
		}
	},
}

func (c *cycle) note(err error) {
	if err != nil {
		c.log = append(c.log, err.Error())
	}
}

// run takes steps separated by commas. It records the messages that are sent and dropped, in addition to the
// events.
func (c *cycle) run(list string) {
	c.t.Helper()
	for name := range strings.SplitSeq(list, ", ") {
		before := c.drops()
		steps[name](c)
		for why, n := range c.drops() {
			if n > before[why] {
				c.log = append(c.log, "dropped: "+why)
			}
		}
	}
}

// orderCase is a PUT or GET, its steps, and the events at the initiator.
type orderCase struct {
	op        string // operation: PUT or GET, "with ACK", "without credit"
	threshold int
	steps     string
	want      []string
}

const (
	timedOut  = " connection timed out"
	broken    = " input/output error"
	cancelled = " operation canceled"
)

// TestPutOrders (PT-13) checks the events of a PUT for every order in which the network can carry out
// its steps (LNet lib-move.c LNetPut). The MD unlinks itself when its threshold is used up.
func TestPutOrders(t *testing.T) {
	spec.Covers(t, "PT-13")
	runOrderCases(t, []orderCase{
		{"PUT", 1, "sent", []string{"SEND!"}},
		{"PUT", 1, "fails", []string{"SEND!" + broken}},
		{"PUT", 1, "unlink, sent", []string{"SEND!"}},
		{"PUT", 1, "unlink, fails", []string{"SEND!" + broken}},
		{"PUT", 1, "sent, ACK", []string{"SEND!", "dropped: stale handle"}},
		{"PUT", 2, "sent, ACK, unlink", []string{"SEND", "dropped: inactive MD", "UNLINK!"}},
		{"PUT", 2, "time, sent, time", []string{"SEND"}},

		{"PUT with ACK", 2, "sent, ACK", []string{"SEND", "ACK!"}},
		{"PUT with ACK", 2, "ACK, sent", []string{"ACK", "SEND!"}},
		{"PUT with ACK", 2, "sent, ACK, ACK", []string{"SEND", "ACK!", "dropped: stale handle"}},
		{"PUT with ACK", 2, "ACK, ACK, sent", []string{"ACK", "dropped: inactive MD", "SEND!"}},
		{"PUT with ACK", 3, "sent, ACK, ACK, unlink", []string{"SEND", "ACK", "dropped: inactive MD", "UNLINK!"}},
		{"PUT with ACK", 2, "fails, ACK, time, unlink", []string{"SEND" + broken, "dropped: inactive MD", "UNLINK!"}},
		{"PUT with ACK", 2, "ACK, fails", []string{"ACK", "SEND!" + broken}},
		{"PUT with ACK", 2, "unlink, sent, ACK", []string{"SEND!", "dropped: stale handle"}},
		{"PUT with ACK", 2, "unlink, ACK, sent", []string{"dropped: stale handle", "SEND!"}},
		{"PUT with ACK", 2, "sent, unlink, ACK", []string{"SEND", "UNLINK!", "dropped: stale handle"}},
		{"PUT with ACK", 2, "ACK, unlink, sent", []string{"ACK", "SEND!"}},
		{"PUT with ACK", 2, "sent, time, ACK", []string{"SEND", "UNLINK!", "dropped: stale handle"}},
		{"PUT with ACK", 2, "time, ACK, sent", []string{"dropped: stale handle", "SEND!" + timedOut}},
		{"PUT with ACK", 2, "time, fails", []string{"SEND!" + broken}},
		{"PUT with ACK", 2, "ACK, time, sent", []string{"ACK", "SEND!"}},
		{"PUT with ACK", 2, "sent, time, unlink", []string{"SEND", "UNLINK!", "MDUnlink: no such file or directory"}},
		{"PUT with ACK", 2, "sent, REPLY, ACK", []string{"SEND", "dropped: inactive MD", "ACK!"}},
		{"PUT with ACK", 1, "sent, ACK", []string{"SEND!", "dropped: stale handle"}},
		{"PUT with ACK", 1, "ACK, sent", []string{"dropped: inactive MD", "SEND!"}},
	})
}

// TestGetOrders (PT-14) checks the orders of events of a GET (LNetGet).
func TestGetOrders(t *testing.T) {
	spec.Covers(t, "PT-14")
	runOrderCases(t, []orderCase{
		{"GET", 2, "sent, REPLY", []string{"SEND", "REPLY!"}},
		{"GET", 2, "REPLY, sent", []string{"REPLY", "SEND!"}},
		{"GET", 2, "REPLY begins, sent, ends", []string{"SEND", "REPLY!"}},
		{"GET", 2, "sent, REPLY begins, breaks off", []string{"SEND", "REPLY!" + broken}},
		{"GET", 2, "REPLY begins, breaks off, sent", []string{"REPLY" + broken, "SEND!"}},
		{"GET", 2, "REPLY begins, fails, ends", []string{"SEND" + broken, "REPLY!"}},
		{"GET", 2, "sent, REPLY, REPLY", []string{"SEND", "REPLY!", "dropped: stale handle"}},
		{"GET", 2, "REPLY, REPLY, sent", []string{"REPLY", "dropped: inactive MD", "SEND!"}},
		{"GET", 2, "fails, REPLY, time, unlink", []string{"SEND" + broken, "dropped: inactive MD", "UNLINK!"}},
		{"GET", 2, "unlink, sent, REPLY", []string{"SEND!", "dropped: stale handle"}},
		{"GET", 2, "sent, unlink, REPLY", []string{"SEND", "UNLINK!", "dropped: stale handle"}},
		{"GET", 2, "sent, REPLY begins, unlink, ends", []string{"SEND", "REPLY!"}},
		{"GET", 2, "REPLY begins, unlink, ends, sent", []string{"REPLY", "SEND!"}},
		{"GET", 2, "sent, REPLY begins, unlink, breaks off", []string{"SEND", "REPLY!" + broken}},
		{"GET", 2, "sent, time, REPLY", []string{"SEND", "UNLINK!", "dropped: stale handle"}},
		{"GET", 2, "time, sent", []string{"SEND!" + timedOut}},
		{"GET", 2, "sent, REPLY begins, time, ends", []string{"SEND", "REPLY!"}},
		{"GET", 2, "sent, ACK, REPLY", []string{"SEND", "dropped: inactive MD", "REPLY!"}},
		{"GET", 1, "sent, REPLY", []string{"SEND!", "dropped: stale handle"}},
	})
}

// TestQueuedOrders checks the orders of events if a PUT or GET first waits for a credit of the peer.
func TestQueuedOrders(t *testing.T) {
	runOrderCases(t, []orderCase{
		{"PUT with ACK without credit", 2, "sent, sent, ACK", []string{"SEND", "ACK!"}},
		{"PUT with ACK without credit", 2, "unlink, sent", []string{"SEND!" + cancelled}},
		{"PUT with ACK without credit", 2, "time, sent", []string{"SEND!" + cancelled}},
		{"PUT without credit", 1, "time, sent", []string{"SEND!" + timedOut}},
		{"GET without credit", 2, "unlink, fails", []string{"SEND!" + cancelled}},
	})
}

func runOrderCases(t *testing.T, cases []orderCase) {
	for _, c := range cases {
		t.Run(fmt.Sprint(c.op, " ", c.threshold, ": ", c.steps), func(t *testing.T) {
			run := newCycle(t)
			if strings.HasSuffix(c.op, "without credit") {
				run.run("no credit")
			}
			run.md = run.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: c.threshold, Handler: run.see})
			var err error
			if strings.HasPrefix(c.op, "GET") {
				err = run.Get(portals.GetRequest{MD: run.md, Target: there})
			} else {
				err = run.Put(portals.PutRequest{MD: run.md, Target: there, Ack: strings.Contains(c.op, "ACK")})
			}
			if err != nil {
				t.Fatal(err)
			}
			run.run(c.steps)
			if diff := cmp.Diff(c.want, run.log); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargetOrders (PT-13, PT-14, PT-22) checks the orders of events at the target of a PUT with
// ACK or of a GET. The ME is unlinked with its MD.
func TestTargetOrders(t *testing.T) {
	spec.Covers(t, "PT-13", "PT-14", "PT-22")
	for _, c := range []struct {
		threshold int
		steps     string
		want      []string
		sent      []wire.MsgType // types of messages that were sent and have not ended
	}{
		{1, "PUT begins, ends", []string{"PUT!"}, []wire.MsgType{wire.Ack}},
		{1, "PUT begins, ends, sent", []string{"PUT!"}, nil},
		{1, "PUT begins, ends, fails", []string{"PUT!"}, nil},
		{1, "PUT begins, breaks off", []string{"PUT!" + broken}, nil},
		{2, "PUT begins, ends, unlink", []string{"PUT", "UNLINK!"}, []wire.MsgType{wire.Ack}},
		{2, "PUT begins, unlink, ends", []string{"PUT!"}, []wire.MsgType{wire.Ack}},
		{2, "PUT begins, unlink ME, ends", []string{"PUT!"}, []wire.MsgType{wire.Ack}},
		{2, "PUT begins, unlink, breaks off", []string{"PUT!" + broken}, nil},
		{1, "PUT begins, unlink, ends", []string{"MDUnlink: no such file or directory", "PUT!"}, []wire.MsgType{wire.Ack}},
		{1, "PUT begins, unlink ME, ends", []string{"MEUnlink: no such file or directory", "PUT!"}, []wire.MsgType{wire.Ack}},
		{2, "PUT begins, time, ends", []string{"PUT"}, []wire.MsgType{wire.Ack}},
		{2, "no credit, PUT begins, ends, unlink, sent", []string{"PUT", "UNLINK!"}, []wire.MsgType{wire.Ack}},

		{1, "GET, ends", nil, []wire.MsgType{wire.Reply}},
		{1, "GET, ends, sent", []string{"GET!"}, nil},
		{1, "GET, ends, fails", []string{"GET!" + broken}, nil},
		{1, "GET, breaks off", []string{"GET!" + broken}, nil},
		{2, "GET, ends, sent", []string{"GET"}, nil},
		{2, "GET, ends, unlink, sent", []string{"GET!"}, nil},
		{2, "GET, ends, unlink ME, sent", []string{"GET!"}, nil},
		{2, "GET, ends, unlink, fails", []string{"GET!" + broken}, nil},
		{2, "GET, unlink, ends", []string{"GET!" + cancelled}, nil},
		{2, "GET, ends, sent, unlink", []string{"GET", "UNLINK!"}, nil},
		{2, "no credit, GET, ends, unlink, sent", []string{"GET!" + cancelled}, nil},
		{1, "no credit, GET, ends, sent, sent", []string{"GET!"}, nil},
	} {
		t.Run(fmt.Sprint(c.threshold, ": ", c.steps), func(t *testing.T) {
			run := newCycle(t)
			run.me, run.md = run.post(1, portals.Match{}, portals.MD{
				Segments: []lnd.Segment{make([]byte, 8)}, Threshold: c.threshold, Options: portals.OpPut | portals.OpGet, Handler: run.see,
			})
			run.run(c.steps)
			if diff := cmp.Diff(c.want, run.log); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var sent []wire.MsgType
			for m := run.net.next(); m != nil; m = run.net.next() {
				sent = append(sent, m.Header.Type)
				run.net.finalize(m, nil)
			}
			if diff := cmp.Diff(c.sent, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}
