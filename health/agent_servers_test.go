package health_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// setServers sets the list of servers of server k. While the agent asks discovery about server i,
// discovery reports a change of that server. So the agent first gets the report of the change, and then
// an answer that was made before the change.
func (c *cluster) setServers(k, i int, alive bool) {
	v := c.views[k]
	v.asked = func(id nid.NID) {
		if id != c.ids[i] {
			return
		}
		v.asked = nil
		v.report(i, alive)
	}
	c.hosts[k].Do(func() { c.agents[k].SetServers(c.ids) })
	c.run(time.Millisecond)
}

// report makes discovery report that server i is alive or has died.
func (v *view) report(i int, alive bool) {
	if v.alive[i] = alive; !alive {
		v.incarnations[i]++
	}
	v.f(v.c.ids[i], alive, v.incarnations[i])
}

// TestSetServersChanged: CH-A11, CH-40: a server dies or comes back while SetServers of another server's agent
// runs. From then on the other server knows of the change: it accepts clients whose master is the server that has
// come back, and refuses clients whose master is the server that has died. These choose another master.
func TestSetServersChanged(t *testing.T) {
	spec.Covers(t, "CH-A11", "CH-40")
	const client = servers
	for _, alive := range []bool{true, false} {
		c := newCluster(t, 1)
		c.bare[client] = true
		c.run(time.Second)
		c.dialAgain(t, client, nil)
		c.run(10 * time.Second)
		master := slices.Index(c.ids, c.conns[client].Status().Master)
		other := (master + 1) % servers
		c.hosts[other].Do(func() { c.views[other].report(master, !alive) })
		c.setServers(other, master, alive)
		c.hosts[client].Do(func() { c.conns[client].Attach(c.ids[other]) })
		c.run(time.Second)
		if st := c.conns[client].Status(); (st.Master == c.ids[master]) != alive {
			t.Errorf("alive %v: %+v", alive, st)
		}
	}
}

// TestViewChangesAlways: CH-40: discovery has another answer each time that it is asked about a server. SetServers returns all the
// same.
func TestViewChangesAlways(t *testing.T) {
	spec.Covers(t, "CH-40")
	const changing = 1
	c := newCluster(t, 0)
	c.run(time.Second)
	v, asked := c.views[0], 0
	v.asked = func(id nid.NID) {
		if id != c.ids[changing] {
			return
		}
		if asked++; asked > 1000 {
			v.asked = nil
			return
		}
		v.alive[changing] = !v.alive[changing]
	}
	c.hosts[0].Do(func() { c.agents[0].SetServers(c.ids) })
	c.run(time.Millisecond)
	if asked == 0 || asked > 1000 {
		t.Errorf("SetServers asks %d times", asked)
	}
}

// TestQuorumChanged: CH-30, CH-34: discovery reports that the quorum is lost, or is there again, while the
// agent looks whether there is one, as it does once per tick. The server goes by the report, not by the
// answer from before it.
func TestQuorumChanged(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-34")
	const server = 0
	for _, alive := range []bool{true, false} {
		c := newCluster(t, 0)
		c.run(time.Second / 2)
		v := c.views[server]
		change := func(alive bool) {
			for i := server + 1; i < servers; i++ {
				v.report(i, alive)
			}
		}
		c.hosts[server].Do(func() { change(!alive) })
		c.run(time.Millisecond)
		v.askedQuorum = func() { change(alive) }
		c.run(time.Second)
		if v.askedQuorum != nil {
			t.Fatal("the agent did not look")
		}
		if have := c.agents[server].Quorum(); have != alive {
			t.Errorf("quorum %v, want %v", have, alive)
		}
	}
}
