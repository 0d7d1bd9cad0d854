package main

import (
	"context"
	"errors"
	"log/slog"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
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

// importLNetConf applies the file LNetConf to a node that starts. Without a file it does nothing.
func importLNetConf(ctx context.Context, n *node.Node) error {
	return cli.Hint(n.Import(ctx), hintImport)
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
