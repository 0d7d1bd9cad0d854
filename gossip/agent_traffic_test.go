package gossip

import (
	"slices"
	"testing"

	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
)

// TestAgentSends: an agent sends one PUT per cycle, whether or not earlier ones arrive. All go
// to one portal, with priority, without an ACK, and from the NID that takes part; the match
// bits distinguish pings from replies (GO-23, GO-37, GO-52, GO-53, GO-55, GO-56, GO-57, GO-60).
// A message has room for the ages only, so it does not say how often other participants died
// (GO-73). A cycle consists of these messages alone, and no node waits for an agreement of all
// (GO-3).
func TestAgentSends(t *testing.T) {
	spec.Covers(t, "GO-3", "GO-9", "GO-11", "GO-23", "GO-37", "GO-52", "GO-53", "GO-55", "GO-56", "GO-57",
		"GO-60", "GO-73")
	const n = 8
	other := nid.MustParse("192.168.9.9@tcp9")
	s := newStation(t, n, other, testNIDs(n)[2])
	s.start(nil)
	for range 3 * n {
		s.clock.advance(interval)
	}
	if len(s.nis[0].tap) != 0 {
		t.Errorf("%d messages left by %v", len(s.nis[0].tap), other)
	}
	s.nis[0], s.nis[1] = s.nis[1], s.nis[0]
	s.arrive(s.list.NID(5), wire.PingBits, s.ping(5))
	tap := s.nis[0].tap
	if len(tap) != 3*n+1 {
		t.Fatalf("%d messages in %d cycles and for a ping", len(tap), 3*n)
	}
	for i, p := range tap {
		bits := uint64(wire.PingBits)
		if i == 3*n {
			bits = wire.ReplyBits
		}
		h, body, err := wire.ParseHeader(p.data)
		if p.from != s.list.NID(2) || !p.priority || !p.cmd.AckMD.IsNone() || p.cmd.Portal != wire.Portal || p.cmd.MatchBits != bits || err != nil {
			t.Fatalf("message %d: %+v, %v", i, p, err)
		}
		if early := i < n; i < 3*n && (len(body) != n || (h.Flags&wire.FlagParams != 0) != early) {
			t.Errorf("ping %d has %d ages and flags %b (GO-9, GO-11)", i, len(body), h.Flags)
		}
	}
}

// TestAgentOvertakes: messages of gossip overtake ten thousand PUTs that wait, and keep their
// own order (GO-60).
func TestAgentOvertakes(t *testing.T) {
	spec.Covers(t, "GO-60")
	const n, bulk = 3, 10_000
	s := newStation(t, n, testNIDs(n)[0])
	ni := s.nis[0]
	ni.hold = true
	target := nid.ProcessID{NID: s.list.NID(1), PID: nid.LustrePID}
	md, err := s.table.MDBind(portals.MD{Segments: []portals.Segment{make([]byte, 64)}, Threshold: portals.ThresholdInfinite}, portals.Retain)
	if err != nil {
		t.Fatal(err)
	}
	for range bulk {
		if err := s.table.Put(portals.PutRequest{MD: md, Target: target, Portal: 9, MatchBits: 1}); err != nil {
			t.Fatal(err)
		}
	}
	started := len(ni.tap)
	if started > 64 {
		t.Fatalf("%d messages left without credits", started)
	}
	s.start(nil)
	for range 4 {
		s.clock.advance(interval)
		s.arrive(s.list.NID(2), wire.PingBits, s.ping(2))
	}
	for len(ni.sent) > 0 {
		m := ni.sent[0]
		ni.sent = ni.sent[1:]
		ni.up.Finalize(m, nil)
	}
	gossip, last := 0, -1
	var clocks []uint64
	for i, p := range ni.tap {
		if p.cmd.Portal == wire.Portal {
			gossip, last = gossip+1, i
			h, _, _ := wire.ParseHeader(p.data)
			if p.to == target.NID {
				clocks = append(clocks, h.Clock)
			}
		}
	}
	if gossip < 4 || last > started+gossip || len(ni.tap) != bulk+gossip {
		t.Errorf("%d messages of gossip, the last in place %d after %d that had left, %d in all", gossip, last, started, len(ni.tap))
	}
	if !slices.IsSorted(clocks) {
		t.Errorf("gossip overtook gossip: clocks %v", clocks)
	}
}

// arriving is the number of messages of the largest size (1 MiB) that can arrive at once: 64 MiB of messages
// whose buffers the agent has replaced by new ones, and one for each of the four buffers that it then has posted.
const arriving = 64 + 4

