package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
	"ulnet/cmd/internal/incarnation"
	"ulnet/cmd/internal/modules"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/internal/service"
	"ulnet/cmd/internal/statefiles"
	"ulnet/cmd/internal/statelock"
	"ulnet/cmd/internal/stateversion"
	"ulnet/lnet/nid"
)

// drainTimeout bounds the time for sending queued messages when the daemon ends.
const drainTimeout = 5 * time.Second

// process is the daemon with what it has opened.
type process struct {
	env     cli.Env
	cfg     config.Config
	log     *slog.Logger
	manager *service.Manager
	sockets *service.Sockets
	socket  *control.Socket // the control socket
	state   *statelock.Lock
	tap     *tap
	node    *node.Node
}

// serve runs the daemon until ctx ends. The directories of the configuration must exist, unless the disk of the
// state directory is full or read-only. serve logs the warnings about the configuration. At each
// SIGHUP, serve reads the configuration again with load, also for a SIGHUP that has arrived before.
func serve(ctx context.Context, env cli.Env, loaded *config.Loaded, state *statelock.Lock, hangups *hangups, load func() (*config.Loaded, error)) error {
	inherited := service.Inherit(env.Getenv)
	if err := readLNetConf(loaded); err != nil {
		return err
	}
	cfg, events := loaded.Config, new(control.Events)
	catchBrokenPipes()
	logs := daemon.NewLog(env, events, &cfg)
	state.LogTo(logs.Logger)
	defer hangups.stop()
	manager := service.New(env.Getenv, logs.Logger)
	p := &process{env: env, cfg: cfg, log: logs.Logger, manager: manager, sockets: manager.Sockets(inherited), state: state}
	if err := p.open(loaded); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return errors.Join(unlessToldToEnd(ctx, p.log, err), p.close(), p.socket.Close())
	}
	settings := daemon.NewSettings(loaded, p.node, logs)
	settings.Load, settings.Begin, settings.End = load, manager.Reloading, p.ready
	routes := slices.Concat(p.node.Routes(), logs.Routes(), settings.Routes())
	server := control.New(control.Config{Routes: routes, Events: events, Capture: p.tap.writer, Log: p.log})
	stop := p.start(ctx)
	hangups.serve(func() { _, _ = settings.Reload(ctx) }) // Reload logs its errors
	err := server.Serve(ctx, p.socket)
	closeSettings(settings)
	stop()
	return errors.Join(err, p.close())
}

// open opens the control socket, the tap and the node. After an error nothing is open.
func (p *process) open(loaded *config.Loaded) (err error) {
	for _, w := range loaded.Warnings {
		p.log.Warn(w.Text, slog.String("file", w.File), slog.Int("line", w.Line))
	}
	if err := stateError(stateversion.Prepare(p.cfg.StateDir, p.log)); err != nil {
		return err
	}
	if p.socket, err = control.Listen(p.cfg.Socket); err != nil {
		return err
	}
	if p.tap, err = openTap(p.cfg); err != nil {
		return errors.Join(err, p.socket.Close())
	}
	p.node, err = node.New(node.Config{
		Config: p.cfg, Imported: loaded.Imported, Log: p.log, Tap: p.tap.writer, Incarnation: incarnation.Next(p.cfg.StateDir, time.Now(), p.log), Modules: modules.List, State: p.state, Sockets: p.sockets,
	})
	if err != nil {
		return errors.Join(err, p.tap.close(), p.socket.Close())
	}
	return nil
}

// settle imports the file LNetConf. The capture gets its name after that, when the configuration can no longer keep the
// daemon from starting.
func (p *process) settle(ctx context.Context) error {
	if err := importLNetConf(ctx, p.node); err != nil {
		return err
	}
	return p.tap.settle()
}

// start reports that the daemon is ready, and starts what runs beside the control socket until stop
// is called.
func (p *process) start(ctx context.Context) (stop func()) {
	stopFiles := showState(p.log, p.node, p.cfg)
	p.sockets.Started()
	announce(p.env, p.log, p.node, p.cfg)
	p.ready()
	stopping := p.manager.Stopping(ctx)
	stopWatch := p.manager.Watch(p.node.Alive)
	p.tap.keep(p.log)
	return func() {
		stopping()
		p.sockets.Stopping()
		stopWatch()
		if err := waitBriefly(stopWithin, stopFiles); err != nil {
			p.log.Warn("the files that show the state are not removed", slog.String("dir", p.cfg.RuntimeDir), slog.Any("err", err))
		}
		p.log.Info("stopping")
	}
}

// ready tells the service manager that the daemon is ready.
func (p *process) ready() { p.manager.Ready(statusOf(p.node, p.cfg)) }

// close stops the node, and ends the capture.
func (p *process) close() error {
	drain(p.log, p.node)
	return p.tap.close()
}

// closeSettings waits until a running reload has ended, but at most for drainTimeout.
func closeSettings(s *daemon.Settings) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	s.Close(ctx)
}

// showState keeps the state files of modules up to date until stop is called.
func showState(log *slog.Logger, n *node.Node, cfg config.Config) (stop func()) {
	var writers []*statefiles.Writer
	for _, f := range n.StateFiles() {
		f.Dir, f.Log = filepath.Join(cfg.RuntimeDir, f.Dir), log
		writers = append(writers, statefiles.Start(f))
	}
	return func() {
		for _, w := range writers {
			w.Stop()
		}
	}
}

// nidList returns the NIDs of the node, separated by blanks.
func nidList(n *node.Node) string {
	var nids []string
	for _, id := range n.NIDs() {
		nids = append(nids, id.String())
	}
	return strings.Join(nids, " ")
}

// statusOf returns a line about the node for people.
func statusOf(n *node.Node, cfg config.Config) string {
	listens := ""
	for _, d := range cfg.All() {
		on := slices.ContainsFunc(n.NIDs(), func(id nid.NID) bool { return id.Net().Type() == d.Type() })
		if text := d.Listens(cfg.Settings); on && text != "" {
			listens += ", " + text
		}
	}
	return fmt.Sprintf("%s%s, control socket %s", cmp.Or(nidList(n), "no NIDs but 0@lo"), listens, cfg.Socket)
}

// announce reports that the node is up, on standard output and in the log.
func announce(env cli.Env, log *slog.Logger, n *node.Node, cfg config.Config) {
	log.Info("ready", slog.String("nids", nidList(n)), slog.Int("accept_port", cfg.AcceptPort),
		slog.String("accept", cfg.AcceptMode()), slog.String("socket", cfg.Socket))
	if !cfg.SourceCheck {
		log.Warn("source_check is off: each peer can send messages in the name of every other")
	}
	sayReady(env.Stdout, log, statusOf(n, cfg)) // last, so that the log is complete when this line is read
}

// sayReady writes the line for programs that wait until the daemon is ready. A disk that is full does not end the daemon.
func sayReady(stdout io.Writer, log *slog.Logger, status string) {
	if _, err := fmt.Fprintf(stdout, "lnetd ready: %s\n", status); err != nil {
		log.Warn("the line that says on standard output that lnetd is ready is not written: programs that wait for it wait in vain", slog.Any("err", err))
	}
}

// drain stops the node and logs whether all messages could be sent.
func drain(log *slog.Logger, n *node.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	waiting := n.Status().Stats.MsgsAlloc
	if err := n.Shutdown(ctx); err != nil {
		log.Warn("messages were not sent", slog.Uint64("waited", waiting), slog.Any("err", err))
		return
	}
	log.Info("stopped", slog.Uint64("drained", waiting))
}
