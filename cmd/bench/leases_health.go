package main

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/gossip"
	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/health/collective"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/machine/timerfd"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	localnode "ulnet/portals/node"
	"ulnet/scoll"
)

// gossipInterval is the interval of gossip that lnetd uses by default.
const gossipInterval = 200 * time.Millisecond

// healthKeeping starts servers and clients that use client health.
type healthKeeping struct{ rival.Keeping }

func (k healthKeeping) nids() (ids []nid.NID) {
	for _, addr := range k.Addrs() {
		ids = append(ids, nid.FromAddr(tcp, addr))
	}
	return ids
}

func (k healthKeeping) timing() health.Timing { return health.Timing{Ping: k.Interval, Evict: k.TTL} }

// node starts a node over TCP with one connection per peer: with three typed connections per
// peer, 10 000 clients would exceed the usual limit of file descriptors.
func (k healthKeeping) node(addr netip.Addr, accept socklnd.AcceptMode, clock machine.Clock) (*localnode.Node, error) {
	return localnode.Start(localnode.Config{
		Networks: networks.Interface{Net: tcp, Name: addr.String()}.String(), Clock: clock,
		TCP: socklnd.Config{AcceptPort: k.Port, Accept: accept, Untyped: true},
	})
}

// serveHealth starts a server with the parts that it has in lnetd: gossip, collectives, client
// health and its store.
func serveHealth(keeping rival.Keeping, gone func(name string)) error {
	return caught(func() { healthKeeping{keeping}.serve(gone) })
}

func (k healthKeeping) serve(gone func(name string)) {
	clock := timerfd.NewClock()
	table, ids := must(k.node(k.Addrs()[k.Index], socklnd.AcceptTrust, clock)).Table(), k.nids()
	view := must(gossip.New(table, gossip.Config{
		Participants: ids, Interval: gossipInterval, ColdStart: true, Seed: uint64(k.Index), Clock: clock,
	}))
	agent := must(scoll.New(table, scoll.Config{View: view, Clock: clock, Worker: func(f func()) { go f() }}))
	must(health.StartServer(table, health.AgentConfig{
		Servers: ids, Timing: k.timing(), View: view, Wall: time.Now, Clock: clock,
		Broadcaster: must(collective.New(collective.Config{Agent: agent, Servers: ids, Clock: clock})),
		Store:       must(boltstore.Open(boltstore.Config{Path: filepath.Join(k.Folder, "clients.db")})),
		Notify: func(e health.Event) {
			if e.Kind == health.ClientEvicted {
				gone(e.Name)
			}
		},
	}))
	succeed(await(context.Background(), time.Minute, func() bool {
		alive, known := view.Counts()
		return alive == known
	}))
}

// healthClients returns a function that starts client i, which is a node with an address of its
// own.
func healthClients(keeping rival.Keeping) func(i int) (kill func(), err error) {
	k := healthKeeping{keeping}
	clock := timerfd.NewClock()
	return func(i int) (kill func(), err error) {
		addr := netip.AddrFrom4([4]byte{127, 80, byte(i >> 8), byte(i)})
		n, err := k.node(addr, socklnd.AcceptNone, clock)
		if err != nil {
			return nil, err
		}
		kill = func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = n.Close(ctx) // the node closes without waiting, as in a crash
		}
		conn, err := health.Dial(n.Table(), health.DialConfig{
			Name: fmt.Sprint(rival.ClientPrefix, i), Servers: k.nids(), Timing: k.timing(), Seed: uint64(i),
			Attach: k.nids(), Clock: clock,
		})
		if err != nil {
			return kill, err
		}
		return kill, k.settled(conn)
	}
}

// settled waits until a client is connected to all servers.
func (k healthKeeping) settled(conn *health.Connection) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := conn.Wait(ctx); err != nil {
		return err
	}
	return await(ctx, time.Minute, func() bool { return len(conn.Status().Attached) == k.Servers })
}
