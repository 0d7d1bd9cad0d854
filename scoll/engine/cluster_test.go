package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

const testService wire.ServiceID = 7

// packet is a message between the machines of a cluster.
type packet struct {
	kind    string // "request", "reply", "get" or "data"
	bits    uint64
	data    []byte
	trailer []byte
	payload []byte
	from    uint64 // offset of a GET, and of the data that answer it
	size    uint64
	id      RequestID
	list    bool
}

// behaviour says how the service of a node behaves.
type behaviour struct {
	mute    bool        // the service never replies
	deaf    bool        // the incoming-request callback never returns
	reject  wire.Status // status that pre-request returns
	fail    wire.Status // status that incoming-request returns
	parts   int         // the number of parts of a reply, if above 1; with mute the last part is not sent
	timeout time.Duration
	late    time.Duration // time that incoming-request takes
	think   time.Duration // time from post-reply to the reply
	below   bool          // the service replies for its children, not for itself
}

// result is the result of a broadcast at its root.
type result struct {
	at       time.Duration
	answered []int // nodes whose answers the root's service got
	missing  []wire.Missing
	busy     bool
	calls    int // number of incoming-reply callbacks
}

// work is a request at a node, as its service sees it.
type work struct {
	children []tree.Child
	got      map[int][]byte // answers, by the rank of the answering member
	payload  []byte
	bulk     uint64
	fetched  []byte // bulk data of this request
	root     bool
	replies  int
	worked   bool // incoming-request has returned, or the service does not wait for it
	posted   bool
}

// simNode is a machine on a simulated node with a service that collects ranks.
type simNode struct {
	c           *cluster
	id          sim.NodeID
	m           *Machine
	incarnation uint64
	service     behaviour
	work        map[RequestID]*work
	fetches     map[RequestID]*simFetch
	exposed     map[uint64]packet
	bits        map[RequestID][]uint64
	ran         map[string]int // how often each payload ran
	preRuns     int
	out         Output
	queue       []Input
	results     []result
	created     []Effect
	refused     []wire.Status
	pending     *Outgoing
	bulk        []byte
	sends       int
	news        sim.NodeID // a node of whose death this node has not learned yet
	outs        int
	errands     []errand // actions that services still have to do later
	came        []byte   // the payload of the reply that arrived last
}

// errand is something that a late service still has to do: return from incoming-request, or reply.
type errand struct {
	at      time.Duration
	id      RequestID
	replies bool
}

// cluster is a set of machines in virtual time.
type cluster struct {
	t         *testing.T
	net       *sim.Network[*packet]
	nodes     []*simNode
	members   *wire.Membership
	cfg       Config
	watch     bool
	unchecked bool                // do not check invariants: the check takes time in proportion to the number of requests
	lateNews  map[sim.NodeID]bool // nodes that learn of deaths only by a command of the test
	service   func(id sim.NodeID) behaviour
	parse     func([]byte) (*wire.Membership, error)
	lists     map[*wire.Membership][]byte
	tap       func(from, to sim.NodeID, p *packet)
	// forge returns another message to be sent, with its receiver; nil: none.
	forge func(to sim.NodeID, p packet) (sim.NodeID, *packet)
}

func simNID(id sim.NodeID) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

func simID(n nid.NID) sim.NodeID { return sim.NodeID(n.Number()) - 1 }

func newCluster(t *testing.T, n int, change func(*cluster, *sim.Config[*packet])) *cluster {
	t.Helper()
	effort.OneGoroutine(t)
	members, err := wire.NewMembership(testTargets(n, 1))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, members: members, lists: map[*wire.Membership][]byte{}, nodes: make([]*simNode, n), cfg: Config{RTT: 2 * time.Millisecond, Guard: time.Millisecond}}
	cfg := sim.Config[*packet]{
		Nodes: n, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}},
		Boot: c.boot,
	}
	if change != nil {
		change(c, &cfg)
	}
	if c.net, err = sim.New(cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) boot(incarnation sim.Incarnation, _ sim.Program[*packet]) sim.Program[*packet] {
	cfg := c.cfg
	cfg.Self, cfg.Incarnation = simNID(incarnation.Node), incarnation.Number+1
	n := &simNode{
		c: c, id: incarnation.Node, m: New(cfg), incarnation: incarnation.Number, work: map[RequestID]*work{}, fetches: map[RequestID]*simFetch{}, exposed: map[uint64]packet{},
		bits: map[RequestID][]uint64{}, ran: map[string]int{},
	}
	if c.parse != nil {
		n.m.parse = c.parse
	}
	if c.service != nil {
		n.service = c.service(incarnation.Node)
	}
	c.nodes[incarnation.Node] = n
	return n
}

