package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
)

func reloadCommand(g *globals) *cobra.Command {
	return cli.Question[daemon.Reloaded]{
		Use: "reload", Short: "Have lnetd read its configuration again and apply what has changed",
		Long: `Has lnetd read its configuration again, as SIGHUP and 'systemctl reload lnetd' do: its own
file, options of Lustre's modules, lnet.conf and files of keys. It applies what has changed there
since it read them last, and prints it. What has not changed stays as it is, also if a command has
changed it since. If a file is not valid or not whole, if an interface does not exist, or if
a key has changed that counts only when lnetd starts, nothing changes, and the error says in
which line. docs/install.md lists the keys that need a restart.`,
		Example: "  lnetctl config check /etc/ulnet/lnetd.yaml && lnetctl reload",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (daemon.Reloaded, error) {
			return daemon.OpReload.Call(ctx, g.client(), control.None{})
		},
		Print: func(w io.Writer, r daemon.Reloaded) error {
			for _, text := range r.Changed {
				fmt.Fprintln(w, text)
			}
			if len(r.Changed) == 0 {
				fmt.Fprintln(w, "nothing has changed")
			}
			return nil
		},
	}.Command(&g.json)
}
