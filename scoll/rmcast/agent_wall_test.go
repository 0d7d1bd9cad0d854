package rmcast_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// leapingClock is a ringClock that is ahead by leap, which a test changes.
type leapingClock struct {
	ringClock
	leap *time.Duration
}

func (c leapingClock) Now() time.Duration { return c.ringClock.Now() + *c.leap }

// TestWallOfLateMember: RM-A9: a node joins two days after its agent has started. It accepts a manager that has just
// started, whose epoch is the wall clock, and that manager accepts it.
func TestWallOfLateMember(t *testing.T) {
	spec.Covers(t, "RM-A9")
	const late = group + 1
	for _, wall := range []bool{false, true} {
		var leap time.Duration
		r := newRingOn(t, 2, leapingClock{ringClock{machine.RealClock()}, &leap}, func(int, *rmcast.GroupConfig) {})
		leap = 48 * time.Hour
		manager, member := r.ends[0], r.ends[1]
		_ = manager.agent.Close(context.Background())
		cfg := rmcast.Config{}
		if wall { // the wall clock has been set forward by another month
			cfg.Incarnation = uint64(leap + 30*24*time.Hour)
			cfg.Wall = func() time.Time { return time.Unix(0, int64(cfg.Incarnation)) }
			_ = member.agent.Close(context.Background())
		}
		var err error
		if manager.agent, err = rmcast.New(manager.table, cfg); err != nil {
			t.Fatal(err)
		}
		if err := manager.agent.Manage(rmcast.ManagerConfig{Group: late}); err != nil {
			t.Fatal(err)
		}
		if wall {
			if member.agent, err = rmcast.New(member.table, rmcast.Config{Wall: cfg.Wall}); err != nil {
				t.Fatal(err)
			}
		}
		g, err := member.agent.Join(rmcast.GroupConfig{Group: late, Managers: []nid.NID{manager.NID()}, Handle: func(*rmcast.Message) {}})
		if err != nil {
			t.Fatal(err)
		}
		if st := g.Status(); st.State != "member" || st.Refusal != nil || st.Stats.Ahead > 0 {
			t.Errorf("wall %v: the node is %v: %v, %+v", wall, st.State, st.Refusal, st.Stats)
		}
	}
}