// TestAgentBuffers: while the largest number of messages is arriving, a further message waits and is
// not lost. A buffer is posted again before the agent processes its message (GO-47, GO-50, GO-51, GO-54).
func TestAgentBuffers(t *testing.T) {
	spec.Covers(t, "GO-47", "GO-50", "GO-51", "GO-53", "GO-54")
	const n, total = 8, arriving + 2
	s := newStation(t, n, testNIDs(n)[0])
	ni := s.nis[0]
	s.start(nil)
	s.clock.advance(interval)
	var all []*lnd.Delivery
	for i := range total {
		d := s.delivery(s.list.NID(1+i%(n-1)), wire.PingBits, portals.MaxPayload)
		if answer := s.parse(d); (answer == lnd.Hold) != (i >= arriving) {
			t.Fatalf("message %d: answer %v", i, answer)
		}
		all = append(all, d)
	}
	fill := func(d *lnd.Delivery) { // the ping has valid parameters but a body that is far too long
		d.Sink.CopyIn(append(s.ping(1), make([]byte, portals.MaxPayload)...)[:portals.MaxPayload])
		ni.up.Delivered(d, nil)
	}
	for i, d := range all[:arriving] {
		fill(d)
		if held := min(i+1, 2); len(ni.recv) != held {
			t.Errorf("%d messages have arrived: %d of those that waited got a buffer", i+1, len(ni.recv))
		}
	}
	for _, d := range ni.recv {
		fill(d)
	}
	if got := s.agent.Status().Stats.Malformed; got != total {
		t.Errorf("the machine saw %d of %d messages: %+v", got, total, s.agent.Status().Stats)
	}
	if posted := s.agent.inbox.Posted(); posted != 4 {
		t.Errorf("%d buffers are posted, want 4", posted)
	}
	s.arrive(s.list.NID(1), 77, []byte{1})
	if got := s.agent.Status().StrayBits; got != 1 {
		t.Errorf("%d messages with bits of nobody (GO-53)", got)
	}
}

// TestAgentStops: a stopped agent sends and answers nothing any more, drops waiting messages
// and withdraws its buffers, and another agent can start (GO-48, GO-49).
func TestAgentStops(t *testing.T) {
	spec.Covers(t, "GO-48", "GO-49")
	const n = 8
	s := newStation(t, n, testNIDs(n)[0])
	ni := s.nis[0]
	for round := range 3 {
		s.start(nil)
		s.clock.advance(interval)
		for i := range arriving + 1 { // the last message still waits when the agent stops
			s.parse(s.delivery(s.list.NID(1+i%(n-1)), wire.PingBits, 8))
		}
		before := len(ni.tap)
		s.stop()
		s.stop()
		s.clock.advance(10 * interval)
		if v := s.parse(s.delivery(s.list.NID(6), wire.PingBits, 8)); v == lnd.Hold {
			t.Error("a message waits for a node that has stopped")
		}
		if len(ni.tap) != before {
			t.Errorf("%d messages were sent after the stop", len(ni.tap)-before)
		}
		drops := s.node.Stats().DropReasons
		if want := uint64(round + 1); drops["lazy portal cleared"] != want || drops["no match"] != want {
			t.Errorf("dropped %v, want %d of those that waited and came", drops, want)
		}
	}
}

// TestAgentNeedsOneNID: a list without this node, or with two of its NIDs, is refused, and
// leaves no buffers or timers behind (GO-45, GO-46).
func TestAgentNeedsOneNID(t *testing.T) {
	spec.Covers(t, "GO-45", "GO-46", "GO-81")
	const n = 4
	for name, ids := range map[string][]nid.NID{
		"none": {nid.MustParse("192.168.9.9@tcp9")},
		"two":  {testNIDs(n)[1], testNIDs(n)[2]},
	} {
		s := newStation(t, n, ids[0])
		if len(ids) > 1 { // the node has a second NI on the same net
			ni := &testNI{id: ids[1]}
			if _, err := s.node.AddNI(testDriver{ni}, lnd.Config{Net: ids[1].Net(), Interface: "two"}); err != nil {
				t.Fatal(err)
			}
		}
		timers := len(s.clock.timers) // timers of the node itself, without those of the agent
		_, err := New(s.table, Config{Participants: s.list.NIDs(), Interval: interval})
		if !refused(err) {
			t.Errorf("%s: got %v, want an *Error", name, err)
		}
		if v := s.parse(s.delivery(s.list.NID(3), wire.PingBits, 8)); v == lnd.Hold || len(s.clock.timers) != timers {
			t.Errorf("%s: the portal is lazy, or a timer runs", name)
		}
	}
}

// TestAgentSilent: during its silence an agent receives and sends nothing (GO-70).
func TestAgentSilent(t *testing.T) {
	spec.Covers(t, "GO-70", "GO-77")
	const n = 8
	s := newStation(t, n, testNIDs(n)[0])
	s.start(func(c *Config) { c.ColdStart = false })
	limit := s.agent.Status().Limits.Stealth
	for range limit {
		s.clock.advance(interval)
		s.arrive(s.list.NID(5), wire.PingBits, s.ping(5))
	}
	if len(s.nis[0].tap) != 0 {
		t.Errorf("%d messages during the silence", len(s.nis[0].tap))
	}
	if alive, known := s.agent.Counts(); alive != n || known != n || !s.agent.Quorum() {
		t.Errorf("%d of %d alive, quorum %v (GO-77)", alive, known, s.agent.Quorum())
	}
	s.clock.advance(2 * interval)
	if len(s.nis[0].tap) == 0 {
		t.Error("still silent")
	}
}

