package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	"ulnet/cmd/internal/stateversion"
	"ulnet/lnet/nid"
)

// drainTimeout bounds the time for sending queued messages when the daemon ends.
const drainTimeout = 5 * time.Second

// serve runs the daemon until ctx ends. The directories of the configuration must exist. serve
// logs the warnings about the configuration, which load reads again.
func serve(ctx context.Context, env cli.Env, loaded *config.Loaded, load func() (*config.Loaded, error)) error {
	inherited := service.Inherit(env.Getenv)
	if err := readLNetConf(loaded); err != nil {
		return err
	}
	cfg := loaded.Config
	events := new(control.Events)
	logs := daemon.NewLog(env, events, &cfg)
	log := logs.Logger
	hangups := catchHangups()
	defer hangups.stop()
	manager := service.New(env.Getenv, log)
	sockets := manager.Sockets(inherited)
	for _, w := range loaded.Warnings {
		log.Warn(w.Text, slog.String("file", w.File), slog.Int("line", w.Line))
	}
	if err := stateversion.Prepare(cfg.StateDir, log); err != nil {
		return cli.Hint(cli.ConfigError(err), "install the newer lnetd again or, if there is none, remove a damaged version file; or name another folder with --state-dir: the node then is as one that never ran")
	}
	socket, err := control.Listen(cfg.Socket)
	if err != nil {
		return err
	}
	tap, err := openTap(cfg)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	n, err := node.New(node.Config{
		Config: cfg, Log: log, Tap: tap.writer, Incarnation: incarnation.Next(cfg.StateDir, time.Now(), log), Modules: modules.List, Sockets: sockets,
	})
	if err != nil {
		return errors.Join(err, tap.close(), socket.Close())
	}
	if err := importLNetConf(ctx, log, n, loaded); err != nil {
		drain(log, n)
		return errors.Join(err, tap.close(), socket.Close())
	}
	settings := daemon.NewSettings(loaded, n, logs)
	routes := slices.Concat(n.Routes(), logs.Routes(), settings.Routes())
	server := control.New(control.Config{Routes: routes, Events: events, Capture: tap.writer, Log: log})
	stopFiles := showState(log, n, cfg)
	sockets.Started()
	ready(env, log, n, cfg)
	manager.Ready(statusOf(n, cfg))
	settings.Load, settings.Begin, settings.End = load, manager.Reloading, func() { manager.Ready(statusOf(n, cfg)) }
	hangups.serve(func() { _, _ = settings.Reload(ctx) }) // Reload logs its errors
	stopping := manager.Stopping(ctx)
	stopWatch := manager.Watch(n.Alive)
	stopFlushing := tap.keep(log)
	err = server.Serve(ctx, socket)
	closeSettings(settings)
	stopping()
	sockets.Stopping()
	stopWatch()
	stopFlushing()
	stopFiles()
	log.Info("stopping")
	drain(log, n)
	return errors.Join(err, tap.close())
}

// closeSettings waits for a reload that goes on, but not for one that hangs.
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

// ready announces that the node is up, on standard output and in the log.
func ready(env cli.Env, log *slog.Logger, n *node.Node, cfg config.Config) {
	fmt.Fprintf(env.Stdout, "lnetd ready: %s\n", statusOf(n, cfg))
	log.Info("ready", slog.String("nids", nidList(n)), slog.Int("accept_port", cfg.AcceptPort),
		slog.String("accept", cfg.AcceptMode()), slog.String("socket", cfg.Socket))
	if !cfg.SourceCheck {
		log.Warn("source_check is off: each peer can send messages in the name of every other")
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
