package healthsim

import (
	"slices"

	"ulnet/gossip/engine"
	healthengine "ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// judge applies a report of discovery about another server.
func (s *server) judge(id sim.NodeID, alive bool, lifetime uint64) {
	s.view.alive[id] = alive
	s.input(healthengine.ServerInput{Kind: healthengine.ServerHealth, Server: simlnd.NID(id), Alive: alive, Lifetime: lifetime})
}

// count tells the machine when the server has gained or lost the quorum (CH-3).
func (s *server) count() {
	alive := 0
	for _, is := range s.view.alive {
		if is {
			alive++
		}
	}
	if v := &s.view; v.quorum != (alive*2 > s.net.cfg.servers) {
		v.quorum = !v.quorum
		s.input(healthengine.ServerInput{Kind: healthengine.QuorumIs, Alive: v.quorum, Unsure: v.unsure})
	}
}

// chat gives the gossip machine of a server an input.
func (s *server) chat(in engine.Input) {
	out := &s.net.gossipOut
	out.Reset()
	s.talk = s.gossip.Step(s.now, in, out)
	for i := range out.Sends {
		g := &out.Sends[i]
		m := &message{kind: ofGossip, data: slices.Clone(g.Data(out))}
		if g.Reply {
			m.kind = ofGossipReply
		}
		s.send(nodeOfNID(g.To), m)
	}
	for i := range out.Events {
		switch e := &out.Events[i]; e.Kind {
		case engine.CameAlive, engine.Died:
			s.judge(nodeOfNID(e.NID), e.Kind == engine.CameAlive, e.Aliveness)
		default:
		}
	}
	if q, u := s.gossip.Quorum(), s.gossip.Unsure() || s.gossip.Unready(); q != s.view.quorum || u != s.view.unsure {
		s.view.quorum, s.view.unsure = q, u
		s.input(healthengine.ServerInput{Kind: healthengine.QuorumIs, Alive: q, Unsure: u})
	}
}
