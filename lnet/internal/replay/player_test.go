package replay

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/lo"
	"ulnet/lnd/verbs/softroce/emulator"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// userSink is the size that the GETs of 'lnetctl ping' ask for, and no other GET of a kernel node.
const userSink = 3960

// pair is a message that the recorded node sent, and the message of our node that corresponds
// to it.
type pair struct {
	recorded *step
	ours     *said
	waiting  []*step // answers that arrived before the node's message had left
}

// player puts our stack in the place of a recorded node.
type player struct {
	t     *testing.T
	steps []step    // steps of the recording
	names []nid.NID // NIDs of the node, as its ping info lists them
	rails map[nid.NID]nid.NID
	clock *emulator.Clock
	node  *lnet.Node
	table *portals.Table
	agent *discovery.Agent
	tests *tester // nil: the player itself repeats all that users of the recorded node did
	nis   map[nid.NID]*driverNI
	adds  map[nid.NID]*lnet.NI

	open     map[string][]*pair // the pairs that lack one side, by the key that the method what returns
	byHandle map[wire.MDHandle]*pair
	hops     map[string]bool   // the local NID and next hop of each message of our node
	hellos   map[string]bool   // the two NIDs in each HELLO of the recorded node
	told     map[nid.NID]*step // latest ping info of each node, so far in the replay
	seen     map[string]int    // number of occurrences of each difference
	users    int               // operations of users that have not ended as recorded
}

