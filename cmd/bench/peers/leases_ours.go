package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"ulnet/cmd/internal/connstore"
	"ulnet/cmd/internal/timerfd"
	"ulnet/gossip"
	"ulnet/health"
	"ulnet/health/collective"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
)

// gossipInterval is lnetd's.
const gossipInterval = 200 * time.Millisecond

func (o *leaseOptions) serverNIDs() (ids []nid.NID) {
	for _, addr := range o.serverAddrs() {
		ids = append(ids, nid.FromAddr(nid.MakeNet(nid.TCP, 0), addr))
	}
	return ids
}

func (o *leaseOptions) timing() health.Timing {
	return health.Timing{Ping: o.interval, Evict: o.ttl}
}

// newLeaseNode makes a node over TCP. It has one connection to each peer: with three
// typed ones 10 000 clients need more descriptors than a process often has.
func (c *child) newLeaseNode(addr netip.Addr, accept socklnd.AcceptMode, clock machine.Clock) (*node.Node, error) {
	return node.Start(node.Config{
		Networks: "tcp(" + addr.String() + ")", Clock: clock,
		TCP: socklnd.Config{AcceptPort: c.port, Accept: accept, Untyped: true},
	})
}

// serveHealth is a server as lnetd has it: gossip, collectives, client health and
// its store.
func (c *child) serveHealth() error {
	clock := timerfd.NewClock()
	n, err := c.newLeaseNode(c.serverAddrs()[c.index], socklnd.AcceptTrust, clock)
	if err != nil {
		return err
	}
	table, ids := n.Table(), c.serverNIDs()
	view, err := gossip.New(table, gossip.Config{
		Participants: ids, Interval: gossipInterval, ColdStart: true, Seed: uint64(c.index), Clock: clock,
	})
	if err != nil {
		return err
	}
	agent, err := scoll.Start(table, scoll.AgentConfig{View: view, Clock: clock, Worker: func(f func()) { go f() }})
	if err != nil {
		return err
	}
	broadcaster, err := collective.New(collective.Config{Agent: agent, Servers: ids, Clock: clock})
	if err != nil {
		return err
	}
	store, err := connstore.Open(connstore.Config{Path: filepath.Join(c.folder, "clients.db")})
	if err != nil {
		return err
	}
	_, err = health.StartServer(table, health.AgentConfig{
		ServerConfig: health.ServerConfig{Servers: ids, Timing: c.timing()},
		View:         view, Broadcaster: broadcaster, Store: store, Wall: time.Now, Clock: clock,
		Notify: func(e health.Event) {
			if e.Kind == health.ClientEvicted {
				c.gone(e.Name)
			}
		},
	})
	if err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		alive, known := view.Counts()
		if alive == known {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("gossip knows %d of %d servers", alive, known)
		}
	}
}

// healthClient starts clients, each a node with an address of its own.
func (c *child) healthClient() func(i int) (kill func(), err error) {
	clock := timerfd.NewClock()
	return func(i int) (kill func(), err error) {
		addr := netip.AddrFrom4([4]byte{127, 80, byte(i >> 8), byte(i)})
		n, err := c.newLeaseNode(addr, socklnd.AcceptNone, clock)
		if err != nil {
			return nil, err
		}
		kill = func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = n.Close(ctx) // it dies: what waits is lost
		}
		conn, err := health.Dial(n.Table(), health.DialConfig{
			ClientConfig: health.ClientConfig{
				Name: fmt.Sprint(clientPrefix, i), Servers: c.serverNIDs(), Timing: c.timing(), Seed: uint64(i),
			},
			Attach: c.serverNIDs(), Clock: clock,
		})
		if err != nil {
			return kill, err
		}
		return kill, c.settled(conn)
	}
}

// settled waits until a client is connected to all servers.
func (c *child) settled(conn *health.Connection) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := conn.Wait(ctx); err != nil {
		return err
	}
	for len(conn.Status().Attached) < c.servers {
		select {
		case <-ctx.Done():
			return errors.New("a client is not connected to all servers")
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}
