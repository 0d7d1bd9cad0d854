package engine_test

import (
	"testing"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/selftest/wire"
)

// ownRequest is a request of a recorded console to its own node. A kernel sends it to itself,
// which no recording shows.
type ownRequest struct {
	sent   int // how many requests to other nodes the recorded node sends before this one
	body   wire.Body
	list   []wire.Destination // destinations of a TEST request for a client
	status wire.Status        // status of the reply
}

// ownRequests returns what the console of a recording must have sent to its own node, if that node is
// the only client of its tests and there is one server: the request for the session; after each TEST
// request to the server the one to the client, with as many RPCs as were recorded; the start of the
// batch; and the request to leave the session.
func ownRequests(t *testing.T, list []recording.Message, self []nid.NID) (own []ownRequest) {
	t.Helper()
	sent := 0
	var client *wire.Test // the test whose RPCs are counted
	for i := range list {
		m := &list[i]
		if !m.IsRequest() || !has(self, m.From.NID) {
			continue
		}
		sent++
		switch b := m.Parse(t).Body.(type) {
		case *wire.MakeSession, *wire.RemoveSession:
			own = append(own, ownRequest{sent: sent, body: b})
		case *wire.Test:
			test := *b
			test.Client, test.BulkID, test.Destinations, test.Loop = true, 1, 1, 0
			client = &test
			own = append(
				own, ownRequest{sent: sent, body: client, list: []wire.Destination{m.To}},
				ownRequest{sent: sent, body: &wire.Batch{Session: b.Session, Batch: b.Batch, Op: wire.RunBatch}},
			)
		case *wire.Ping, *wire.BRW:
			client.Loop++ // concurrency is 1 in all these recordings, so each request is one RPC of the client's unit
		}
	}
	return own
}

// consoleA are the requests of the console of tcp-lst-console to its own node, 10.88.0.2@tcp, by
// its transcript: a client of pings and writes, and a server of reads, in one batch, then a
// client of pings without end in another batch, which is stopped.
func consoleA() []ownRequest {
	id := wire.Session{Console: nid.MustParse("10.88.0.2@tcp"), Stamp: 354193}
	to := []wire.Destination{process("10.88.0.3@tcp")}
	client := wire.Test{BulkID: 1, Session: id, Batch: 2, Service: wire.PingService, Loop: 20, Concurrency: 2, Client: true, StopOnError: true, Destinations: 1}
	write, server, forever := client, client, client
	write.Service, write.Loop, write.Concurrency = wire.BRWService, 4, 1
	write.BRW = wire.BRWParams{Op: wire.Write, Check: wire.CheckSimple, Length: 4096}
	server.Service, server.Loop, server.Concurrency, server.Client, server.BulkID, server.Destinations = wire.BRWService, 1, 1, false, 0, 0
	forever.Batch, forever.Loop, forever.Concurrency = 3, -1, 1
	batch := func(number uint64, op wire.BatchOp) *wire.Batch {
		return &wire.Batch{Session: id, Batch: number, Op: op}
	}
	// How many requests the console sends to other nodes before its own node gets the named request. Beside
	// each number are the requests since the line before.
	const (
		session    = 1            // MAKE_SESSION
		firstTest  = 4            // two DEBUG, TEST
		secondTest = 5            // TEST
		run        = 11           // two TEST, four BATCH
		stop       = run + 44 + 5 // 40 PING and 4 BRW, five BATCH
		endless    = stop + 12    // a BATCH, ten STAT, TEST
		stopped    = endless + 251
		removed    = stopped + 1
	)
	return []ownRequest{
		{sent: session, body: &wire.MakeSession{Session: id, Name: "first"}},
		{sent: firstTest, body: &client, list: to},
		{sent: secondTest, body: &write, list: to},
		{sent: secondTest, body: &server},
		{sent: run, body: batch(2, wire.RunBatch)},
		{sent: stop, body: batch(2, wire.StopBatch)},
		{sent: endless, body: &forever, list: to},
		{sent: endless, body: batch(3, wire.RunBatch)},
		{sent: stopped, body: batch(3, wire.StopBatch)},
		{sent: removed, body: &wire.RemoveSession{Session: id}},
	}
}

// The requests of the consoles of tcp-lst-two-consoles to their own nodes.
var (
	consoleOne = []ownRequest{{sent: 0, body: takes("10.88.0.2@tcp", 677414, "one", false)}}
	consoleTwo = []ownRequest{
		{sent: 1, body: takes("10.88.0.3@tcp", 2235420, "two", false), status: wire.EBUSY},
		{sent: 3, body: takes("10.88.0.3@tcp", 2238231, "two", true)},
		{sent: 5, body: &wire.RemoveSession{Session: wire.Session{Console: nid.MustParse("10.88.0.3@tcp"), Stamp: 2238231}}},
	}
)

func takes(console string, stamp int64, name string, force bool) *wire.MakeSession {
	return &wire.MakeSession{Session: wire.Session{Console: nid.MustParse(console), Stamp: stamp}, Force: force, Name: name}
}

// askOwn makes the requests of the recorded console to its own node that are due.
func (r *replay) askOwn() {
	r.t.Helper()
	for len(r.own) > 0 && r.own[0].sent <= r.sent {
		q := r.own[0]
		r.own = r.own[1:]
		data, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: q.body}).AppendBinary(nil)
		if err != nil {
			r.t.Fatal(err)
		}
		self := nid.ProcessID{NID: r.self[0], PID: nid.LustrePID}
		r.ownReplies = nil
		r.step(engine.Input{Kind: engine.Arrived, Peer: self, Self: self.NID, Service: serviceOf(q.body), Data: data})
		if q.list != nil {
			r.giveList(q.body.(*wire.Test).BulkID, q.list)
		}
		if len(r.ownReplies) != 1 || r.ownReplies[0].Status != q.status {
			r.t.Fatalf("%T of the own console: %+v", q.body, r.ownReplies)
		}
	}
}

// giveList gives the node the list of destinations that it gets from its own console.
func (r *replay) giveList(bits uint64, list []wire.Destination) {
	r.t.Helper()
	data, err := wire.AppendDestinations(nil, list, false)
	if err != nil {
		r.t.Fatal(err)
	}
	e, ok := r.moves[bits]
	delete(r.moves, bits)
	if !ok || !e.List {
		r.t.Fatal("our node does not get its list of destinations")
	}
	r.step(engine.Input{Kind: engine.Moved, ID: e.ID, Data: data})
}

func (r *replay) ownReply(data []byte) {
	m, err := wire.ParseMessage(data)
	if err != nil {
		r.t.Fatal(err)
	}
	r.ownReplies = append(r.ownReplies, m)
}
