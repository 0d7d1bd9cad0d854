package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// client is a client's process.
type client struct {
	base
	name   wire.ClientID
	m      *Client
	out    ClientOutput
	wants  []nid.NID
	events []ClientEvent
	at     []time.Duration // times at which the client reported events
	busy   nid.NID         // the client's node exchanges other messages with this server all the time
}

func (c *client) start() {
	c.up, c.stopped, c.inbox = true, false, nil
	c.incarnation++
	m, err := NewClient(ClientConfig{ID: c.name, Incarnation: c.incarnation << 20, Servers: c.ids(), Seed: c.w.rng.Uint64()})
	if err != nil {
		c.w.t.Fatal(err)
	}
	c.m = m
	c.step(ClientInput{Kind: ClientStart})
}

func (c *client) ids() []nid.NID { return c.w.servers[0].ids }

func (c *client) kill() {
	c.w.log("client %x dies", c.name[:4])
	c.up = false
}

func (c *client) deliver(from nid.ProcessID, data []byte) {
	c.step(ClientInput{Kind: ClientArrived, From: from, Data: data})
}

func (c *client) step(in ClientInput) {
	c.out.Reset()
	wake := c.m.Step(c.w.now, in, &c.out)
	effects, buf := slices.Clone(c.out.Effects), slices.Clone(c.out.Buf)
	c.wake(wake, func() { c.step(ClientInput{}) })
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case SendTo:
			c.w.send(c.id, e.To.NID, buf[e.Begin:e.End])
		case LookAt:
			in := ClientInput{Kind: Traffic, Server: e.To.NID}
			if c.busy == e.To.NID {
				in.Sent, in.Heard = c.w.now, c.w.now
			}
			c.step(in)
		case Tell:
			c.told(e.Event)
		}
	}
}

func (c *client) told(e ClientEvent) {
	c.w.log("client %x/%d: %v %v %v/%d", c.name[:4], e.Incarnation, e.Kind, e.Code, e.Server, e.Epoch)
	c.events, c.at = append(c.events, e), append(c.at, c.w.now)
	if e.Kind == MasterChosen {
		for _, id := range c.wants {
			if id != e.Server {
				c.step(ClientInput{Kind: Attach, Server: id})
			}
		}
	}
}

// count returns how many events of a kind the client has reported.
func (c *client) count(k ClientEventKind) (n int) {
	for _, e := range c.events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// doubt makes every client ask each server to which it is connected whether it still is, as a program
// does after a failed request.
func (w *world) doubt() {
	for _, c := range w.clients {
		for _, id := range c.m.Status().Attached {
			c.run(c.incarnation, func() { c.step(ClientInput{Kind: Doubt, Server: id}) })
		}
	}
}

// server returns the server with a NID.
func (w *world) server(id nid.NID) *server {
	s, _ := w.nodes[id].(*server)
	return s
}

// holders returns the servers that have a connection of the client's present incarnation.
func (w *world) holders(c *client) (list []*server) {
	for _, s := range w.servers {
		if s.up {
			if _, ok := s.m.Client(c.name); ok {
				list = append(list, s)
			}
		}
	}
	return list
}
