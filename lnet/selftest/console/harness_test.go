package console_test

import (
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lo"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/portals"
)

// lab is a network in virtual time. All hosts are test nodes; some are consoles, too.
type lab struct {
	t        *testing.T
	fabric   *simlnd.Fabric
	hosts    []*simlnd.Host
	tables   []*portals.Table
	agents   []*selftest.Agent
	consoles []*console.Console // by host: its console; nil: the host has none
}

func newLab(t *testing.T, hosts, consoles int, cfg selftest.Config) *lab {
	t.Helper()
	l := &lab{t: t, hosts: make([]*simlnd.Host, hosts), tables: make([]*portals.Table, hosts), agents: make([]*selftest.Agent, hosts), consoles: make([]*console.Console, hosts)}
	quality := link.Quality{}
	quality.Latency.Base = 100 * time.Microsecond
	var err error
	l.fabric, err = simlnd.New(simlnd.Config{Nodes: hosts, Seed: 1, Topology: &sim.Flat{Link: quality}, Boot: func(h, _ *simlnd.Host) {
		l.boot(h, cfg, int(h.ID()) < consoles)
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.run(10 * time.Millisecond)
	return l
}

func (l *lab) boot(h *simlnd.Host, cfg selftest.Config, isConsole bool) {
	id := int(h.ID())
	node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
	table := portals.New(node)
	l.hosts[id], l.tables[id] = h, table
	for _, d := range []lnd.Driver{h.Driver(), lo.Driver{}} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			l.t.Error(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		l.t.Error(err)
	}
	var err error
	if l.agents[id], err = selftest.New(table, cfg); err != nil {
		l.t.Error(err)
	}
	if !isConsole {
		return
	}
	if l.consoles[id], err = console.New(table, l.agents[id], console.Config{}); err != nil {
		l.t.Error(err)
	}
}

func (l *lab) run(d time.Duration) {
	l.t.Helper()
	if err := l.fabric.Run(l.fabric.Now() + d); err != nil {
		l.t.Fatal(err)
	}
}

// do runs a command of the console of a host until it ends.
func (l *lab) do(host int, command engine.Command) (r engine.Result, err error) {
	l.t.Helper()
	over, begin := false, l.fabric.Now()
	l.hosts[host].Do(func() {
		l.consoles[host].Begin(command, func(result engine.Result, e error) { over, r, err = true, result, e })
	})
	for deadline := begin + 2*time.Minute; !over; l.run(time.Millisecond) {
		if l.fabric.Now() > deadline {
			l.t.Fatalf("%T does not end", command)
		}
	}
	return r, err
}

// must runs a command that succeeds at all nodes, and returns their answers.
func (l *lab) must(host int, command engine.Command) []console.Answer {
	l.t.Helper()
	r, err := l.do(host, command)
	if err != nil {
		l.t.Fatalf("%T: %v", command, err)
	}
	for i := range r.Answers {
		if !r.Answers[i].OK() {
			l.t.Fatalf("%T: %+v", command, r.Answers[i])
		}
	}
	return r.Answers
}

func process(id int) nid.ProcessID {
	return nid.ProcessID{NID: simlnd.NID(sim.NodeID(id)), PID: nid.LustrePID}
}

func processes(ids ...int) []nid.ProcessID {
	list := make([]nid.ProcessID, len(ids))
	for i, id := range ids {
		list[i] = process(id)
	}
	return list
}
