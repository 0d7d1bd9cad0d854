package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"

	"ulnet/lnd/lndtest/netlab"
)

// castMTU is that of all cables: a message of 2 KiB is one datagram, as it is on the
// network of the paper.
const castMTU = 9000

// castLab is hosts on one switch, in network namespaces, on which groups of processes
// run.
type castLab struct {
	t      netlab.T
	bench  *bench
	hosts  []*netlab.Host
	cables []*netlab.Cable
	addrs  []netip.Addr
	port   uint16 // the next one that is free on all
}

// inCastLab runs f in a lab of so many hosts.
func inCastLab(b *bench, hosts int, f func(*castLab) error) error {
	return netlab.Perform(func(t netlab.T) error {
		l := &castLab{t: t, bench: b, port: 988}
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
type castProcesses struct{ members []*memberProcess }

// group starts processes on the first hosts.
func (l *castLab) group(members int, setup casterSetup) (c *castProcesses, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c = new(castProcesses)
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	setup.Addrs, setup.Port = l.addrs[:members], l.port
	l.port += 2
	for setup.Rank = range members {
		m, err := startIn(l.host(setup.Rank), l.bench, exec.Command(self, "caster"))
		if err != nil {
			return c, err
		}
		c.members = append(c.members, m)
		if err := json.NewEncoder(m).Encode(setup); err != nil {
			return c, err
		}
	}
	return c, (&collective{c.members}).join()
}

// host is the one of a member; nil: this one, for addresses of the loopback.
func (l *castLab) host(rank int) *netlab.Host {
	if len(l.hosts) == 0 {
		return nil
	}
	return l.hosts[rank]
}

// startIn starts a process on a host, or this one, with pipes to this one.
func startIn(h *netlab.Host, b *bench, cmd *exec.Cmd) (*memberProcess, error) {
	cmd.Stderr = b.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is for us
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := cmd.Start
	if h != nil {
		start = func() error { return h.Do(cmd.Start) }
	}
	if err := start(); err != nil {
		return nil, err
	}
	return &memberProcess{in, json.NewDecoder(out), cmd.Wait, cmd.Process.Pid}, nil
}

func (c *castProcesses) close() { (&collective{c.members}).close() }

// order has a member do something.
func (c *castProcesses) order(member int, o casterOrder) (a casterAnswer, err error) {
	m := c.members[member]
	if err := json.NewEncoder(m).Encode(o); err != nil {
		return a, err
	}
	if err = m.Decode(&a); err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

// all has every member do something.
func (c *castProcesses) all(o casterOrder) (as []casterAnswer, err error) {
	for i := range c.members {
		a, err := c.order(i, o)
		if err != nil {
			return nil, fmt.Errorf("member %d: %w", i, err)
		}
		as = append(as, a)
	}
	return as, nil
}

// contender has the origin send messages one at a time.
func (c *castProcesses) contender(name string, o casterOrder) *collectiveContender {
	return &collectiveContender{name: name, run: func(*collectiveContender) (latencies, error) {
		a, err := c.order(0, o)
		return a.Took, err
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
