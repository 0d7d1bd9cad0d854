package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/netlab"
)

// Of the zone in namespaces, in which the first node is the monitor, and the last
// ones die.
const (
	labPort     = 988
	labPatience = 30 * time.Second
)

// zoneLab is a zone of processes, each in a network namespace of its own.
type zoneLab struct {
	houses []house
	news   chan labNews
	knows  []map[string]bool // of each node: whom it has in its view
	told   []bool            // who the monitor is
	over   chan struct{}
}

// house is a host with its process.
type house struct {
	name    string
	host    *netlab.Host
	cable   *netlab.Cable
	process *worker.Process
}

// labNews is what the process of a node said.
type labNews struct {
	by int
	inhabitantNews
	gone bool // it says no more
}

// measureMonitorsInLab is the part of G-MS-3 that is on real sockets.
func measureMonitorsInLab(ctx context.Context, b *bench) (lines []line, err error) {
	nodes, heartbeat := pick(b, 6, 16, 24), pick(b, 300*time.Millisecond, time.Second, time.Second)
	kills, pulls := pick(b, 1, 8, 16), pick(b, 1, 2, 3)
	var reset, silent []float64
	err = netlab.Perform(func(t netlab.T) error {
		l, err := newZoneLab(ctx, t, b, nodes, heartbeat)
		if err != nil {
			return err
		}
		reset, silent, err = l.deaths(ctx, kills, pulls)
		return err
	})
	lines = []line{
		{what: "a process in a namespace is killed: until a monitor knows, median", unit: "ms", limit: 30},
		{what: "a host in a namespace is cut off: until a monitor knows, median", unit: "ms", free: true},
	}
	if missing, skipped := errors.AsType[*netlab.SkipError](err); skipped {
		lines[0].skipped, lines[1].skipped = missing.Why, missing.Why
		return lines, nil
	}
	if err != nil {
		return nil, err
	}
	basis := fmt.Sprintf("%d processes, each in a namespace, over TCP", nodes)
	// Real processes on a busy machine wait for a core now and then: all values stand there.
	lines[0].ratio, lines[0].basis = median(reset), fmt.Sprintf("SIGKILL, %.1f ms; %s", reset, basis)
	lines[1].ratio, lines[1].basis = median(silent), fmt.Sprintf("cable pulled, %.0f ms; neighbours may be silent for 3.5 heartbeats of %v; %s", silent, heartbeat, basis)
	return lines, nil
}

// newZoneLab starts the processes.
func newZoneLab(ctx context.Context, t netlab.T, b *bench, nodes int, heartbeat time.Duration) (*zoneLab, error) {
	l := &zoneLab{news: make(chan labNews), over: make(chan struct{}), told: make([]bool, nodes)}
	lab := netlab.New(t)
	room := lab.Switch("switch")
	first := netip.MustParseAddr("10.78.0.1")
	var all worker.Crew
	t.Cleanup(func() { close(l.over); all.Stop() })
	for i, addr := 0, first; i < nodes; i, addr = i+1, addr.Next() {
		h := house{name: addr.String(), host: lab.Host(addr.String())}
		h.cable = lab.Cable(h.host, netip.PrefixFrom(addr, 24).String(), room, "")
		l.knows = append(l.knows, make(map[string]bool))
		var err error
		h.process, err = b.start(ctx, worker.Config{
			Kind: "inhabitant", Within: h.host.Do, Params: inhabitantSetup{Addr: addr, First: first, Port: labPort, Heartbeat: heartbeat, Monitor: i == 0},
			Event: worker.On(func(n inhabitantNews) { l.tell(labNews{i, n, false}) }),
			Gone:  func() { l.tell(labNews{by: i, gone: true}) },
		})
		if err != nil {
			return nil, err
		}
		l.houses, all = append(l.houses, h), append(all, h.process)
	}
	return l, nil
}

// tell takes what a node says.
func (l *zoneLab) tell(n labNews) {
	select {
	case l.news <- n:
	case <-l.over:
	}
}

// until takes news until something is so, and returns the last.
func (l *zoneLab) until(ctx context.Context, what string, so func() bool) (n labNews, err error) {
	ctx, cancel := context.WithTimeout(ctx, labPatience)
	defer cancel()
	for !so() {
		select {
		case n = <-l.news:
		case <-ctx.Done():
			return n, fmt.Errorf("zone in namespaces: waiting until %s: %w", what, ctx.Err())
		}
		if n.gone {
			if n.by < len(l.houses) {
				return n, fmt.Errorf("the process of %s has ended", l.houses[n.by].name)
			}
			continue // it was killed
		}
		switch n.Kind {
		case zone.Joined:
			l.knows[n.by][n.Name] = true
		case zone.Left:
			delete(l.knows[n.by], n.Name)
		case zone.AttributesChanged:
			l.told[n.by] = l.told[n.by] || slices.Contains(n.Keys, zone.MonitorKey)
		}
	}
	return n, nil
}

// settled reports whether all that live have each other in their views and know the
// monitor.
func (l *zoneLab) settled() bool {
	for i := range l.houses {
		if len(l.knows[i]) != len(l.houses)-1 || i > 0 && !l.told[i] {
			return false
		}
	}
	return true
}

// deaths ends one process after the other, and then cuts hosts off; it returns how
// long it took until the monitor knew of each, in ms.
func (l *zoneLab) deaths(ctx context.Context, kills, pulls int) (reset, silent []float64, err error) {
	for i := range kills + pulls {
		if _, err := l.until(ctx, "all know all and the monitor", l.settled); err != nil {
			return nil, nil, err
		}
		// Links are made again at their pace, and connections closed that they do not use.
		if err := wait(ctx, 2*time.Second); err != nil {
			return nil, nil, err
		}
		last := len(l.houses) - 1
		victim := l.houses[last]
		l.houses = l.houses[:last]
		began := time.Now()
		if i < kills {
			err = victim.process.Signal(syscall.SIGKILL)
		} else {
			victim.cable.Pull(victim.host)
		}
		if err != nil {
			return nil, nil, err
		}
		n, err := l.until(ctx, "the monitor knows that "+victim.name+" is dead", func() bool { return !l.knows[0][victim.name] })
		if err != nil {
			return nil, nil, err
		}
		took := ms(time.Unix(0, n.At).Sub(began))
		if i < kills {
			reset = append(reset, took)
		} else {
			silent = append(silent, took)
		}
	}
	return reset, silent, nil
}
