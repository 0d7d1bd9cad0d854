package healthsim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"ulnet/gossip/engine"
	"ulnet/health"
	healthengine "ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
)

// server runs the machine of a server on a node, with discovery, broadcasts and a disk.
type server struct {
	net         *network
	id          sim.NodeID
	incarnation sim.Incarnation
	m           *healthengine.Server
	gossip      *engine.Machine // the machine of gossip; nil: the oracle reports health
	pcg         rand.PCG
	disk        *disk
	writes      []write // changes of the disk that are not durable yet, in their order
	view        view
	relays      relays
	heard       map[ni]time.Duration // by incarnation of a node: when the latest message of its other programs arrived
	wake        time.Duration        // when the machine m is stepped next
	talk        time.Duration        // when the machine of gossip is stepped next

	now time.Duration // time of the current step
	out *sim.Output[*message]
}

// ni identifies an incarnation of a node, as the transport does.
type ni struct {
	node        sim.NodeID
	incarnation uint64
}

// incarnationOf returns the number of an incarnation of a node, which is above 0.
func incarnationOf(l sim.Incarnation) uint64 { return l.Number + 1 }

// view is what discovery has told a server about the others.
type view struct {
	alive          []bool // by server, this one included
	quorum, unsure bool
}

// bootServer begins an incarnation of a server.
func (n *network) bootServer(incarnation sim.Incarnation, keeps bool) sim.Program[*message] {
	s := &server{
		net: n, id: incarnation.Node, incarnation: incarnation, heard: make(map[ni]time.Duration), wake: machine.Never, talk: machine.Never,
		view: view{alive: make([]bool, n.cfg.servers)}, disk: n.disk(int(incarnation.Node), keeps),
	}
	s.view.alive[s.id] = true
	s.pcg.Seed(incarnation.Seed, 1)
	var err error
	s.m, err = healthengine.NewServer(healthengine.ServerConfig{
		Self: simlnd.NID(incarnation.Node), Incarnation: epoch + uint64(incarnation.Now), Servers: n.ids, Timing: n.cfg.timing, ClaimKeys: n.cfg.claimKeys,
	})
	if err == nil && n.cfg.gossip > 0 {
		s.gossip, err = engine.New(engine.Config{Interval: n.cfg.gossip, Seed: incarnation.Seed, ColdStart: incarnation.Number == 0}, n.list, n.list.Index(simlnd.NID(incarnation.Node)))
	}
	if err != nil {
		n.Failed(err)
		return nil
	}
	n.servers[incarnation.Node] = s.m
	return s
}

// Step implements sim.Program.
func (s *server) Step(now time.Duration, in sim.Input[*message], out *sim.Output[*message]) time.Duration {
	s.now, s.out = now, out
	s.net.serverQueue = s.net.serverQueue[:0]
	s.written()
	switch in.Kind {
	case sim.Start:
		s.start()
	case sim.Message:
		s.take(in.From, in.Msg)
	case sim.Command:
		s.command(in.Text)
	}
	if s.talk <= now {
		s.chat(engine.Input{})
	}
	if now >= s.wake {
		s.input(healthengine.ServerInput{Kind: healthengine.ServerTimer})
	}
	s.steps()
	next := s.wait(machine.Never)
	s.steps() // passes on the inputs that the method wait has queued
	next = min(next, s.wake, s.talk)
	if len(s.writes) > 0 {
		next = min(next, s.writes[0].at)
	}
	s.out = nil
	return max(next, now+1)
}

// steps passes all queued inputs to the machine, and the inputs that follow from them.
func (s *server) steps() {
	n := s.net
	for i := 0; i < len(n.serverQueue); i++ {
		n.serverOut.Reset()
		s.wake = s.m.Step(s.now, n.serverQueue[i], &n.serverOut)
		for k := range n.serverOut.Effects {
			s.apply(&n.serverOut.Effects[k])
		}
	}
	n.serverQueue = n.serverQueue[:0]
}

func (s *server) input(in healthengine.ServerInput) {
	s.net.serverQueue = append(s.net.serverQueue, in)
}

func (s *server) send(to sim.NodeID, m *message) {
	if m.incarnation == 0 { // the message starts at this node; otherwise this node only forwards it
		m.incarnation = incarnationOf(s.incarnation)
	}
	s.out.Sends = append(s.out.Sends, sim.Send[*message]{To: to, Msg: m, Size: m.size(), Priority: true})
}

