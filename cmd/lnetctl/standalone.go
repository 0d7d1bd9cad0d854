package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/networks"
)

// operator is the node that a verb uses: that of a daemon, or one in this process.
type operator interface {
	Ping(context.Context, node.PingRequest) (node.PingReply, error)
	Discover(context.Context, node.DiscoverRequest) (node.DiscoverReply, error)
	Sink(context.Context, node.SinkRequest, node.Report) error
	Put(context.Context, node.PutRequest, io.Reader, node.Report) error
	Serve(context.Context, node.ServeRequest, io.Reader, node.Report) error
	Get(context.Context, node.GetRequest, node.Report) error
}

// remote is the node of a running daemon.
type remote struct{ client *control.Client }

func (r remote) Ping(ctx context.Context, q node.PingRequest) (node.PingReply, error) {
	return node.OpPing.Call(ctx, r.client, q)
}

func (r remote) Discover(ctx context.Context, q node.DiscoverRequest) (node.DiscoverReply, error) {
	return node.OpDiscover.Call(ctx, r.client, q)
}

func (r remote) Sink(ctx context.Context, q node.SinkRequest, report node.Report) error {
	return node.OpSink.Call(ctx, r.client, q, report)
}

func (r remote) Put(ctx context.Context, q node.PutRequest, data io.Reader, report node.Report) error {
	return node.OpPut.CallWith(ctx, r.client, q, data, report)
}

func (r remote) Serve(ctx context.Context, q node.ServeRequest, content io.Reader, report node.Report) error {
	return node.OpServe.CallWith(ctx, r.client, q, content, report)
}

func (r remote) Get(ctx context.Context, q node.GetRequest, report node.Report) error {
	return node.OpGet.Call(ctx, r.client, q, report)
}

// standalone holds the flags of a node in this process.
type standalone struct {
	command  *cobra.Command
	on       bool
	networks string
	port     int
}

// leaveTimeout bounds how long a node in this process waits, at its end, for messages that have
// not been sent.
const leaveTimeout = 2 * time.Second

var errInterrupted = errors.New("interrupted")

// usual returns the default configuration, made once: six commands show its values as the defaults of their
// flags.
var usual = sync.OnceValue(config.Default)

func addStandalone(c *cobra.Command) *standalone {
	s := &standalone{command: c}
	defaults := usual()
	c.Flags().BoolVar(&s.on, "standalone", false, "use no daemon: run a node for the time of the command")
	c.Flags().StringVar(&s.networks, "networks", defaults.Networks, "with --standalone: networks, such as 'tcp(eth0)'")
	c.Flags().IntVar(&s.port, "accept-port", defaults.AcceptPort, "with --standalone: TCP `PORT` to listen on and to dial")
	return s
}

// connect returns the node to use. If dialOnly is set, a node in this process that is not
// permitted to bind the port starts without a listener. The caller must call stop.
func (s *standalone) connect(g *globals, dialOnly bool) (n operator, stop func(), err error) {
	if !s.on {
		return remote{g.client()}, func() {}, s.checkOff()
	}
	own, err := s.start(dialOnly)
	if err != nil {
		return nil, nil, err
	}
	if own.DialsOnly() {
		fmt.Fprintf(s.command.ErrOrStderr(), "%s: no permission to listen on port %d: this node dials, nobody can dial it\n",
			s.command.Root().Name(), s.port)
	}
	return own, func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		_ = own.Shutdown(ctx) // an error is ignored, as events have reported the messages that were not sent
	}, nil
}

// checkOff refuses flags that have an effect only with --standalone.
func (s *standalone) checkOff() error {
	for _, name := range []string{"networks", "accept-port"} {
		if s.command.Flags().Changed(name) {
			return cli.Usagef("--%s goes with --standalone; the daemon has its own", name)
		}
	}
	return nil
}

// start starts a node in this process.
func (s *standalone) start(dialOnly bool) (*node.Node, error) {
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort = s.networks, s.port
	if _, err := networks.Parse(s.networks); err != nil {
		return nil, cli.Usagef("--networks: %w", err)
	}
	if s.port < 1 || s.port > 65535 {
		return nil, cli.Usagef("--accept-port: want a port from 1 to 65535, not %d", s.port)
	}
	return node.New(node.Config{Config: cfg, MayNotListen: dialOnly})
}
