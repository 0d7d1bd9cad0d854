package healthsim

import (
	"context"
	"fmt"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// Flat is a network like that of a machine room: a latency of 0.5 to 1.5 ms, and no loss.
func Flat() *sim.Flat {
	return &sim.Flat{Link: link.Quality{
		Latency: link.Dist{Base: time.Millisecond, Spread: 500 * time.Microsecond, Shape: link.Uniform},
	}}
}

// Measured has the parameters that measurements share.
type Measured struct {
	Servers, Clients int // numbers of nodes
	// Attach is the number of servers that a client connects to besides its master, as in
	// Config: 0 is all, negative none.
	Attach int
	Seed   uint64 // seed of all random choices
}

// begun is when the first client begins. The others follow within a ping interval, so that pings
// are spread.
func (m Measured) begun() time.Duration { return 2 * time.Second }

func (m Measured) config() Config {
	spread := 5 * time.Second
	return Config{
		Servers: m.Servers, Clients: m.Clients, Attach: m.Attach, Network: scenario.Network{Seed: m.Seed, Topology: Flat(), StartAt: func(id sim.NodeID) time.Duration {
			if int(id) < m.Servers {
				return 0
			}
			return m.begun() + spread*time.Duration(int(id)-m.Servers)/time.Duration(max(m.Clients, 1))
		}}, Bare: true, Store: -1,
	}
}

// start makes a network, and runs it until all clients are connected.
func (m Measured) start(cfg Config) (*Net, error) {
	n, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := n.Run(m.begun() + 15*time.Second); err != nil {
		return nil, err
	}
	if ok, why := n.Settled(sim.AllNodes); !ok {
		return nil, fmt.Errorf("healthsim: after 15 s %s", why)
	}
	return n, nil
}

// Load is the number of control messages in a cluster in which nothing happens (G-CH-1).
type Load struct {
	Interval time.Duration // T_ping of the clients
	// Pings and Pongs are per interval, of all clients together. Others are all other messages
	// of client health, mostly digests.
	Pings, Pongs, Others float64
	// BusyPings are the pings per interval of clients that exchange other messages
	// with their masters.
	BusyPings float64
	// AllPingAll is the number of pings per interval if every client pinged every server.
	AllPingAll float64
}

// Factor is AllPingAll divided by Pings.
func (l Load) Factor() float64 { return l.AllPingAll / l.Pings }

// Load counts messages over some intervals, then with all clients busy.
func (m Measured) Load(ctx context.Context, intervals int) (l Load, err error) {
	var kinds [16]uint64
	cfg := m.config()
	cfg.Tap = func(_, _ sim.NodeID, msg *wire.Message) { kinds[msg.Kind]++ }
	n, err := m.start(cfg)
	if err != nil {
		return l, err
	}
	l.Interval, l.AllPingAll = n.timing.Ping, float64(m.Clients)*float64(m.Servers)
	count := func() error {
		kinds = [16]uint64{}
		return m.pass(ctx, n, time.Duration(intervals)*l.Interval)
	}
	if err := count(); err != nil {
		return l, err
	}
	per := func(k uint64) float64 { return float64(k) / float64(intervals) }
	l.Pings, l.Pongs = per(kinds[wire.Ping]), per(kinds[wire.Pong])
	for k, c := range kinds {
		if k := wire.Kind(k); k != wire.Ping && k != wire.Pong {
			l.Others += per(c)
		}
	}
	for id := range n.each(sim.AllNodes) {
		n.Command(id, "busy on")
	}
	if err := m.pass(ctx, n, 2*l.Interval); err != nil {
		return l, err
	}
	err = count()
	if ok, why := n.Settled(sim.AllNodes); err == nil && !ok { // a client without a master sends no pings
		err = fmt.Errorf("healthsim: after the measurement %s", why)
	}
	l.BusyPings = per(kinds[wire.Ping])
	return l, err
}

// pass runs the network for a time, a second at a time.
func (m Measured) pass(ctx context.Context, n *Net, d time.Duration) error {
	for end := n.Now() + d; n.Now() < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := n.Run(min(n.Now()+time.Second, end)); err != nil {
			return err
		}
	}
	return nil
}
