package main

import (
	"net/netip"
	"strings"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// startNodeOfLNet starts what is below agents, as lnetd would.
func (o *options) startNodeOfLNet(clock machine.Clock, count *sent) (*portals.Table, error) {
	n, err := node.Start(node.Config{
		Networks: "tcp(" + addressOf(o.index).String() + ")", AcceptPort: o.port, Clock: clock,
		Wrap: func(d lnd.Driver) lnd.Driver { return countingDriver{d, count} },
	})
	if err != nil {
		return nil, err
	}
	return n.Table(), nil
}

// startGossip starts a node of gossip.
func (o *options) startGossip(count *sent) error {
	var ids []nid.NID
	for i := range o.nodes {
		id, err := nid.Parse(addressOf(i).String() + "@tcp")
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	clock := machine.BootClock()
	table, err := o.startNodeOfLNet(clock, count)
	if err != nil {
		return err
	}
	agent, err := gossip.New(table, gossip.Config{
		Participants: ids, Interval: o.interval, ColdStart: true, Seed: uint64(time.Now().UnixNano()), Clock: clock,
	})
	if err != nil {
		return err
	}
	agent.Watch(func(id nid.NID, alive bool, _ uint64) {
		host, _, _ := strings.Cut(id.String(), "@")
		if a, err := netip.ParseAddr(host); err == nil {
			tell(indexOf(a), alive)
		}
	})
	return nil
}

// countingDriver counts the payload of what its NIs send.
type countingDriver struct {
	lnd.Driver
	count *sent
}

func (d countingDriver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni, err := d.Driver.Startup(cfg, up)
	return countingNI{ni, d.count}, err
}

type countingNI struct {
	lnd.NI
	count *sent
}

func (n countingNI) Send(m *lnd.Message) {
	n.count.add(int(m.Header.PayloadLength))
	n.NI.Send(m)
}
