package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

// readLNetConf reads the file LNetConf. It refuses a file with an error in any section, so that no
// part of the file is applied.
func readLNetConf(l *config.Loaded) error {
	if err := l.ReadLNetConf(); err != nil {
		return cli.Hint(cli.ConfigError(err), "name another file with --lnet-conf, or none")
	}
	if errs := l.ImportErrors(); len(errs) > 0 {
		return cli.Hint(cli.ConfigError(errors.Join(errs...)), hintImport)
	}
	return nil
}

const hintImport = "mend the file, or start with --lnet-conf none; 'lnetctl import --help' says what it can have"

// importLNetConf applies a file in lnetctl's YAML format to a node that starts. NIs that other
// files or flags have started get the tunables of the file. Without a file it does nothing.
func importLNetConf(ctx context.Context, log *slog.Logger, n *node.Node, l *config.Loaded) error {
	path, f := l.LNetConf, l.Imported
	if f == nil {
		return nil
	}
	e := n.Editor()
	if err := removeRetuned(ctx, log, e, f, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := tree.Apply(ctx, e, tree.AddMissing, f)
	for _, w := range r.Warnings {
		log.Warn(w, slog.String("file", path))
	}
	var errs []error
	invalid := true // all errors are errors of the file, so the next start will fail, too, whatever interfaces and ports exist then
	for _, e := range r.Errs {
		invalid = invalid && e.Errno == syscall.EINVAL
		if e.Cause != nil {
			errs = append(errs, fmt.Errorf("%s: %w: %w", path, e, e.Cause))
		} else {
			errs = append(errs, fmt.Errorf("%s: %w", path, e))
		}
	}
	if len(errs) > 0 {
		err := errors.Join(errs...)
		if invalid {
			err = cli.ConfigError(err)
		}
		return cli.Hint(err, hintImport)
	}
	log.Info("configuration imported", slog.String("file", path), slog.Int("items", len(r.Done)))
	return nil
}

// unlessToldToEnd returns an error of importLNetConf. If ctx has ended, it logs the error and returns nil, because the
// end of ctx has interrupted the import: a daemon that is told to end while it starts has not failed.
func unlessToldToEnd(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() == nil {
		return err
	}
	log.Info("told to end before the configuration was imported", slog.Any("err", err))
	return nil
}

// removeRetuned stops the NIs for which the file has other tunables, because this file takes
// precedence over the others. Applying the file then starts these NIs again, with its tunables.
func removeRetuned(ctx context.Context, log *slog.Logger, e *node.Editor, f *tree.File, path string) error {
	now, err := e.Tree(ctx)
	if err != nil {
		return err
	}
	for _, net := range tree.Retuned(now, f) {
		ni := net.NIs[0]
		warnings, err := e.RemoveNI(ctx, net.Type, &ni)
		if err != nil {
			return fmt.Errorf("%v: %w", ni.NID, err)
		}
		for _, w := range warnings {
			log.Warn("an NI that gets other tunables was stopped before it had sent its messages, or has not ended in time", slog.Any("ni", ni.NID), slog.String("err", w))
		}
		log.Info("started again with the tunables of the file", slog.Any("ni", ni.NID), slog.String("file", path))
	}
	return nil
}