// chance is true with probability p.
func (s *server) chance(p float64) bool { return p > 0 && float64(s.pcg.Uint64()>>11)/(1<<53) < p }

// start gives the machine the content of the disk, and tells it which servers are alive at
// first.
func (s *server) start() {
	s.restore()
	s.input(healthengine.ServerInput{Kind: healthengine.ServerTimer})
	if s.gossip != nil {
		s.chat(engine.Input{})
		return
	}
	on := &s.net.cfg.Network
	for k := range s.net.ids {
		if id := sim.NodeID(k); id != s.id && s.incarnation.Number == 0 && on.AtFirst(s.id) && on.AtFirst(id) {
			s.judge(id, true, 0)
		}
	}
	s.count()
}

// take converts a message that has arrived to an input.
func (s *server) take(from sim.NodeID, m *message) {
	switch m.kind {
	case ofHealth:
		s.input(healthengine.ServerInput{Kind: healthengine.Arrived, From: processOf(from), PeerIncarnation: m.incarnation, Data: m.data})
	case evictRequest:
		s.requested(from, m)
	case evictReply:
		s.replied(from, m)
	case traffic:
		s.heard[ni{from, m.incarnation}] = s.now
		s.send(from, &message{kind: traffic, data: m.data})
	case ofGossip:
		s.chat(engine.Input{Kind: engine.Ping, From: simlnd.NID(from), Data: m.data})
	case ofGossipReply:
		s.chat(engine.Input{Kind: engine.Reply, From: simlnd.NID(from), Data: m.data})
	}
}

// apply carries out an effect of the machine.
func (s *server) apply(e *healthengine.ServerEffect) {
	n := s.net
	switch e.Kind {
	case healthengine.DoSend:
		s.send(nodeOfNID(e.To.NID), &message{kind: ofHealth, data: slices.Clone(n.serverOut.Data(e))})
	case healthengine.DoSave:
		r := e.Record
		s.write(e.ID, func() { s.disk.save(*r) })
	case healthengine.DoRemove:
		t := health.Tombstone{Client: e.Client, Incarnation: e.Incarnation, Epoch: e.Epoch}
		switch {
		case e.For > 0:
			t.Until = wall(s.now + e.For)
		case e.For < 0:
			t.Until = past
		}
		s.write(0, func() { s.disk.remove(t) })
	case healthengine.DoBroadcast:
		s.broadcast(e.ID, slices.Clone(n.serverOut.Data(e)))
	case healthengine.DoAnswer:
		if r, ok := e.Token.(*relay); ok {
			s.answered(r, slices.Clone(n.serverOut.Data(e)), nil)
		}
	case healthengine.DoLook:
		at, ok := s.heard[ni{nodeOfNID(e.To.NID), e.Incarnation}]
		s.input(healthengine.ServerInput{Kind: healthengine.Seen, Client: e.Client, At: max(at, 1), Failed: !ok})
	case healthengine.DoTell:
		n.serverTold(s.id, &e.Event)
		s.out.Events = append(s.out.Events, serverEvent(&e.Event))
	}
}

// command carries out a command of a scenario, or applies a report of the oracle.
func (s *server) command(text string) {
	verb, args := scenario.ParseCommand(text)
	switch verb {
	case "dead", "alive":
		lifetime, _ := strconv.ParseUint(args.Word(1), 10, 64)
		s.judge(args.Node(0), verb == "alive", lifetime)
		s.count()
	case "unsure", "sure":
		s.view.unsure = verb == "unsure"
		s.input(healthengine.ServerInput{Kind: healthengine.QuorumIs, Alive: s.view.quorum, Unsure: s.view.unsure})
	default:
		s.net.order(s.id, s, verb, args)
	}
}

func (s *server) drain(on bool) {
	s.input(healthengine.ServerInput{Kind: healthengine.Drain, Alive: on})
}

func (s *server) shed(count int) {
	s.input(healthengine.ServerInput{Kind: healthengine.Drain, Count: count})
}

func (s *server) evict(client health.ClientID) {
	s.input(healthengine.ServerInput{Kind: healthengine.EvictClient, Client: client})
}