// Step implements sim.Program. It also steps the machine with the results of its effects.
func (n *simNode) Step(now time.Duration, in sim.Input[*packet], out *sim.Output[*packet]) (wake time.Duration) {
	n.queue = n.queue[:0]
	switch in.Kind {
	case sim.Timer:
		n.queue = append(n.queue, Input{})
	case sim.Start:
		n.queue = append(n.queue, Input{Kind: Register, Service: testService, OOB: true})
		for i := range n.c.nodes {
			if n.c.watch && sim.NodeID(i) != n.id {
				out.Watch = append(out.Watch, sim.NodeID(i))
				n.queue = append(n.queue, Input{Kind: Health, From: simNID(sim.NodeID(i)), Alive: true, Lifetime: 0})
			}
		}
	case sim.Message:
		n.arrived(in.From, in.Msg, out)
	case sim.Reset:
		if n.c.lateNews[n.id] {
			n.news = in.From
			break
		}
		n.queue = append(n.queue, Input{Kind: Health, From: simNID(in.From), Lifetime: 1})
	case sim.Command:
		n.command(in.Text)
	}
	n.runErrands(now)
	if len(n.queue) == 0 {
		n.queue = append(n.queue, Input{})
	}
	for i := 0; i < len(n.queue); i++ {
		n.out.Reset()
		wake = n.m.Step(now, n.queue[i], &n.out)
		if err := n.check(); err != nil {
			panic(fmt.Sprintf("node %d: after %+v: %v", n.id, n.queue[i], err))
		}
		for j := range n.out.Effects {
			n.apply(now, &n.out.Effects[j], out)
		}
	}
	if wake <= now {
		panic(fmt.Sprintf("node %d wakes at %v, now %v", n.id, wake, now))
	}
	for _, e := range n.errands {
		wake = min(wake, e.at)
	}
	return wake
}

func (n *simNode) check() error {
	if n.c.unchecked {
		return nil
	}
	return n.m.invariants()
}

func (n *simNode) command(text string) {
	switch word, _, _ := strings.Cut(text, " "); word {
	case "send":
		n.queue = append(n.queue, Input{Kind: Broadcast, Broadcast: n.pending})
	case "create":
		n.queue = append(n.queue, Input{Kind: Create, Broadcast: n.pending})
	case "abort":
		for _, id := range slices.Sorted(maps.Keys(n.work)) {
			n.queue = append(n.queue, Input{Kind: Abort, ID: id})
		}
	case "lose": // the fetch under way fails
		for id := range n.fetches { // any order: there is only one
			delete(n.fetches, id)
			n.queue = append(n.queue, Input{Kind: InFetched, ID: id, Status: wire.EIO})
		}
	case "news":
		n.queue = append(n.queue, Input{Kind: Health, From: simNID(n.news), Lifetime: 1})
	case "unregister":
		n.queue = append(n.queue, Input{Kind: Unregister, Service: testService})
	}
}

// create creates a group at a root, delayed or immediately.
func (c *cluster) create(root sim.NodeID, t wire.Tree, now bool) wire.GroupID {
	c.t.Helper()
	n := c.nodes[root]
	n.pending = &Outgoing{Token: 1, Service: testService, Members: c.members, Tree: t}
	if now {
		n.pending.Flags = wire.FlagModule
	}
	n.created = nil
	c.net.Command(root, "create")
	c.run(0)
	if now {
		c.run(5 * time.Second)
	}
	if len(n.created) != 1 {
		c.t.Fatalf("creation told %d times", len(n.created))
	}
	return n.created[0].Group
}

func (c *cluster) run(d time.Duration) {
	c.t.Helper()
	if err := c.net.Run(c.net.Now() + d); err != nil {
		c.t.Fatal(err)
	}
}

// start begins a broadcast.
func (c *cluster) start(root sim.NodeID, group wire.GroupID, o Outgoing) {
	o.Group, o.Service, o.Token = group, testService, 2
	c.nodes[root].pending = &o
	c.net.Command(root, "send")
}

// broadcast sends a broadcast and returns its result.
func (c *cluster) broadcast(root sim.NodeID, group wire.GroupID, o Outgoing) result {
	c.t.Helper()
	n := c.nodes[root]
	before := len(n.results)
	begin := c.net.Now()
	c.start(root, group, o)
	c.run(time.Minute)
	if len(n.results) != before+1 {
		c.t.Fatalf("%d results, refused %v", len(n.results)-before, n.refused)
	}
	r := n.results[before]
	r.at -= begin
	return r
}

// want compares the missing nodes of a result, and checks that all others answered.
func (c *cluster) want(r result, root int, missing ...int) {
	c.t.Helper()
	var got, answered []int
	for _, e := range r.missing {
		got = append(got, int(e.Rank))
	}
	slices.Sort(got)
	if !slices.Equal(got, missing) {
		c.t.Fatalf("missing %v, want %v", r.missing, missing)
	}
	for i := range c.nodes {
		if i != root && !slices.Contains(missing, i) {
			answered = append(answered, i)
		}
	}
	if !slices.Equal(r.answered, answered) {
		c.t.Fatalf("answered %v, want %v", r.answered, answered)
	}
}
