package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"ulnet/cmd/internal/afpacket"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/lnd/capture"
	_ "ulnet/lnd/capture/encap" // lets package capture read all link types and tunnels
)

// source is an input: a file, the standard input, an interface or a daemon.
type source struct {
	name    string
	live    bool // packets arrive while they are captured, so each is printed at once
	raw     bool // all its packets begin with IP
	partial bool // the source may end inside a record, as a file does that is still being written
	open    func(context.Context) (packets, error)
}

// packets reads the packets of a source that was opened.
type packets interface {
	Next() (capture.Packet, error)
	Close() error
}

// sources returns the inputs that the command line names.
func (o *options) sources(env cli.Env) ([]source, error) {
	given := 0
	for _, is := range []bool{o.iface != "", o.daemon || o.socket != "", len(o.arguments) > 0} {
		if is {
			given++
		}
	}
	if given > 1 {
		return nil, cli.Usagef("files, --interface, and --daemon or --socket exclude each other")
	}
	for _, p := range o.ports {
		if p == 0 || p > 0xFFFF {
			return nil, cli.Usagef("--port: %d is not a TCP port", p)
		}
	}
	switch {
	case o.iface != "":
		return []source{interfaceSource(o.iface)}, nil
	case o.daemon || o.socket != "":
		path := o.socket
		if path == "" {
			path = config.Dirs{Getenv: env.Getenv, UID: os.Getuid()}.ClientSocket()
		}
		return []source{daemonSource(path, env.Stderr)}, nil
	case len(o.arguments) == 0:
		return []source{stdinSource(env.Stdin)}, nil
	}
	var list []source
	for _, name := range o.arguments {
		if name == "-" {
			list = append(list, stdinSource(env.Stdin))
			continue
		}
		list = append(list, source{name: name, partial: true, open: func(ctx context.Context) (packets, error) {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			return newStream(ctx, o.followed(ctx, f))
		}})
	}
	return list, nil
}

func stdinSource(stdin io.Reader) source {
	return source{name: "standard input", live: true, partial: true, open: func(ctx context.Context) (packets, error) {
		if f, ok := stdin.(*os.File); ok && cli.IsTerminal(f) {
			return nil, cli.Usagef("no file, and the standard input is a terminal")
		}
		in, ok := stdin.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(stdin)
		}
		return newStream(ctx, in)
	}}
}

// daemonSource streams the capture of a daemon from its control socket.
func daemonSource(path string, stderr io.Writer) source {
	return source{name: path, live: true, raw: true, open: func(ctx context.Context) (packets, error) {
		in, headersOnly, err := control.NewClient(path).Capture(ctx)
		if err != nil {
			return nil, err
		}
		if headersOnly {
			fmt.Fprintln(stderr, "lnetdump: payload is shown as zeros: only root and the user of lnetd see it")
		}
		return newStream(ctx, in)
	}}
}

// stream reads a capture. When its context ends it closes the capture, which ends a blocked
// read.
type stream struct {
	*capture.Reader
	in   io.Closer
	stop func() bool
}

func newStream(ctx context.Context, in io.ReadCloser) (packets, error) {
	stop := context.AfterFunc(ctx, func() { in.Close() })
	r, err := capture.NewReader(in)
	if err != nil {
		stop()
		in.Close()
		return nil, err
	}
	return &stream{r, in, stop}, nil
}

// Close closes the source.
func (s *stream) Close() error {
	s.stop()
	return s.in.Close()
}

func interfaceSource(name string) source {
	return source{name: name, live: true, raw: true, open: func(ctx context.Context) (packets, error) {
		h, err := afpacket.Open(name)
		if err != nil {
			if afpacket.NotPermitted(err) {
				return nil, cli.Hint(err, "it takes root or the capability CAP_NET_RAW")
			}
			return nil, cli.Hint(err, "'ip link' lists the interfaces")
		}
		return &live{h, ctx}, nil
	}}
}

// live captures on an interface.
type live struct {
	*afpacket.Handle
	ctx context.Context // context of the command's run
}

// Next waits for the next packet.
func (l *live) Next() (capture.Packet, error) { return l.Handle.Next(l.ctx) }
