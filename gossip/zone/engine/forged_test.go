package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// claim delivers a message from one node to another that no correct machine would send.
func (w *world) claim(from, to *node, msg wire.Message) {
	msg.From, msg.Version = to.ref(from), from.m.Version()
	to.step(Input{Kind: Delivered, Message: &msg})
}

// ref returns the number (Ref) of another node in this node's table.
func (n *node) ref(of *node) wire.Ref { return n.m.Table().Lookup(of.id) }

// lies are the kinds of false statements about a node that one member sends to all others.
var lies = map[string]func(to, about *node, v wire.Version) wire.Lists{
	"a goodbye": func(to, about *node, v wire.Version) wire.Lists {
		return wire.Lists{Leaves: []wire.Departure{{Node: to.ref(about), Version: v}}}
	},
	"reports of others": func(to, about *node, v wire.Version) (l wire.Lists) {
		for _, by := range to.w.nodes[:5] {
			if by != about && by != to {
				l.Suspicions = append(l.Suspicions, wire.Suspicion{Reporter: to.ref(by), Suspect: to.ref(about), Version: v})
			}
		}
		return l
	},
	"silence that others reported": func(to, about *node, v wire.Version) (l wire.Lists) {
		for _, by := range to.w.nodes[:5] {
			if by != about && by != to {
				l.Silences = append(l.Silences, wire.Suspicion{Reporter: to.ref(by), Suspect: to.ref(about), Version: v})
			}
		}
		return l
	},
}

// TestOneTellsAll: one member (the liar) tells all others, again and again, that another member (the victim) has
// left or that others suspect it. The victim refutes that before any node removes it. This holds also if the liar
// has made the victim take a newer version shortly before, which still waits for the next round (MS-A1, MS-A3).
func TestOneTellsAll(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A3")
	for what, lie := range lies {
		for _, members := range []int{5, 9, 24} {
			for _, raised := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d members, raised before %v", what, members, raised), func(t *testing.T) {
					w := booted(t, 4, members, Config{})
					victim, liar := w.nodes[4], w.nodes[1]
					for i := range 50 {
						v := victim.m.Version()
						if raised {
							w.claim(liar, victim, wire.Message{Kind: wire.DiscoveryRequest, Flags: wire.Healing | wire.Brief})
						}
						for _, n := range w.nodes {
							if n != victim && n != liar {
								l := lie(n, victim, v)
								w.claim(liar, n, wire.Message{Kind: wire.Update, Lists: &l})
							}
						}
						w.run(time.Duration(1+i%10) * 100 * time.Millisecond)
					}
					if w.wrongly > 0 || !w.agree() {
						t.Errorf("it was removed %d times", w.wrongly)
					}
				})
			}
		}
	}
}

// TestOlderAccusation: a newer version of a node (of this node itself, or of another member) waits for the next
// round. If a goodbye or a report arrives that names an older version of the node, this node sends the newer
// version early, and otherwise not (MS-A1, MS-A3).
func TestOlderAccusation(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A3")
	for what, accuse := range map[string]func(s *solo, i int, v wire.Version){
		"goodbye": func(s *solo, i int, v wire.Version) {
			s.update(wire.Lists{Leaves: []wire.Departure{{Node: s.ref[i], Version: v}}})
		},
		"report": func(s *solo, i int, v wire.Version) {
			s.update(wire.Lists{Suspicions: []wire.Suspicion{{Reporter: s.ref[3], Suspect: s.ref[i], Version: v}}})
		},
	} {
		for _, accused := range []bool{false, true} {
			for i, old := range map[int]wire.Version{0: v(10, 1), 2: v(7, 3)} {
				s := acquainted(t, 9, Config{})
				s.link(1, v(7, 3))
				s.pass(time.Second)
				if i == 0 {
					s.hear(1, v(7, 3), wire.Message{Kind: wire.DiscoveryRequest, Flags: wire.Healing | wire.Brief})
				} else {
					s.alive(i, v(7, 4))
				}
				if accused {
					accuse(s, i, old)
				}
				if early := countKind(s.pass(25*time.Millisecond), wire.Update) > 0; early != accused {
					t.Errorf("%s of node %d: %v, sent early: %v", what, i, accused, early)
				}
			}
		}
	}
}

// TestKeptOut: a node joins for the first time, or is back as a member. One member tells all others again and
// again that this node has left, each time in a newer version. The node becomes a member all the same (MS-A3,
// MS-A4).
func TestKeptOut(t *testing.T) {
	spec.Covers(t, "MS-A3", "MS-A4")
	for _, former := range []bool{false, true} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("was a member %v, seed %d", former, seed), func(t *testing.T) {
				w := booted(t, seed, 24, Config{})
				joins, liar := w.nodes[4], w.nodes[1]
				joins.kill()
				w.until(10*time.Second, w.agree)
				if !former {
					joins = w.add(len(w.nodes))
					joins.boot = []wire.ID{liar.id, w.nodes[9].id, w.nodes[3].id}
				}
				joins.start()
				for range 100 {
					for _, n := range w.nodes {
						r, err := n.m.Table().AddShort(joins.id.Short())
						if err != nil {
							t.Fatal(err)
						}
						v := joins.m.Version().Next()
						if has := n.m.view.at(r).version(); v.Less(has) {
							v = has.Next()
						}
						if n.up && n != joins && n != liar {
							w.claim(liar, n, wire.Message{Kind: wire.Update, Lists: &wire.Lists{Leaves: []wire.Departure{{Node: r, Version: v}}}})
						}
					}
					w.run(30 * time.Millisecond)
				}
				if !w.agree() {
					w.differences()
					t.Error("not all know it")
				}
			})
		}
	}
}

