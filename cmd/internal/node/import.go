package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
)

// Import applies the file LNetConf of the configuration, whose content is Config.Imported, to a node that has just
// started. NIs that other files or flags have started get the tunables of the file. Without a file Import does nothing.
// An error that the next start will meet as well, because the file causes it, is a cli.ConfigError. What was applied
// before an error stays.
func (n *Node) Import(ctx context.Context) error {
	defer n.change()()
	if n.imported == nil {
		return nil
	}
	return n.importFile(ctx, n.imported)
}

// importAgain is Import for a node on which LNet is configured again: it applies what the start or the last reload has
// read. It leaves out settings, because those have stayed as the start, a reload or a command has set them.
func (n *Node) importAgain(ctx context.Context) error {
	if n.imported == nil {
		return nil
	}
	return cli.Hint(n.importFile(ctx, n.imported.WithoutSettings()), hintImportAgain)
}

const hintImportAgain = "remove the cause and configure again; if it is in the file, mend that and run 'lnetctl reload' before"

// importFile applies a file to the node, and logs warnings about it. An NI that it stops and starts again keeps its
// place among the NIs.
func (n *Node) importFile(ctx context.Context, f *tree.File) error {
	defer n.keepOrder(n.NIDs()) // the argument is the order before the changes
	path, e := n.current.Load().LNetConf, n.Editor()
	if err := removeRetuned(ctx, n.cfg.Log, e, f, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	r := tree.Apply(ctx, e, tree.AddMissing, f)
	for _, w := range r.Warnings {
		n.cfg.Log.Warn(w, slog.String("file", path))
	}
	if len(r.Errs) > 0 {
		return importError(path, r.Errs)
	}
	n.cfg.Log.Info("configuration imported", slog.String("file", path), slog.Int("items", len(r.Done)))
	return nil
}

// importError returns the error for a file some of whose items were not applied.
func importError(path string, list []*tree.Error) error {
	var errs []error
	invalid := true // all errors are errors of the file, so the next start will fail, too, whatever interfaces and ports exist then
	for _, e := range list {
		invalid = invalid && e.Errno == syscall.EINVAL
		if e.Cause != nil {
			errs = append(errs, fmt.Errorf("%[1]s: %[3]w: %[2]w", path, e.Cause, e)) // the cause comes first, so that its errno is found first
		} else {
			errs = append(errs, fmt.Errorf("%s: %w", path, e))
		}
	}
	err := errors.Join(errs...)
	if invalid {
		err = cli.ConfigError(err)
	}
	return err
}

// removeRetuned stops the NIs for which the file has other tunables, because this file takes
// precedence over the others. Applying the file then starts these NIs again, with its tunables.
func removeRetuned(ctx context.Context, log *slog.Logger, e *Editor, f *tree.File, path string) error {
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
