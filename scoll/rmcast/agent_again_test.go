package rmcast_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// TestSecondAgent: RM-2, RM-A8: a program closes its agent, and starts another one on the same node. The manager has
// heard the farewell of the first one, or not. The second agent joins with a higher incarnation than the first one
// had, at once, and all members deliver its messages.
func TestSecondAgent(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-A8")
	for _, unheard := range []bool{false, true} {
		s := newStacks(t, 3, link.Quality{}, nil)
		s.form(3)
		k := s.nodes[2]
		for i := range 5 {
			k.post(name(i, 2))
		}
		s.run(time.Second)
		first := k.group.Status().Self
		if unheard {
			s.fabric.Cut(sim.Nodes(2), sim.Nodes(0, 1))
		}
		k.host.Do(func() { _ = k.agent.Close(context.Background()) })
		s.run(15 * time.Second)
		s.fabric.Heal()
		asked := rmcast.ID{}
		k.host.Do(func() { asked = k.second() })
		s.run(500 * time.Millisecond)
		s.form(3)
		for i := range 5 {
			k.post(fmt.Sprint("again ", i))
		}
		s.run(5 * time.Second)
		for i := range 5 {
			s.want(fmt.Sprint("again ", i), s.ids()...)
		}
		if now := k.group.Status().Self; asked.Incarnation <= first.Incarnation+2 || now != asked {
			t.Errorf("unheard %v: the first member was %v, the second one asks as %v and is %v", unheard, first, asked, now)
		}
	}
}

// second starts another agent, and returns the ID with which it asks to join.
func (k *stack) second() rmcast.ID {
	var err error
	if k.agent, err = rmcast.New(k.table, rmcast.Config{}); err != nil {
		k.t.Error(err)
		return rmcast.ID{}
	}
	k.group, err = k.agent.Join(rmcast.GroupConfig{
		Group: group, Managers: []nid.NID{simlnd.NID(0)}, Handle: func(m *rmcast.Message) { k.got = append(k.got, string(m.Data)) },
	})
	if err != nil {
		k.t.Error(err)
	}
	return k.group.Status().Self
}