// newPlayer starts a node with some NIDs. rails maps the further NIDs of each node that has several
// to the first NID of that node.
func newPlayer(t *testing.T, names []nid.NID, rails map[nid.NID]nid.NID, routes string) *player {
	p := &player{
		t: t, names: names, rails: rails, clock: emulator.NewClock(), nis: make(map[nid.NID]*driverNI), adds: make(map[nid.NID]*lnet.NI),
		open: make(map[string][]*pair), byHandle: make(map[wire.MDHandle]*pair), hops: make(map[string]bool), hellos: make(map[string]bool), told: make(map[nid.NID]*step), seen: make(map[string]int),
	}
	p.node = lnet.New(lnet.Config{Incarnation: 1, Clock: p.clock, TransactionTimeout: 50 * time.Second, RouterSilence: 18 * time.Second})
	p.table = portals.New(p.node)
	_, err := p.node.AddNI(lo.Driver{}, lnd.Config{})
	if err == nil {
		// The agent checks no gateways by itself: play repeats the recorded checks at their times.
		p.agent, err = discovery.New(p.table, discovery.Config{CheckInterval: -1})
	}
	for _, id := range names {
		if err == nil {
			p.adds[id], err = p.node.AddNI(driver{p, id.Net().Type()}, lnd.Config{Net: id.Net(), Interface: id.Addr().String()})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := route.Parse(routes)
	if err == nil {
		_, err = p.node.ApplyRoutes(list)
	}
	if err == nil && p.routes() {
		err = p.node.StartAsRouter()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// routes reports whether the node is a router: it has NIDs on several nets.
func (p *player) routes() bool { return p.names[0].Net() != p.names[len(p.names)-1].Net() }

// post posts memory for the messages that users of the recorded node received.
func (p *player) post() {
	for portal := 50; portal <= 52; portal++ {
		me, err := p.table.MEAttach(portal, portals.Match{Ignore: ^uint64(0)}, portals.Retain, portals.After)
		if err == nil {
			_, err = p.table.MDAttach(me, portals.MD{
				Segments: []lnd.Segment{make([]byte, lnd.MaxPayload)}, Threshold: portals.ThresholdInfinite,
				Options: portals.OpPut | portals.OpGet | portals.ManageRemote | portals.Truncate,
			}, portals.Retain)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// differ counts one difference from the recording.
func (p *player) differ(format string, args ...any) { p.seen[fmt.Sprintf(format, args...)]++ }

func (p *player) own(id nid.NID) bool { return slices.Contains(p.names, id) }

// first returns the first NID of the node that a NID belongs to.
func (p *player) first(id nid.NID) nid.NID {
	if to, ok := p.rails[id]; ok {
		return to
	}
	return id
}

// what returns the key by which messages are compared. The stack chooses the rails of
// messages that it sends by itself, so the key of such a message has its nodes, not its NIDs.
func (p *player) what(h *wire.Header) string {
	src, dst := h.SrcNID, h.DestNID
	if p.tests != nil && p.tests.isRPC(h) {
		src, dst = p.tests.ends(h)
	}
	var rest string
	switch h.Type {
	case wire.Put:
		if h.Put().Portal == wire.PingPortal {
			src, dst = p.first(src), p.first(dst)
		}
		rest = fmt.Sprintf("portal %d, %d bytes", h.Put().Portal, h.PayloadLength)
	case wire.Get:
		if h.Get().SinkLength != userSink && h.Get().Portal == wire.PingPortal {
			src, dst = p.first(src), p.first(dst)
			rest = "portal 0"
			break
		}
		rest = fmt.Sprintf("portal %d, sink %d", h.Get().Portal, h.Get().SinkLength)
	case wire.Reply:
		rest = fmt.Sprintf("%d bytes", h.PayloadLength)
	}
	return fmt.Sprintf("%v %v→%v %s", h.Type, src, dst, rest)
}

// play plays the steps to the node.
func (p *player) play(steps []step, events map[time.Duration]func(*player)) {
	p.steps = steps
	for i := len(steps) - 1; i >= 0; i-- {
		// From the last step to the first: the latest entry in told is then the first info of each node,
		// with which the replay begins.
		p.listen(steps[i : i+1])
	}
	for i := range steps {
		s := &steps[i]
		p.until(s.at, events)
		if p.tests != nil {
			p.tests.next()
		}
		switch {
		case s.kind == capture.Hello && p.own(s.from.NID):
			p.hello(s)
		case s.kind == capture.Hello:
		case p.own(s.from.NID):
			p.expect(s)
		case p.own(s.to):
			p.listen(steps[i : i+1])
			p.arrive(s)
		}
	}
	p.until(steps[len(steps)-1].at+time.Second, events)
	for _, pair := range sorted(p.hops) {
		if !p.hellos[pair] {
			p.differ("no HELLO %s", pair)
		}
	}
	for _, pair := range sorted(p.hellos) {
		if !p.hops[pair] {
			p.differ("nothing sent %s", pair)
		}
	}
	for _, what := range sorted(p.open) {
		for _, q := range p.open[what] {
			if q.ours == nil {
				p.differ("missing: %s", what)
			} else {
				p.differ("extra: %s", what)
			}
		}
	}
}

// hello records a HELLO of the recorded node: it has the NIDs of the NI and of the next hop.
func (p *player) hello(s *step) {
	if s.from.PID != nid.LustrePID || s.to.Net() != s.from.NID.Net() {
		p.differ("HELLO of %v to %v", s.from, s.to)
	}
	p.hellos[fmt.Sprintf("%v→%v", p.first(s.from.NID), p.first(s.to))] = true
}

// until lets time pass, and makes the events of the node happen meanwhile.
func (p *player) until(at time.Duration, events map[time.Duration]func(*player)) {
	for _, when := range sorted(events) {
		if when <= at {
			p.clock.Run(when)
			events[when](p)
			delete(events, when)
		}
	}
	p.clock.Run(at)
}

// expect records a message that the recorded node sent. If a user of that node caused it, our
// node does the same.
func (p *player) expect(s *step) {
	p.join(p.what(&s.head), func(q *pair) bool { return q.recorded == nil }, func(q *pair) { q.recorded = s })
	h := &s.head
	switch {
	case !p.own(h.SrcNID): // a message that the node forwarded
	case p.tests != nil && p.tests.isRPC(h):
		p.tests.expected(s)
		p.tests.next()
	case h.Type == wire.Put && h.Put().Portal != wire.PingPortal:
		p.put(s)
	case h.Type == wire.Get && h.Get().Portal != wire.PingPortal || h.Type == wire.Get && h.Get().SinkLength == userSink:
		p.get(s)
	case h.Type == wire.Get:
		switch q := p.byHandle[h.Get().ReturnMD]; {
		case q != nil && q.ours != nil:
		case p.pushes(s):
			p.discover(h.DestNID)
		default:
			p.get(s) // a GET that belongs to recovery
		}
	}
}

// pushes reports whether a recorded ping was followed by a push, as in discovery.
func (p *player) pushes(ping *step) bool {
	for i := range p.steps {
		s := &p.steps[i]
		push := s.kind == capture.Message && s.head.Type == wire.Put && s.head.Put().Portal == wire.PingPortal
		if push && s.at > ping.at && s.at < ping.at+time.Second && s.from == ping.from && p.first(s.head.DestNID) == p.first(ping.head.DestNID) {
			return true
		}
	}
	return false
}

// discover makes the agent discover a node, as a user or the checker of gateways does.
func (p *player) discover(id nid.NID) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = p.agent.Discover(ctx, id, true) // starts the discovery, and does not wait for its end
}

// sent handles the message s that this node sent.
func (p *player) sent(s *said) {
	p.hops[fmt.Sprintf("%v→%v", p.first(s.by), p.first(s.hop))] = true
	p.join(p.what(&s.head), func(q *pair) bool { return q.ours == nil }, func(q *pair) { q.ours = s })
}

// join adds a message to a pair: the oldest one that has the message's key and lacks a message of this side. The
// parameter what is the key. If there is no such pair, the message begins one.
func (p *player) join(what string, lacks func(*pair) bool, set func(*pair)) {
	list := p.open[what]
	for i, q := range list {
		if lacks(q) {
			set(q)
			p.open[what] = slices.Delete(list, i, i+1)
			p.compare(q)
			return
		}
	}
	q := &pair{}
	set(q)
	p.open[what] = append(list, q)
	p.remember(q)
	if q.ours != nil && p.own(q.ours.head.SrcNID) {
		p.clock.AfterFunc(patience, func() { p.answer(q) })
	}
}

// patience is how long a message that our node sends by itself waits for its recorded counterpart.
const patience = 500 * time.Millisecond

// answer answers a ping or push of our node that the recorded node did not send. The answer
// has the latest info of the peer in the recording.
func (p *player) answer(q *pair) {
	if q.recorded != nil {
		return
	}
	o := q.ours
	head := wire.Header{SrcNID: o.head.DestNID, DestNID: o.head.SrcNID, SrcPID: o.head.DestPID, DestPID: o.head.SrcPID}
	told, known := p.told[p.first(o.head.DestNID)]
	if !known {
		told = new(step)
	}
	var data []byte
	switch {
	case o.head.Type == wire.Get && o.head.Get().Portal == wire.PingPortal && known:
		head.SetReply(wire.ReplyCmd{DstMD: handle(&o.head)})
		data = told.data
		head.PayloadLength = uint32(len(data))
	case o.head.Type == wire.Put && o.head.Put().Portal == wire.PingPortal:
		head.SetAck(wire.AckCmd{DstMD: handle(&o.head), MatchBits: o.head.Put().MatchBits, MLength: o.head.PayloadLength})
	default:
		return
	}
	p.nis[o.by].deliver(nid.ProcessID{NID: o.hop, PID: nid.LustrePID}, told.stamp, head, data)
}

// listen records the ping infos that the nodes of a recording send.
func (p *player) listen(steps []step) {
	for i := range steps {
		s := &steps[i]
		push := s.head.Type == wire.Put && s.head.Put().Portal == wire.PingPortal
		if s.kind != capture.Message || s.head.Type != wire.Reply && !push {
			continue
		}
		if _, _, err := wire.ParsePingInfo(s.data); err == nil {
			p.told[p.first(s.head.SrcNID)] = s
		}
	}
}

// remember stores a recorded request under the handle that its answers will have, so that arrive finds
// out to which request of our node an answer belongs.
func (p *player) remember(q *pair) {
	if q.recorded == nil {
		return
	}
	if p.tests != nil {
		p.tests.remember(q)
	}
	if h := &q.recorded.head; h.Type == wire.Get || h.Type == wire.Put && h.Put().AckMD != wire.NoHandle() {
		p.byHandle[handle(h)] = q
	}
}

// compare compares the recorded with the sent message.
func (p *player) compare(q *pair) {
	p.remember(q)
	r, o := q.recorded, q.ours
	if p.first(r.to) != p.first(o.hop) {
		p.differ("%s goes by %v, not by %v", p.what(&r.head), o.hop, r.to)
	}
	if a, b := p.info(&r.head, r.data), p.info(&o.head, o.data); a != b {
		p.differ("%v tells %s, not %s", r.head.Type, b, a)
	}
	if p.tests != nil && p.tests.isRPC(&r.head) {
		p.tests.compare(q)
	}
	for _, answer := range q.waiting {
		p.clock.AfterFunc(0, func() { p.arrive(answer) })
	}
	q.waiting = nil
}

// info returns the ping info in a message of the node as text, without its sequence number.
func (p *player) info(h *wire.Header, data []byte) string {
	if !p.own(h.SrcNID) || h.Type == wire.Put && h.Put().Portal != wire.PingPortal {
		return ""
	}
	info, _, err := wire.ParsePingInfo(data)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("%#x", uint32(info.Features))
	for _, ni := range info.NIs {
		text += fmt.Sprintf(" %v %v", ni.NID, ni.Status)
	}
	return text
}

// arrive delivers a recorded message. An answer gets the handle and the NIDs of our node's
// request.
func (p *player) arrive(s *step) {
	head, from, at, data := s.head, s.from, s.to, s.data
	if p.tests != nil && p.tests.isRPC(&head) && head.Type != wire.Reply {
		var q *pair
		if head, data, q = p.tests.arriving(s); q != nil && q.ours == nil {
			q.waiting = append(q.waiting, s)
			return
		} else if q != nil {
			from.NID, at = p.back(q, s)
			head.SrcNID, head.DestNID = q.ours.head.DestNID, q.ours.head.SrcNID
		}
	}
	if (head.Type == wire.Ack || head.Type == wire.Reply) && p.own(head.DestNID) {
		q := p.byHandle[handle(&head)]
		switch {
		case q == nil:
			p.differ("%s: to no request", p.what(&head))
			return
		case q.ours == nil:
			q.waiting = append(q.waiting, s)
			return
		}
		setHandle(&head, handle(&q.ours.head))
		from.NID, at = p.back(q, s)
		head.SrcNID, head.DestNID = q.ours.head.DestNID, q.ours.head.SrcNID
	}
	p.nis[at].deliver(from, s.stamp, head, data)
}

// back returns the NIDs of the connection by which an answer to our node's message arrives.
// at is the source NID of that message. from is its destination NID or, if a gateway brings
// the answer, the gateway's NID.
func (p *player) back(q *pair, answer *step) (from, at nid.NID) {
	if from = answer.from.NID; from == answer.head.SrcNID {
		from = q.ours.head.DestNID
	}
	return from, q.ours.head.SrcNID
}

func sorted[K interface{ ~int64 | ~string }, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
