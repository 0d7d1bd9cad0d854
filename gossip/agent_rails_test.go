package gossip_test

import (
	"context"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// rails says, for each of the two NIs of a host, on which net and rail it is. The NIs start in this
// order.
var rails = [2]lnetsim.Interface{{Net: simlnd.Net, Rail: 0}, {Net: nid.MakeNet(nid.TCP, 1), Rail: 1}}

// railed is a simulated network of hosts with two NIs each, with discovery and an agent on each host.
type railed struct {
	t      *testing.T
	fabric *simlnd.Fabric
	hosts  []*simlnd.Host
	stacks []*lnetsim.Stack
	agents []*gossip.Agent
}

// newRailed starts n hosts with an agent each. In the list of participants, each host stands with its
// NID on rails[listed].
func newRailed(t *testing.T, n, listed int, keys keyring.Keys) *railed {
	t.Helper()
	r := &railed{t: t, hosts: make([]*simlnd.Host, n), stacks: make([]*lnetsim.Stack, n), agents: make([]*gossip.Agent, n)}
	var ids []nid.NID
	for i := range n {
		ids = append(ids, simlnd.NIDOn(rails[listed].Net, sim.NodeID(i), rails[listed].Rail))
	}
	boot := func(h, _ *simlnd.Host) {
		k, err := lnetsim.NewStack(h, lnetsim.StackConfig{Discovery: true, Interfaces: rails[:]})
		if err != nil {
			t.Error(err)
			return
		}
		r.hosts[h.ID()], r.stacks[h.ID()] = h, k
		r.agents[h.ID()], err = gossip.New(k.Table, gossip.Config{
			Participants: ids, Interval: 200 * time.Millisecond, Seed: h.Incarnation().Seed, ColdStart: true, Keys: keys,
		})
		if err != nil {
			t.Error(err)
		}
	}
	var err error
	topology := &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}
	if r.fabric, err = simlnd.New(simlnd.Config{Nodes: n, Seed: 1, Topology: topology, Boot: boot}); err != nil {
		t.Fatal(err)
	}
	return r
}

// run lets time pass. It then checks that all agents take all participants for alive, and that no
// message came from a stranger or without a valid code.
func (r *railed) run(d time.Duration) {
	r.t.Helper()
	if err := r.fabric.Run(r.fabric.Now() + d); err != nil {
		r.t.Fatal(err)
	}
	for i, a := range r.agents {
		s := a.Status()
		if alive, known := a.Counts(); alive != len(r.agents) || known != len(r.agents) || s.Stats.Strangers > 0 || s.Stats.NotSigned > 0 {
			r.t.Errorf("node %d after %v: %d of %d alive; %d messages of strangers, %d not signed", i, r.fabric.Now(), alive, known, s.Stats.Strangers, s.Stats.NotSigned)
		}
	}
}

// primary returns the primary NID of host i as another host knows it.
func (r *railed) primary(i int) nid.NID {
	return r.stacks[(i+1)%len(r.stacks)].Node.Primary(simlnd.NIDOn(rails[0].Net, sim.NodeID(i), rails[0].Rail))
}

// TestAgentListedNID: participants with two NIs take part under the NID that is listed, whether it
// is the primary NID of the node or not, and whether keys sign the messages or not.
func TestAgentListedNID(t *testing.T) {
	spec.Covers(t, "GO-55")
	key, err := keyring.NewKeys(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]keyring.Keys{"unsigned": {}, "signed": key} {
		for listed := range rails {
			t.Run(name+" "+rails[listed].Net.String(), func(t *testing.T) {
				r := newRailed(t, 4, listed, keys)
				r.run(20 * time.Second)
				if want := simlnd.NIDOn(rails[0].Net, 0, rails[0].Rail); r.primary(0) != want {
					t.Errorf("the primary NID is %v, want %v", r.primary(0), want)
				}
			})
		}
	}
}

// TestAgentPrimaryChanges: a participant whose NI with the listed NID stops and starts again is alive at
// all others afterwards, although the node has another primary NID then.
func TestAgentPrimaryChanges(t *testing.T) {
	spec.Covers(t, "GO-55")
	r := newRailed(t, 4, 0, keyring.Keys{})
	r.run(10 * time.Second)
	r.hosts[0].Do(func() {
		node := r.stacks[0].Node
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = node.RemoveNI(gone, node.NIs()[1]) // messages that were not sent yet are lost
		if _, err := node.AddNI(r.hosts[0].Driver(), lnd.Config{Net: rails[0].Net, Interface: "eth0"}); err != nil {
			t.Error(err)
		}
	})
	r.run(20 * time.Second)
	if want := simlnd.NIDOn(rails[1].Net, 0, rails[1].Rail); r.primary(0) != want {
		t.Errorf("the primary NID is %v, want %v", r.primary(0), want)
	}
}
