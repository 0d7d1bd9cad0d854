package main

import (
	"strconv"

	"ulnet/gossip/zone"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// zoneKey is the attribute that is written.
const zoneKey = "peers"

// zoneMember is a node of a zone.
type zoneMember struct{ agent *zone.Agent }

func (m zoneMember) leave() error           { return m.agent.Leave(0) }
func (m zoneMember) set(value string) error { return m.agent.Set(zoneKey, []byte(value)) }

// zoneID names a node.
func zoneID(i int) (zone.ID, error) {
	return zone.NewID(strconv.Itoa(i), nid.FromAddr(nid.MakeNet(nid.TCP, 0), addressOf(i)))
}

// startZone starts a node of a zone with the defaults of lnetd, that knows the first
// node.
func (o *options) startZone(count *sent) (participant, error) {
	clock := machine.BootClock()
	table, err := o.startNodeOfLNet(clock, count)
	if err != nil {
		return nil, err
	}
	self, err := zoneID(o.index)
	if err != nil {
		return nil, err
	}
	first, err := zoneID(0)
	if err != nil {
		return nil, err
	}
	agent, err := zone.New(table, zone.Config{
		Clock: clock, Zone: "peers", Self: self, Bootstrap: []zone.ID{first}, Seed: uint64(o.index),
	})
	if err != nil {
		return nil, err
	}
	agent.Watch(zoneEvent)
	return zoneMember{agent}, agent.Join(0)
}

// zoneEvent tells the parent what an agent tells its users.
func zoneEvent(e zone.Event) {
	i, err := strconv.Atoi(e.ID.Name())
	if err != nil {
		return // this node itself, or of another zone
	}
	switch e.Kind {
	case zone.Joined, zone.Left:
		tell(i, e.Kind == zone.Joined)
	case zone.AttributesChanged:
		for _, a := range e.Attributes {
			if a.Key == zoneKey {
				say("attr", i, string(a.Value))
			}
		}
	}
}
