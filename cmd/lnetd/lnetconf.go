package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

// importLNetConf adds what a file in the YAML of lnetctl has to a node that starts. What the node
// has already, by other files or flags, stays as it is. Without a path it does nothing.
func importLNetConf(ctx context.Context, log *slog.Logger, n *node.Node, path string) error {
	if path == "" {
		return nil
	}
	f, err := readLNetConf(path)
	if err != nil {
		return cli.Hint(err, "name another file with --lnet-conf, or none")
	}
	r := tree.Apply(ctx, n.Editor(), tree.AddMissing, f)
	for _, w := range r.Warnings {
		log.Warn(w, slog.String("file", path))
	}
	var errs []error
	for _, e := range r.Errs {
		errs = append(errs, fmt.Errorf("%s: %w", path, e))
	}
	if len(errs) > 0 {
		return cli.Hint(errors.Join(errs...), "mend the file, or start with --lnet-conf none; 'lnetctl import --help' says what it can have")
	}
	log.Info("configuration imported", slog.String("file", path), slog.Int("items", len(r.Done)))
	return nil
}

func readLNetConf(path string) (*tree.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, tree.MaxSize+1))
	if err != nil {
		return nil, err
	}
	f, err := tree.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
