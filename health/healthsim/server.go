package healthsim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/gossip/engine"
	healthengine "ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// server runs the machine of a server on a node, with discovery, broadcasts and a disk.
type server struct {
	net         *Net
	id          sim.NodeID
	incarnation sim.Incarnation
	m           *healthengine.Server
	gossip      *engine.Machine // the machine of gossip; nil: the oracle reports health
	pcg         rand.PCG
	disk        disk
	view        view
	relays      relays
	heard       map[ni]time.Duration // when the latest message of other programs of a node arrived
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
	alive          []bool
	count          int // number of servers that are alive, this one included
	quorum, unsure bool
}

// bootServer begins an incarnation of a server.
func (n *Net) bootServer(incarnation sim.Incarnation, old *server) sim.Program[*message] {
	s := &server{
		net: n, id: incarnation.Node, incarnation: incarnation, heard: make(map[ni]time.Duration), wake: machine.Never, talk: machine.Never,
		view: view{alive: make([]bool, n.cfg.Servers), count: 1}, relays: relays{byKey: make(map[relayKey]*relay)},
	}
	s.pcg.Seed(incarnation.Seed, 1)
	s.disk.init(nil)
	if old != nil {
		s.disk.init(&old.disk)
	}
	var err error
	s.m, err = healthengine.NewServer(healthengine.ServerConfig{
		Self: simlnd.NID(incarnation.Node), Incarnation: epoch + uint64(incarnation.Now), Servers: n.ids, Timing: n.cfg.Timing, ClaimKeys: n.cfg.ClaimKeys,
	})
	if err == nil && n.cfg.Gossip > 0 {
		s.gossip, err = engine.New(engine.Config{Interval: n.cfg.Gossip, Seed: incarnation.Seed, ColdStart: incarnation.Number == 0}, n.list, n.list.Index(simlnd.NID(incarnation.Node)))
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
	s.disk.run(now, func(id uint64, failed bool) {
		s.input(healthengine.ServerInput{Kind: healthengine.Saved, ID: id, Failed: failed})
	})
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
		s.input(healthengine.ServerInput{})
	}
	s.steps()
	next := s.wait(machine.Never)
	s.steps() // step on the inputs that wait has queued
	next = min(next, s.wake, s.talk)
	if at, some := s.disk.next(); some {
		next = min(next, at)
	}
	s.out = nil
	return max(next, now+1)
}

// steps steps the machine on all queued inputs, and on those that follow from them.
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
	if m.incarnation == 0 { // the message begins here; otherwise this node forwards it
		m.incarnation = incarnationOf(s.incarnation)
	}
	s.out.Sends = append(s.out.Sends, sim.Send[*message]{To: to, Msg: m, Size: m.size(), Priority: true})
}

// chance is true with probability p.
func (s *server) chance(p float64) bool { return p > 0 && float64(s.pcg.Uint64()>>11)/(1<<53) < p }

// start gives the machine the content of the disk, and the servers that are alive at first.
func (s *server) start() {
	s.net.serverQueue = append(s.net.serverQueue, s.disk.load(s.now)...)
	s.input(healthengine.ServerInput{})
	if s.gossip != nil {
		s.chat(engine.Input{})
		return
	}
	o := &s.net.oracle
	for k := range s.net.ids {
		if id := sim.NodeID(k); id != s.id && s.incarnation.Number == 0 && o.atFirst(s.id) && o.atFirst(id) {
			s.judge(id, true, 0)
		}
	}
	s.count()
}

// take converts a message to an input.
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
		s.post(e)
	case healthengine.DoSave:
		s.write(write{id: e.ID, record: e.Record})
	case healthengine.DoRemove:
		w := write{client: e.Client}
		if e.For != 0 {
			w.tombstone = tombstone{e.Incarnation, s.now + max(e.For, 0)}
		}
		s.write(w)
	case healthengine.DoBroadcast:
		s.broadcast(e.ID, slices.Clone(n.serverOut.Data(e)))
	case healthengine.DoAnswer:
		if r, ok := e.Token.(*relay); ok {
			s.answered(r, n.serverOut.Data(e))
		}
	case healthengine.DoLook:
		if at, ok := s.heard[ni{nodeOfNID(e.To.NID), e.Incarnation}]; ok {
			s.input(healthengine.ServerInput{Kind: healthengine.Seen, Client: e.Client, At: max(at, 1)})
		}
	case healthengine.DoTell:
		n.serverTold(s.id, &e.Event)
		if !n.cfg.Bare {
			s.out.Events = append(s.out.Events, serverEvent(&e.Event))
		}
	}
}

// post sends a message of the machine.
func (s *server) post(e *healthengine.ServerEffect) {
	n, data, to := s.net, slices.Clone(s.net.serverOut.Data(e)), nodeOfNID(e.To.NID)
	n.tap(s.id, to, data)
	s.send(to, &message{kind: ofHealth, data: data})
}

// write queues a write to the disk, or answers at once if there is no disk.
func (s *server) write(w write) {
	if each := s.net.cfg.Store; each > 0 {
		s.disk.add(s.now, each, &s.pcg, w)
	} else if w.id != 0 {
		s.input(healthengine.ServerInput{Kind: healthengine.Saved, ID: w.id})
	}
}

// command carries out a verb of a scenario, or applies a report of the oracle.
func (s *server) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "dead", "alive":
		node, lifetime, _ := strings.Cut(rest, " ")
		k, _ := strconv.Atoi(node)
		times, _ := strconv.ParseUint(lifetime, 10, 64)
		s.judge(sim.NodeID(k-1), verb == "alive", times)
		s.count()
	case "unsure", "sure":
		s.view.unsure = verb == "unsure"
		s.input(healthengine.ServerInput{Kind: healthengine.QuorumIs, Alive: s.view.quorum, Unsure: s.view.unsure})
	case "drain":
		s.input(healthengine.ServerInput{Kind: healthengine.Drain, Alive: rest == "on"})
	case "shed":
		if count, _ := strconv.Atoi(rest); count > 0 {
			s.input(healthengine.ServerInput{Kind: healthengine.Drain, Count: count})
		}
	case "evict":
		if node, _ := strconv.Atoi(rest); node > 0 {
			s.net.byHand(sim.NodeID(node - 1))
			s.input(healthengine.ServerInput{Kind: healthengine.EvictClient, Client: clientID(sim.NodeID(node - 1))})
		}
	case "disk":
		s.disk.broken = rest == "broken"
	}
}

// nodeOfNID returns the node with a NID.
func nodeOfNID(id nid.NID) sim.NodeID {
	node, _ := simlnd.Node(id)
	return node
}
