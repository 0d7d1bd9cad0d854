package rmcast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lo"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/rmcast"
)

const group rmcast.GroupID = 9

// stack is an agent on a simulated host.
type stack struct {
	t     *testing.T
	id    int
	host  *simlnd.Host
	table *portals.Table
	agent *rmcast.Agent
	group *rmcast.Group
	got   []string
	gone  []error
	done  []outcome
}

// outcome is how the sending of a message ended.
type outcome struct {
	result rmcast.Result
	err    error
	at     time.Duration
}

// stacks are agents on simulated hosts.
type stacks struct {
	t      *testing.T
	fabric *simlnd.Fabric
	nodes  []*stack
	pids   map[int]nid.PID
	change func(id int, agent *rmcast.Config, cfg *rmcast.GroupConfig)
	views  []*gossip.Agent // of newGossips: gossip of each node
	silent bool            // of newGossips: gossip of nodes that start is silent at first
}

func newStacks(t *testing.T, n int, quality link.Quality, change func(int, *rmcast.Config, *rmcast.GroupConfig)) *stacks {
	t.Helper()
	return newStacksAs(t, n, quality, nil, change)
}

// newStacksAs makes stacks, some of which have PIDs of their own.
func newStacksAs(t *testing.T, n int, quality link.Quality, pids map[int]nid.PID, change func(int, *rmcast.Config, *rmcast.GroupConfig)) *stacks {
	t.Helper()
	s := &stacks{t: t, nodes: make([]*stack, n), pids: pids, change: change}
	s.start(quality)
	return s
}

// start starts the hosts.
func (s *stacks) start(quality link.Quality) {
	s.t.Helper()
	if quality.Latency.Base == 0 {
		quality.Latency.Base = 100 * time.Microsecond
	}
	var err error
	s.fabric, err = simlnd.New(simlnd.Config{Nodes: len(s.nodes), Seed: 1, Boot: s.boot, Topology: &sim.Flat{Link: quality}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.run(time.Millisecond)
}

func (s *stacks) boot(h, _ *simlnd.Host) {
	node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock(), PID: s.pids[int(h.ID())]})
	k := &stack{t: s.t, host: h, table: portals.New(node), id: int(h.ID())}
	s.nodes[k.id] = k
	for _, d := range []lnd.Driver{h.Driver(), lo.Driver{}} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			s.t.Error(err)
			return
		}
	}
	if _, err := discovery.NewTarget(k.table); err != nil {
		s.t.Error(err)
		return
	}
	var agent rmcast.Config
	cfg := rmcast.GroupConfig{Group: group, Managers: []nid.NID{simlnd.NID(0)}}
	cfg.Handle = func(m *rmcast.Message) { k.got = append(k.got, string(m.Data)) }
	cfg.OnChange = func(_ rmcast.Version, err error) {
		if err != nil {
			k.gone = append(k.gone, err)
		}
	}
	if s.change != nil {
		s.change(k.id, &agent, &cfg)
	}
	var err error
	if k.agent, err = rmcast.New(k.table, agent); err != nil {
		s.t.Error(err)
		return
	}
	if slices.Contains(cfg.Managers, simlnd.NID(h.ID())) {
		if err := k.agent.Manage(rmcast.ManagerConfig{Group: group, Managers: cfg.Managers, Admit: cfg.Admit, Window: 16}); err != nil {
			s.t.Error(err)
		}
	}
	if k.group, err = k.agent.Join(cfg); err != nil {
		s.t.Error(err)
	}
}

func (s *stacks) run(d time.Duration) {
	s.t.Helper()
	if err := s.fabric.Run(s.fabric.Now() + d); err != nil {
		s.t.Fatal(err)
	}
}

// form runs the network until the group has n members.
func (s *stacks) form(n int) {
	s.t.Helper()
	for range 100 {
		s.run(100 * time.Millisecond)
		if !slices.ContainsFunc(s.nodes, func(k *stack) bool {
			st := k.group.Status()
			return st.State == "member" && (len(st.Members) != n || st.Sending != st.Version)
		}) {
			return
		}
	}
	for _, k := range s.nodes {
		s.t.Logf("%d: %+v", k.id, k.group.Status())
	}
	s.t.Fatal("no group")
}

// post makes a node send a message.
func (k *stack) post(text string) {
	k.host.Do(func() {
		k.group.Post([]byte(text), func(r rmcast.Result, err error) {
			k.done = append(k.done, outcome{r, err, k.host.Clock().Now()})
		})
	})
}

// want checks that nodes have received a text exactly once.
func (s *stacks) want(text string, ids ...int) {
	s.t.Helper()
	for _, id := range ids {
		n := 0
		for _, got := range s.nodes[id].got {
			if got == text {
				n++
			}
		}
		if n != 1 {
			s.t.Errorf("node %d got %.20q %d times", id, text, n)
		}
	}
}

func (s *stacks) ids() (all []int) {
	for i := range s.nodes {
		all = append(all, i)
	}
	return all
}

func name(i, j int) string { return fmt.Sprint("message ", i, " of ", j) }

// warm makes every node send once, so that connections exist. It returns the number of payloads
// that were resent because connecting took so long.
func (s *stacks) warm() uint64 {
	for _, k := range s.nodes {
		k.post(fmt.Sprint("warm ", k.id))
		s.run(time.Second)
	}
	for _, k := range s.nodes {
		k.done = nil
	}
	return s.repairs()
}

// repairs is the number of payloads that nodes have resent.
func (s *stacks) repairs() (n uint64) {
	for _, k := range s.nodes {
		n += k.group.Stats().Repairs
	}
	return n
}
