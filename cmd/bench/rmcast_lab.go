package main

import (
	"errors"
	"net/netip"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/netlab"
)

// castMTU is the MTU of all links. It lets a message of 2 KiB fit into one datagram, as on the network
// that the document about reliable multicast measured.
const castMTU = 9000

// castLab is a network of hosts on one switch, in network namespaces. Groups of processes run on
// the hosts.
type castLab struct {
	*measurement
	hosts  []*netlab.Host
	cables []*netlab.Cable
	addrs  []netip.Addr
	port   uint16 // the next port that is free on all hosts
}

// inCastLab runs f in a lab with the given number of hosts; see perform for the result.
func (b *measurement) inCastLab(hosts int, f func(*castLab)) (missing string) {
	return b.perform(func(t netlab.T) {
		l := &castLab{measurement: b, port: 988}
		lab := netlab.New(t)
		room := lab.Switch("switch")
		addr := netip.MustParseAddr("10.79.0.1")
		for range hosts {
			h := lab.Host(addr.String())
			c := lab.Cable(h, netip.PrefixFrom(addr, 24).String(), room, "")
			c.SetMTU(castMTU)
			l.hosts, l.cables, l.addrs = append(l.hosts, h), append(l.cables, c), append(l.addrs, addr)
			addr = addr.Next()
		}
		f(l)
	})
}

// perform runs f, which creates a network lab. If no lab can be created, it returns the reason,
// and otherwise an empty string.
func (b *measurement) perform(f func(netlab.T)) (missing string) {
	err := netlab.Perform(func(t netlab.T) error {
		f(t)
		return nil
	})
	if skipped, ok := errors.AsType[*netlab.SkipError](err); ok {
		return skipped.Why
	}
	b.check(err)
	return ""
}

// castProcesses are the processes of a group. Each process is a member, and the first one is the
// origin.
type castProcesses struct{ worker.Crew }

// group starts a process for each member: on the hosts of the lab, or on this host with loopback
// addresses.
func (l *castLab) group(members int, setup memberSetup) *castProcesses {
	setup.Addrs, setup.Port = l.addrs[:members], l.port
	l.port += 2
	return &castProcesses{l.muster("caster", setup, func(rank int) func(func() error) error {
		if len(l.hosts) == 0 {
			return nil
		}
		return l.hosts[rank].Do
	})}
}

// reports returns what all members have sent and received.
func (c *castProcesses) reports() []casterReport {
	return must(worker.AskAll[casterReport](c.Crew, "report", nil))
}

// contender returns a contender in whose rounds the origin sends messages one at a time.
func (c *castProcesses) contender(name, how string, o casterOrder) *contender {
	return &contender{name: name, run: func(*contender) (latencies, error) {
		return worker.Ask[latencies](c.Crew[0], how, o)
	}}
}

// skip marks lines as skipped if missing contains a reason.
func skip(lines []line, missing string) []line {
	for i := range lines {
		lines[i].skipped = missing
	}
	return lines
}
