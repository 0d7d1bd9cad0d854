package main

import (
	"fmt"
	"net/netip"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnet/nid"
)

// railRate is the bandwidth of a rail in bits per second.
const railRate = 1_000_000_000

// twoHosts consists of two hosts with two rails between them.
type twoHosts struct {
	*pathLab
	hosts  [2]*netlab.Host
	cables [2]*netlab.Cable
	addrs  [2][2]netip.Addr // addresses, indexed by host and rail
}

func (l *pathLab) twoHosts() *twoHosts {
	t := &twoHosts{pathLab: l}
	t.hosts = [2]*netlab.Host{l.host("a"), l.host("b")}
	for rail := range t.cables {
		c, a, b := l.join(t.hosts[0], t.hosts[1], byte(rail))
		for _, h := range t.hosts {
			c.SetRate(h, railRate)
		}
		t.cables[rail], t.addrs[0][rail], t.addrs[1][rail] = c, a, b
	}
	return t
}

// pair starts a node on each host. Each node has an NI on the first rail, or on the first two,
// and all NIs belong to the same net.
func (t *twoHosts) pair(rails int, timeout time.Duration) (a *worker.Process, target nid.NID) {
	var ends [2]*worker.Process
	for i, h := range t.hosts {
		networks := fmt.Sprintf("tcp(%v)", t.addrs[i][0])
		if rails > 1 {
			networks = fmt.Sprintf("tcp(%v,%v)", t.addrs[i][0], t.addrs[i][1])
		}
		ends[i] = t.serve("rail", railSetup{Networks: networks, Port: t.port, Timeout: timeout}, h.Do)
	}
	t.port++
	return ends[0], nid.FromAddr(tcp, t.addrs[1][0])
}

// measureTwoRails measures goal G-PA-1: the throughput of two rails compared with that of one.
func measureTwoRails(b *measurement) {
	lines := []line{{what: "1 MiB PUT streaming, two rails of 1 Gbit/s beside one", limit: 1.9, least: true}}
	missing := b.inPathLab(func(l *pathLab) {
		t, rails := l.twoHosts(), [2]*contender{}
		for i, name := range []string{"one rail", "two rails"} {
			from, target := t.pair(i+1, 0)
			rails[i] = ordered(name, "stream", from, target, b.some(256))
		}
		one, two := rails[0], rails[1]
		b.alternate(max(3, b.rounds/3), one, two)
		lines[0] = two.speed(one, lines[0].what, 1.9, 1e9, "%.0f MiB/s")
	})
	b.add(skip(lines, missing)...)
}

// Parameters of the run of goal G-PA-2.
const (
	pullAt      = 3 * time.Second
	pullLoad    = 10 * time.Second
	pullKnown   = 200 * time.Millisecond // time within which the node learns that the carrier is lost
	pullTimeout = 20 * time.Second       // transaction timeout
)

// measurePulledRail measures goal G-PA-2: one of two rails is pulled under load.
func measurePulledRail(b *measurement) {
	lines := []line{
		{what: "a rail pulled: operations begun 0.2 s later that failed", unit: "operations"},
		{what: "a rail pulled: operations without exactly one last event", unit: "operations"},
		{what: "a rail pulled: the longest operation", unit: "s", limit: (pullTimeout * 3 / 2).Seconds()},
	}
	missing := b.inPathLab(func(l *pathLab) {
		t := l.twoHosts()
		from, target := t.pair(2, pullTimeout)
		pulled := make(chan time.Time, 1)
		time.AfterFunc(pullAt, func() {
			t.cables[1].Pull(t.hosts[0])
			pulled <- time.Now()
		})
		r := must(worker.Ask[loadReport](from, "load", railOrder{Target: target, For: pullLoad}))
		known, late := (<-pulled).Add(pullKnown), 0
		for _, f := range r.Failed {
			if f.Began.After(known) {
				late++
			}
		}
		basis := fmt.Sprintf("%d begun, %d answered, %d failed of those under way", r.Begun, r.Answered, len(r.Failed)-late)
		lines[0].ratio, lines[1].ratio, lines[2].ratio = float64(late), float64(r.Twice+r.Open), r.Longest.Seconds()
		for i := range lines {
			lines[i].basis = basis
		}
	})
	b.add(skip(lines, missing)...)
}
