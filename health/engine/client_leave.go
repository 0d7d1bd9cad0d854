package engine

import (
	"slices"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// farewell is a Disconnect message that a server has not acknowledged yet.
type farewell struct {
	to          nid.NID
	incarnation uint64
	code        wire.Code // NotConnected: the client leaves only this server; OK: all servers
	sequence    uint64
	at          time.Duration // active time at which the message is repeated
	wait        time.Duration // back-off: time between the latest two messages
	until       time.Duration // active time at which the client stops repeating the message
}

// leave disconnects from all servers. It repeats the message to each server, with exponential
// back-off, until the server answers that it does not know this incarnation, or T_evict has
// passed.
func (c *Client) leave() {
	for i := range c.peers {
		if p := &c.peers[i]; p.state != detached {
			c.farewell(p.id, wire.OK)
		}
	}
	c.rest()
	c.leaving = true
	c.left()
}

// farewell tells a server that this client leaves it, and repeats that until the server answers.
// If the client leaves all servers, the repetitions end after T_evict: by then the server has
// found out by itself, since a master asks its silent clients. If the client leaves only this
// server, the repetitions go on for as long as tombstones last, since a server does not ask a
// client that has another master.
func (c *Client) farewell(to nid.NID, code wire.Code) {
	c.reconciled(to)
	f := farewell{to: to, incarnation: c.incarnation, code: code, wait: 2 * c.cfg.RTT, until: c.now + c.cfg.Evict}
	if code != wire.OK {
		f.until = c.now + c.cfg.tombstone()
	}
	f.at = c.now + f.wait
	f.sequence = c.ask(to, wire.Message{Kind: wire.Disconnect, Code: code})
	c.farewells = append(c.farewells, f)
}

// reconciled ends the farewells to a server. It is called when the server has accepted this
// client again, and before the client sends a new farewell. Sending a connect does not end them:
// the server may refuse the connect and keep the old connection. A server that accepts a connect
// ignores earlier farewells.
func (c *Client) reconciled(with nid.NID) {
	c.farewells = slices.DeleteFunc(c.farewells, func(f farewell) bool { return f.to == with })
}

// repeatFarewells repeats the farewells that are due, and gives up expired ones.
func (c *Client) repeatFarewells() {
	if len(c.farewells) == 0 {
		return
	}
	c.farewells = slices.DeleteFunc(c.farewells, func(f farewell) bool {
		if c.now >= f.until && f.code == wire.OK {
			c.unaware = append(c.unaware, f.to)
		}
		return c.now >= f.until
	})
	for i := range c.farewells {
		if f := &c.farewells[i]; c.now >= f.at {
			f.wait = min(2*f.wait, c.cfg.MaxBackoff)
			f.at = min(c.now+f.wait, f.until)
			c.send(f.to, &wire.Message{Kind: wire.Disconnect, Code: f.code, Incarnation: f.incarnation, Sequence: f.sequence})
		}
	}
	c.left()
}

// acknowledged reports whether a message answers a farewell, and ends that farewell. Any
// refusal except Busy means that this incarnation is not connected to the server.
func (c *Client) acknowledged(from nid.ProcessID, m *wire.Message) bool {
	if m.Kind != wire.Reject || m.Code == wire.Busy || from.PID != c.cfg.PID || m.Client != c.cfg.ID {
		return false
	}
	i := slices.IndexFunc(c.farewells, func(f farewell) bool {
		return f.to == from.NID && f.incarnation == m.Incarnation && f.sequence == m.Sequence
	})
	if i < 0 {
		return false
	}
	c.farewells = slices.Delete(c.farewells, i, i+1)
	c.left()
	return true
}

// left emits AllTold once every farewell is acknowledged or has expired.
func (c *Client) left() {
	if c.leaving && len(c.farewells) == 0 {
		c.leaving = false
		c.out.Effects = append(c.out.Effects, ClientEffect{Kind: AllTold})
	}
}

// farewellAt returns the active time at which a farewell is due or expires.
func (c *Client) farewellAt() time.Duration {
	at := machine.Never
	for i := range c.farewells {
		at = min(at, c.farewells[i].at, c.farewells[i].until)
	}
	return at
}

// Unaware returns the servers that have not acknowledged that this client leaves all servers:
// so far or, after AllTold, within T_evict.
func (c *Client) Unaware() []nid.NID {
	ids := slices.Clone(c.unaware)
	for i := range c.farewells {
		if c.farewells[i].code == wire.OK {
			ids = append(ids, c.farewells[i].to)
		}
	}
	return ids
}