// TestOneTellsMore: like TestOneTellsAll, with two other lies of the one member: that the victim was removed
// elsewhere; and reports that nearly all members have failed, so that few reports seem to be enough to remove one
// (MS-A1, MS-A9).
func TestOneTellsMore(t *testing.T) {
	spec.Covers(t, "MS-A1", "MS-A9")
	for what, message := range map[string]func(to, victim, liar *node) wire.Message{
		"it was removed elsewhere": func(to, victim, _ *node) wire.Message {
			return wire.Message{Kind: wire.Base, Flags: wire.Repair, Lists: &wire.Lists{Removed: []wire.Member{{Node: to.ref(victim), Version: victim.m.Version()}}}}
		},
		"all others are suspected": func(to, victim, liar *node) wire.Message {
			l := &wire.Lists{}
			for _, of := range to.w.nodes {
				for _, by := range []*node{liar, to.w.nodes[(of.i+1)%len(to.w.nodes)], to.w.nodes[(of.i+2)%len(to.w.nodes)]} {
					if of != liar && of != to && by != of {
						l.Suspicions = append(l.Suspicions, wire.Suspicion{Reporter: to.ref(by), Suspect: to.ref(of), Version: of.m.Version()})
					}
				}
			}
			return wire.Message{Kind: wire.Update, Lists: l}
		},
	} {
		for _, members := range []int{3, 4, 5, 9, 24} {
			for _, threshold := range []int{2, 3} {
				t.Run(fmt.Sprintf("%s, %d members, Θ %d", what, members, threshold), func(t *testing.T) {
					w := booted(t, 4, members, Config{Threshold: threshold, Successors: 3})
					victim, liar := w.nodes[2], w.nodes[1]
					for i := range 50 {
						for _, n := range w.nodes {
							if n != victim && n != liar {
								w.claim(liar, n, message(n, victim, liar))
							}
						}
						w.run(time.Duration(1+i%10) * 100 * time.Millisecond)
					}
					if w.wrongly > 0 || !w.agree() {
						t.Errorf("members were removed %d times", w.wrongly)
					}
				})
			}
		}
	}
}

// TestHighestOfOneClock: the clocks of nodes differ. A liar names a version of the victim that is so far ahead
// that only the nodes with the fastest clocks accept it. The victim has to take an even higher version. Then the
// liar tells all others that the victim has left, or that others suspect it, in an earlier version. The victim
// refutes that even at nodes whose clocks make them refuse its new version (MS-A2, MS-A3).
func TestHighestOfOneClock(t *testing.T) {
	spec.Covers(t, "MS-A2", "MS-A3")
	const wall, ahead = 1 << 60, 1 << 44
	for what, lie := range lies {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, 4, 24, Config{})
			begin := w.now
			for _, n := range w.nodes {
				n.change = func(c *Config) { c.Wall = wall - uint64(n.i%3)*uint64(500*time.Millisecond) }
			}
			w.boot()
			w.until(10*time.Second, w.agree)
			w.run(10 * time.Second)
			victim, liar := w.nodes[4], w.nodes[1]
			removed := 0
			w.told = func(n *node, e *Event) {
				if e.Kind == Left && e.ID == victim.id && !n.m.view.has(n.ref(victim)) { // the victim was removed, and has not joined again in the same step
					removed++
				}
			}
			for range 10 {
				for range 10 {
					highest := v(wall+ahead+uint64(w.now-begin), 1)
					w.claim(liar, w.nodes[6], wire.Message{Kind: wire.Update, Lists: &wire.Lists{Alive: []wire.Member{{Node: w.nodes[6].ref(victim), Version: highest}}}})
					w.run(50 * time.Millisecond)
				}
				for range 12 {
					for _, n := range w.nodes {
						if n != victim && n != liar {
							has, _ := n.m.Has(n.ref(victim))
							l := lie(n, victim, has)
							w.claim(liar, n, wire.Message{Kind: wire.Update, Lists: &l})
						}
					}
					highest := v(wall+ahead+uint64(w.now-begin), 1)
					w.claim(liar, w.nodes[6], wire.Message{Kind: wire.Update, Lists: &wire.Lists{Alive: []wire.Member{{Node: w.nodes[6].ref(victim), Version: highest}}}})
					w.run(100 * time.Millisecond)
				}
			}
			if w.run(2 * time.Second); removed > 0 || !w.agree() {
				t.Errorf("it was removed %d times", removed)
			}
		})
	}
}
