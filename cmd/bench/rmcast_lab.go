package main

import (
	"context"
	"errors"
	"net/netip"

	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/netlab"
)

// castMTU is that of all cables: a message of 2 KiB is one datagram, as it is on the
// network of the paper.
const castMTU = 9000

// castLab is hosts on one switch, in network namespaces, on which groups of processes
// run.
type castLab struct {
	ctx    context.Context // of all processes
	bench  *bench
	hosts  []*netlab.Host
	cables []*netlab.Cable
	addrs  []netip.Addr
	port   uint16 // the next one that is free on all
}

// inCastLab runs f in a lab of so many hosts.
func inCastLab(ctx context.Context, b *bench, hosts int, f func(*castLab) error) error {
	return netlab.Perform(func(t netlab.T) error {
		l := &castLab{ctx: ctx, bench: b, port: 988}
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
		return f(l)
	})
}

// castProcesses is a group of processes, a member each, of which the first is the
// origin.
type castProcesses struct{ worker.Crew }

// group starts processes on the first hosts, or on this one, for addresses of the loopback.
func (l *castLab) group(members int, setup memberSetup) (c *castProcesses, err error) {
	setup.Addrs, setup.Port = l.addrs[:members], l.port
	l.port += 2
	c = new(castProcesses)
	c.Crew, err = l.bench.muster(l.ctx, "caster", setup, func(rank int) func(func() error) error {
		if len(l.hosts) == 0 {
			return nil
		}
		return l.hosts[rank].Do
	})
	return c, err
}

// reports are what the processes of all members have used and received.
func (c *castProcesses) reports() ([]casterReport, error) {
	return worker.AskAll[casterReport](c.Crew, "report", nil)
}

// contender has the origin send messages one at a time.
func (c *castProcesses) contender(name, how string, o casterOrder) *contender {
	return &contender{name: name, run: func(*contender) (latencies, error) {
		return worker.Ask[latencies](c.Crew[0], how, o)
	}}
}

// skip makes lines of what could not be measured because there is no lab, and no
// error of that.
func skip(lines []line, err error) ([]line, error) {
	missing, skipped := errors.AsType[*netlab.SkipError](err)
	if !skipped {
		return lines, err
	}
	for i := range lines {
		lines[i].skipped = missing.Why
	}
	return lines, nil
}
