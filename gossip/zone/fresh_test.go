package zone_test

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// kindOf returns the kind of a message within a zone; false for others.
func kindOf(m *lnd.Message) (k wire.Kind, ok bool) {
	data := m.Payload.AppendTo(nil)
	if len(data) < wire.HeaderSize || string(data[:4]) != "ZONE" {
		return 0, false
	}
	return wire.Kind(data[5]), true
}

// TestFresh: messages with news of members may wait for a connection for a limited time only. Others may wait longer: it
// does no harm if they arrive late (MS-A12).
func TestFresh(t *testing.T) {
	spec.Covers(t, "MS-A12")
	c := newCluster(t, 12, nil)
	seen := map[wire.Kind]int{}
	c.spy = func(m *lnd.Message) {
		k, ok := kindOf(m)
		if !ok {
			return
		}
		seen[k]++
		wait := m.LeaveBy - c.fabric.Now()
		if news := k.HasMembers(); news && (wait <= 0 || wait > 7*time.Second) || !news && m.LeaveBy != 0 {
			t.Errorf("%v may wait for %v", k, wait)
		}
	}
	c.until(10*time.Second, func() bool { return c.all(12) })
	c.do(3, func(a *zone.Agent) { _ = a.Set("k", nil) })
	c.run(2 * time.Second)
	c.fabric.Crash(5)
	c.until(10*time.Second, func() bool { return c.all(11, 5) })
	for _, k := range []wire.Kind{wire.Heartbeat, wire.LinkRequest, wire.Base, wire.Update, wire.DiscoveryRequest, wire.DiscoveryReply, wire.AttributeDigest, wire.AttributeData} {
		if seen[k] == 0 {
			t.Errorf("no %v was sent", k)
		}
	}
}

// waiting keeps the messages to one node, as drivers do while they cannot connect to it.
type waiting struct {
	*cluster
	to   int
	on   bool
	sent []func() // for each other node: sends what waits, or fails what is late
}

// wait keeps the messages to a node, from when on is set until a node sends the first one after it is reset.
func (c *cluster) wait(to int) *waiting {
	w := &waiting{cluster: c, to: to, sent: make([]func(), len(c.agents))}
	c.keep = func(i int, m *lnd.Message, ni lnd.NI, up lnd.Upcalls) bool {
		if m.Target.NID != agentID(to).Endpoints()[0] || i == to {
			return false
		}
		before := w.sent[i]
		if !w.on && before == nil {
			return false
		}
		w.sent[i] = func() {
			if before != nil {
				before()
			}
			if m.Late(c.fabric.Host(sim.NodeID(i)).Clock().Now()) {
				up.Finalize(m, lnd.ErrLate)
			} else {
				ni.Send(m)
			}
		}
		if !w.on {
			w.flush(i)
		}
		return true
	}
	return w
}

func (w *waiting) flush(i int) {
	if send := w.sent[i]; send != nil {
		w.sent[i] = nil
		send()
	}
}

// TestBackAmongDead: two hosts crash. One of them is back after the other one has been removed. It does not take the
// other one for a member, though messages with its last version were waiting for a connection all the time. That these
// are late is no failure of the node that is back (MS-9, MS-33, MS-A12).
func TestBackAmongDead(t *testing.T) {
	spec.Covers(t, "MS-9", "MS-33", "MS-A12")
	c := newCluster(t, 12, nil)
	w := c.wait(5)
	c.until(10*time.Second, func() bool { return c.all(12) })
	c.run(2 * time.Second)
	c.fabric.Crash(5)
	w.on = true
	c.fabric.Crash(6)
	c.fabric.Start(6, false) // the neighbours of node 5 send its new version to it
	c.run(600 * time.Millisecond)
	c.fabric.Crash(6)
	c.until(time.Minute, func() bool { return c.all(10, 5, 6) })
	c.run(5 * time.Second)
	begin, before := c.fabric.Now(), len(c.events[5])
	c.fabric.Start(5, false)
	w.on = false
	c.run(20 * time.Second)
	for _, e := range c.events[5][before:] {
		if e.ID == agentID(6) {
			t.Errorf("told of a dead node: %v %v", e.Kind, e.Cause)
		}
	}
	for i := range c.agents {
		for k, e := range c.events[i] {
			if c.at[i][k] > begin && e.Kind == zone.Suspected {
				t.Errorf("node %d suspects %v", i, e.ID)
			}
		}
	}
	if !c.all(11, 6) {
		t.Error("the node is not back")
	}
}
