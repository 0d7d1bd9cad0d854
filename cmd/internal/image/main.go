// Image writes a container image that contains the commands: a tar archive in the OCI layout, which also
// has Docker's manifest.json. It needs no Docker daemon. 'make image' runs it.
//
// The image itself has Docker's format (manifest version 2, schema 2), because only that has a
// health check; registries and Kubernetes take it as they take OCI's. It has one layer: the
// static programs, the configuration, the user lnetd, and its two folders. The same commit gives
// the same bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

func main() { os.Exit(cli.Run(context.Background(), cli.OS(), root(), os.Args[1:])) }

func root() *cobra.Command {
	var o options
	var seconds int64
	c := &cobra.Command{
		Use:     "image --release VERSION --time SECONDS TREE FILE",
		Short:   "Write a container image of the files that 'make tree' has put below TREE",
		Example: "  go run ./cmd/internal/image --release 0.1.0 --time 1795000000 bin/tree bin/image/ulnet.tar",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			o.tree, o.created = args[0], time.Unix(seconds, 0).UTC()
			if err := os.MkdirAll(filepath.Dir(args[1]), 0o755); err != nil {
				return err
			}
			f, err := os.Create(args[1])
			if err != nil {
				return err
			}
			if err := errors.Join(o.write(f), f.Close()); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", args[1], err), os.Remove(args[1]))
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.version, "release", "", "`VERSION` of the image")
	c.Flags().StringVar(&o.arch, "arch", runtime.GOARCH, "`GOARCH` of the programs")
	c.Flags().Int64Var(&seconds, "time", 0, "time of the commit in `SECONDS` since 1970, for all files")
	for _, flag := range []string{"release", "time"} {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err) // happens only if the command does not have a flag of this name
		}
	}
	return c
}
