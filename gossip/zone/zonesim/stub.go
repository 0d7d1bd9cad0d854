package zonesim

import (
	"slices"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
	"ulnet/lnet/machine"
)

// forming is how long the members of a stub take to start, one after the other. All views of a
// zone of two thousand nodes become equal in that time (G-MS-1).
const forming = 1200 * time.Millisecond

// stub simulates all members of a base zone except the active delegate, by the messages that
// they send to the delegate. The delegate's neighbours answer it, and report changes of other
// members every τ. When a member dies, others report that to the delegate, which is a monitor.
type stub struct {
	g       *group
	tau     time.Duration
	theta   int
	began   time.Duration
	present []bool   // whether each member is present
	incs    []uint64 // latest incarnation of each member
	started int      // number of members that have started so far
	count   int      // number of members that are present, the delegate included
	joined  []int32  // members that the delegate was not told of yet
	tick    time.Duration
	linked  []int // numbers of the members that have a link to the delegate
	losing  int   // number of members that die in this step
	dead    []int32
	queue   []wire.Message // messages that wait for the delegate
}

func newStub(g *group, cfg *engine.Config) *stub {
	s := &stub{g: g, tau: cfg.Aggregation, theta: cfg.Threshold, present: make([]bool, len(g.ids)), incs: make([]uint64, len(g.ids)), tick: machine.Never}
	s.began, s.count, s.present[g.best] = never, 1, true
	return s
}

// bootstrap returns the members that the delegate asks first.
func (s *stub) bootstrap() []wire.ID {
	k := 0
	if s.g.best == 0 {
		k++
	}
	return s.g.ids[k : k+1]
}

// step makes the simulated members answer the delegate and send the messages that are due; it
// returns when the next messages are due.
func (s *stub) step(p *program, now time.Duration, in *sim.Input[message], wake time.Duration) time.Duration {
	if in.Kind == sim.Start {
		s.began, s.tick = now, now
	}
	if s.losing > 0 {
		s.lose(s.losing)
		s.losing = 0
	}
	if now >= s.tick {
		s.expire(now)
	}
	out := &p.net.out
	for done := 0; ; {
		for ; done < len(out.Sends); done++ {
			s.answer(&out.Sends[done])
		}
		if len(s.queue) == 0 {
			break
		}
		m := s.queue[0]
		s.queue = s.queue[1:]
		wake = p.m.Step(now, engine.Input{Kind: engine.Delivered, Message: &m}, out)
	}
	s.queue = nil
	return max(min(wake, s.tick), now+1)
}

// expire reports the members that have joined, every τ while there are any.
func (s *stub) expire(now time.Duration) {
	if s.started < len(s.present) {
		due := min(len(s.present), 1+int(int64(len(s.present))*int64(now-s.began)/int64(forming)))
		for ; s.started < due; s.started++ {
			s.join(s.started)
		}
	}
	s.tick = machine.Never
	if s.started < len(s.present) || len(s.joined) > 0 {
		s.tick = now + s.tau
	}
	if len(s.joined) == 0 || len(s.linked) == 0 {
		return
	}
	list := make([]wire.Member, 0, len(s.joined))
	for _, i := range s.joined {
		if s.present[i] {
			list = append(list, wire.Member{Node: s.g.refs[i], Version: s.version(int(i))})
		}
	}
	s.joined = s.joined[:0]
	s.say(s.linked[0], wire.Message{Kind: wire.Update, Lists: &wire.Lists{Alive: list}})
}

// join begins an incarnation of a member.
func (s *stub) join(i int) {
	if s.present[i] {
		return
	}
	s.present[i] = true
	s.incs[i]++
	s.count++
	s.joined = append(s.joined, int32(i))
}

func (s *stub) version(i int) wire.Version { return wire.Version{Inc: s.incs[i], Minor: 1} }

// gain makes members that have died start again.
func (s *stub) gain(count int) {
	for ; count > 0 && len(s.dead) > 0; count-- {
		s.join(int(s.dead[0]))
		s.dead = s.dead[1:]
	}
	s.tick = min(s.tick, s.began) // the next step is due at once
}

// lose makes members die: the first ones that are not neighbours of the delegate. Θ others
// report each of them to the delegate, which is their monitor, at once.
func (s *stub) lose(count int) {
	for i := 0; i < len(s.present) && count > 0; i++ {
		if !s.present[i] || i == s.g.best || slices.Contains(s.linked, i) {
			continue
		}
		s.present[i] = false
		s.count--
		s.dead = append(s.dead, int32(i))
		count--
		for k := range s.theta {
			reporter := s.other(i, k)
			s.say(reporter, wire.Message{Kind: wire.Notice, Lists: &wire.Lists{
				Suspicions: []wire.Suspicion{{Reporter: s.g.refs[reporter], Suspect: s.g.refs[i], Version: s.version(i)}},
			}})
		}
	}
}

// other returns a member that is present: the k-th one after a given member.
func (s *stub) other(i, k int) int {
	for {
		if i = (i + 1) % len(s.present); s.present[i] && i != s.g.best {
			if k--; k < 0 {
				return i
			}
		}
	}
}

// say queues a message of a member for the delegate.
func (s *stub) say(from int, m wire.Message) {
	m.From, m.Version = s.g.refs[from], s.version(from)
	s.queue = append(s.queue, m)
}

// answer answers the delegate for a member that is present.
func (s *stub) answer(send *engine.Send) {
	to := s.g.at(send.To)
	if to < 0 || !s.present[to] {
		return
	}
	switch m := &send.Message; m.Kind {
	case wire.DiscoveryRequest:
		s.say(to, wire.Message{Kind: wire.DiscoveryReply, Flags: m.Flags & wire.Healing})
	case wire.LinkRequest:
		if !slices.Contains(s.linked, to) {
			s.linked = append(s.linked, to)
		}
		s.say(to, wire.Message{Kind: wire.LinkAccept})
	case wire.LinkDrop:
		s.linked = slices.DeleteFunc(s.linked, func(i int) bool { return i == to })
	case wire.Heartbeat:
		s.say(to, wire.Message{Kind: wire.Heartbeat, Hash: m.Hash, Tables: m.Tables})
	}
}
