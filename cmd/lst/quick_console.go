package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lst/internal/quick"
	"ulnet/lnet/nid"
	lnetselftest "ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
)

// remote is the console of a running daemon.
type remote struct{ client *control.Client }

var _ quick.Console = remote{}

func (r remote) NewSession(ctx context.Context, n console.NewSession) (console.Session, error) {
	return selftest.OpNewSession.Call(ctx, r.client, selftest.NewSessionRequest{Key: n.Key, Name: n.Name, Timeout: n.Timeout, Force: n.Force, Features: n.Features})
}

// EndSession ends the daemon's session if that has the given key. It checks the key itself, because
// the daemon's operation takes no key and would also end a session that has replaced this one.
func (r remote) EndSession(ctx context.Context, key uint32) ([]console.Answer, error) {
	s, err := selftest.OpSession.Call(ctx, r.client, control.None{})
	if err != nil || s.Key != key {
		return nil, err
	}
	return selftest.OpEndSession.Call(ctx, r.client, control.None{})
}

func (r remote) AddGroup(ctx context.Context, key uint32, name string, ids []nid.ProcessID) ([]console.Answer, error) {
	return selftest.OpAddGroup.Call(ctx, r.client, selftest.GroupRequest{Key: key, Name: name, Nodes: ids})
}

func (r remote) AddBatch(ctx context.Context, key uint32, name string) error {
	return selftest.OpAddBatch.Call(ctx, r.client, selftest.BatchRequest{Key: key, Batch: name})
}

func (r remote) AddTest(ctx context.Context, key uint32, t console.Test) ([]console.Answer, error) {
	return selftest.OpAddTest.Call(ctx, r.client, selftest.TestRequest{Key: key, Test: t})
}

func (r remote) Run(ctx context.Context, key uint32, batch string, timeout time.Duration) ([]console.Answer, error) {
	return selftest.OpRun.Call(ctx, r.client, selftest.BatchRequest{Key: key, Batch: batch, Timeout: timeout})
}

func (r remote) Stop(ctx context.Context, key uint32, batch string, force bool) ([]console.Answer, error) {
	return selftest.OpStop.Call(ctx, r.client, selftest.BatchRequest{Key: key, Batch: batch, Force: force})
}

func (r remote) Query(ctx context.Context, key uint32, batch string, test int, timeout time.Duration) ([]console.Answer, error) {
	return selftest.OpQuery.Call(ctx, r.client, selftest.BatchRequest{Key: key, Batch: batch, Test: test, Timeout: timeout})
}

func (r remote) Stat(ctx context.Context, key uint32, target console.Target, timeout time.Duration) ([]console.Answer, error) {
	return selftest.OpStat.Call(ctx, r.client, selftest.AskRequest{Key: key, Target: target, Timeout: timeout})
}

// own returns the NIDs of the daemon's node, and a function that asks it how long its RPCs took. It
// returns nil if the daemon does not answer.
func (r remote) own(ctx context.Context) *quick.Own {
	status, err := node.OpStatus.Call(ctx, r.client, control.None{})
	if err != nil {
		return nil // the measurement will report that no daemon answers
	}
	o := &quick.Own{Latencies: func(ctx context.Context) ([]lnetselftest.Latency, error) {
		return selftest.OpLatencies.Call(ctx, r.client, control.None{})
	}}
	o.Primary = func(ctx context.Context, id nid.NID) nid.NID {
		page, err := node.OpPeers.Call(ctx, r.client, node.PeersRequest{NID: id, Limit: 1})
		if err != nil || len(page.Known) == 0 {
			return id
		}
		return page.Known[0].Primary
	}
	for _, ni := range status.NIs {
		o.NIDs = append(o.NIDs, ni.NID)
	}
	return o
}

// ownNode has the flags of a console in this process.
type ownNode struct {
	command  *cobra.Command
	on       bool
	networks string
	port     int
}

// leaveTimeout bounds how long the console in this process waits, at its end, for messages that
// have not been sent.
const leaveTimeout = 2 * time.Second

func (o *ownNode) flags(c *cobra.Command) {
	o.command = c
	defaults := config.Default()
	c.Flags().BoolVar(&o.on, "standalone", false, "use no daemon: be the console for the time of the command")
	c.Flags().StringVar(&o.networks, "networks", defaults.Networks, "with --standalone: networks, such as 'tcp(eth0)'")
	c.Flags().IntVar(&o.port, "accept-port", defaults.AcceptPort, "with --standalone: TCP `PORT` to listen on and to dial")
}

// console returns the console to use, and the node whose RPCs can be timed one by one. The caller must
// call stop at the end.
func (o *ownNode) console(ctx context.Context, g *globals, measured quick.Config) (c quick.Console, own *quick.Own, stop func(), err error) {
	if !o.on {
		for _, name := range []string{"networks", "accept-port"} {
			if o.command.Flags().Changed(name) {
				return nil, nil, nil, cli.Usagef("--%s goes with --standalone; the daemon has its own", name)
			}
		}
		r := remote{g.client()}
		return r, r.own(ctx), func() {}, nil
	}
	c, own, stop, err = o.start(ctx, measured)
	if err != nil && stop != nil {
		stop()
	}
	return c, own, stop, err
}

// start starts a node in this process that is a console and a test node. Only the nodes that are measured,
// and the node itself, may talk to its test node.
func (o *ownNode) start(ctx context.Context, measured quick.Config) (c quick.Console, tells *quick.Own, stop func(), err error) {
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = o.networks, o.port
	n, err := node.New(node.Config{Config: cfg, MayNotListen: true})
	if err != nil {
		return nil, nil, nil, err
	}
	stop = o.leave(ctx, n.Shutdown, func() {})
	own := n.NIDs()
	agent, err := lnetselftest.New(n.Table(), lnetselftest.Config{Allow: func(id nid.NID) bool {
		p := nid.ProcessID{NID: id, PID: nid.LustrePID}
		return slices.Contains(measured.From, p) || slices.Contains(measured.To, p) || slices.Contains(own, id)
	}})
	if err != nil {
		return nil, nil, stop, err
	}
	stop = o.leave(ctx, agent.Close, stop)
	through, err := console.New(n.Table(), agent, console.Config{})
	if err != nil {
		return nil, nil, stop, err
	}
	tells = &quick.Own{
		NIDs: own,
		Primary: func(_ context.Context, id nid.NID) nid.NID {
			if p := n.Table().Node().Peer(id); p.Primary.IsValid() {
				return p.Primary
			}
			return id
		},
		Latencies: func(context.Context) ([]lnetselftest.Latency, error) { return agent.Latencies(), nil },
	}
	return through, tells, o.leave(ctx, through.Close, stop), nil
}

// leave returns a function that calls closing, with leaveTimeout as its time limit, and then next.
// Errors of closing are ignored, because the measurement is over.
func (*ownNode) leave(ctx context.Context, closing func(context.Context) error, next func()) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		_ = closing(ctx)
		next()
	}
}