// TestAgentDeadPeers: messages to dead participants, which stay in flight until their timeout,
// do not keep messages to live ones from being sent.
func TestAgentDeadPeers(t *testing.T) {
	const n = 200
	s := newStation(t, n, testNIDs(n)[0])
	ni := s.nis[0]
	ni.hold = true // messages stay in flight: all other participants are dead
	s.start(nil)
	const cycles = 250 // 250 cycles are 50 s
	peers := map[nid.NID]int{}
	for range cycles {
		s.clock.advance(interval)
	}
	for _, p := range ni.tap {
		peers[p.to]++
	}
	if len(peers) < 120 {
		t.Errorf("pinged %d of %d peers", len(peers), n-1)
	}
	for id, count := range peers {
		if count > bounds.PeerMessages {
			t.Errorf("%d messages are on their way to %v", count, id)
		}
	}
	for _, m := range ni.sent {
		ni.up.Finalize(m, nil)
	}
	if out := &s.agent.outbox; out.InFlight() != 0 || out.Spare() > bounds.Spare {
		t.Errorf("%d bytes are on their way, %d are kept", out.InFlight(), out.Spare())
	}
}

// TestAgentAllocations: a ping with its reply, and a cycle, allocate nothing (G-GO-8).
func TestAgentAllocations(t *testing.T) {
	spec.Covers(t, "G-GO-8")
	const n = 1024
	s := newStation(t, n, testNIDs(n)[0])
	ni := s.nis[0]
	s.start(nil)
	data := s.ping(5)
	d := s.delivery(s.list.NID(5), wire.PingBits, len(data))
	run := func() {
		ni.tap = ni.tap[:0]
		d.Sink = lnd.Payload{}
		if v, err := ni.up.Parse(d); v != lnd.Accept || err != nil {
			t.Fatal(v, err)
		}
		d.Sink.CopyIn(data)
		ni.up.Delivered(d, nil)
	}
	for range 100 {
		run()
	}
	ni.deaf = true
	if got := testing.AllocsPerRun(1000, run); got != 0 {
		t.Errorf("%v allocations for a ping and its reply", got)
	}
	if s.agent.Status().Stats.RepliesSent < 1100 {
		t.Errorf("%+v", s.agent.Status().Stats)
	}
}

// TestProgramsOfParticipants: a program on a participant's host other than its lnetd has the
// participant's NID and another PID, and its messages are ignored.
func TestProgramsOfParticipants(t *testing.T) {
	spec.Covers(t, "GO-81")
	s := newStation(t, 4, testNIDs(4)[0])
	s.start(nil)
	from, data := s.list.NID(1), s.ping(1)
	d := s.delivery(from, wire.PingBits, len(data))
	user := nid.PID(1<<31 | 4711)
	d.From.PID, d.Header.SrcPID = user, user
	if s.parse(d) == lnd.Hold {
		t.Fatal("nothing takes the message")
	}
	d.Sink.CopyIn(data)
	s.nis[0].up.Delivered(d, nil)
	if got := s.agent.Status(); got.OtherPID != 1 || got.Stats.PingsReceived != 0 {
		t.Errorf("other PIDs %d, %+v", got.OtherPID, got.Stats)
	}
	s.arrive(from, wire.PingBits, data)
	if got := s.agent.Status(); got.OtherPID != 1 || got.Stats.PingsReceived != 1 {
		t.Errorf("of the participant: other PIDs %d, %+v", got.OtherPID, got.Stats)
	}
}

// keysOf returns a key for each word. The bytes of the key begin with the word.
func keysOf(t testing.TB, words ...string) keyring.Keys {
	t.Helper()
	var keys [][]byte
	for _, w := range words {
		keys = append(keys, []byte(w+"................"))
	}
	k, err := keyring.NewKeys(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// signed returns a ping, signed with keys, from participant 0 to participant 1.
func signed(t testing.TB, keys keyring.Keys) []byte {
	t.Helper()
	m, err := engine.New(engine.Config{Interval: interval, ColdStart: true, Keys: keys}, testList(t, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out engine.Output
	m.Step(m.Step(0, engine.Input{}, &out), engine.Input{}, &out)
	return out.Sends[0].Data(&out)
}

// TestAgentSetKeys: keys can be changed while an agent runs; the agent counts the messages that
// each key has verified.
func TestAgentSetKeys(t *testing.T) {
	s := newStation(t, 2, testNIDs(2)[1])
	s.start(nil)
	from, data := s.list.NID(0), signed(t, keysOf(t, "old"))
	s.arrive(from, wire.PingBits, data)
	s.agent.SetKeys(keysOf(t, "new", "old"))
	s.arrive(from, wire.PingBits, data)
	got := s.agent.Status()
	if got.Keys != 2 || got.Verified != [2]uint64{0, 1} || got.Stats.NotSigned != 1 || got.Stats.PingsReceived != 1 {
		t.Errorf("%d keys verified %v, %+v", got.Keys, got.Verified, got.Stats)
	}
}
