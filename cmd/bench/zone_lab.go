package main

import (
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/netlab"
)

// labPort is the port that all nodes of the lab use.
const labPort = 988

// zoneLab is a zone of processes, each in a network namespace of its own. The first node is the
// monitor, and the last ones die.
type zoneLab struct {
	*cluster
	hosts  []*netlab.Host
	cables []*netlab.Cable
}

// measureMonitorsInLab measures the part of goal G-MS-3 on real sockets: how soon a monitor learns of a death.
func measureMonitorsInLab(b *measurement) {
	nodes, heartbeat := pick(b, 6, 16, 24), pick(b, 300*time.Millisecond, time.Second, time.Second)
	kills, pulls := pick(b, 1, 8, 16), pick(b, 1, 2, 3)
	var reset, silent []float64
	missing := b.perform(func(t netlab.T) {
		l := newZoneLab(t, b, nodes, heartbeat)
		defer l.end()
		reset, silent = l.deaths(kills, pulls)
	})
	lines := []line{
		{what: "a process in a namespace is killed: until a monitor knows, median", unit: "ms", limit: 30},
		{what: "a host in a namespace is cut off: until a monitor knows, median", unit: "ms", free: true},
	}
	if missing == "" {
		basis := fmt.Sprintf("%d processes, each in a namespace, over TCP", nodes)
		// On a busy machine a process may have to wait for a core: therefore the line lists all
		// values.
		lines[0].ratio, lines[0].basis = median(reset), fmt.Sprintf("SIGKILL, %.1f ms; %s", reset, basis)
		lines[1].ratio, lines[1].basis = median(silent), fmt.Sprintf("cable pulled, %.0f ms; neighbours may be silent for 3.5 heartbeats of %v; %s", silent, heartbeat, basis)
	}
	b.add(skip(lines, missing)...)
}

// newZoneLab starts the processes.
func newZoneLab(t netlab.T, b *measurement, nodes int, heartbeat time.Duration) *zoneLab {
	l := new(zoneLab)
	lab := netlab.New(t)
	room := lab.Switch("switch")
	node := rival.Node{Base: netip.MustParseAddr("10.78.0.1"), Nodes: nodes, Port: labPort, Heartbeat: heartbeat, Monitor: true}
	for i := range nodes {
		h := lab.Host(node.Addr(i).String())
		l.hosts = append(l.hosts, h)
		l.cables = append(l.cables, lab.Cable(h, netip.PrefixFrom(node.Addr(i), 24).String(), room, ""))
	}
	l.cluster = b.newCluster(system{name: "zone"}, node, func(i int) func(func() error) error { return l.hosts[i].Do })
	must(worker.ReadyAll[time.Time](l.living()))
	return l
}

// settled reports whether all live nodes have each other in their views and know the monitor.
func (l *zoneLab) settled() bool {
	told := map[int]bool{0: true}
	for _, e := range l.since(time.Time{}) {
		if e.Kind == rival.Attribute && e.Node == 0 && !l.nodes[e.by].gone {
			told[e.by] = true
		}
	}
	return l.joined() && len(told) == len(l.living())
}

// deaths kills processes one after another, and then disconnects hosts one after another. It
// returns the times until the monitor knew of each death, in ms.
func (l *zoneLab) deaths(kills, pulls int) (reset, silent []float64) {
	for i := range kills + pulls {
		if err := await(l.ctx, joinLimit, l.settled); err != nil {
			l.check(fmt.Errorf("not all know all and the monitor: %w", err))
		}
		// In this time, nodes replace links and close unused connections.
		l.check(wait(l.ctx, 2*time.Second))
		victim := len(l.nodes) - 1 - i
		l.nodes[victim].gone = true
		began := time.Now()
		if i < kills {
			l.signal(syscall.SIGKILL, victim)
		} else {
			l.cables[victim].Pull(l.hosts[victim])
		}
		s := l.told(rival.Down, victim, began, 0)
		if i < kills {
			reset = append(reset, ms(s.last))
		} else {
			silent = append(silent, ms(s.last))
		}
	}
	return reset, silent
}
