package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
)

func reloadCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Have lnetd read its configuration again and apply what has changed",
		Long: `Has lnetd read its configuration again, as SIGHUP and 'systemctl reload lnetd' do: its own
file, options of Lustre's modules, lnet.conf and files of keys. It applies what has changed there
since it read them last, and prints it. What has not changed stays as it is, also if a command has
changed it since. If a file is not valid or not whole, if an interface does not exist, or if
a key has changed that counts only when lnetd starts, nothing changes, and the error says in
which line. docs/install.md lists the keys that need a restart.`,
		Example: "  lnetctl config check /etc/ulnet/lnetd.yaml && lnetctl reload",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := daemon.OpReload.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			if g.json {
				return cli.JSON(c.OutOrStdout(), r)
			}
			for _, text := range r.Changed {
				if _, err := fmt.Fprintln(c.OutOrStdout(), text); err != nil {
					return err
				}
			}
			if len(r.Changed) == 0 {
				_, err = fmt.Fprintln(c.OutOrStdout(), "nothing has changed")
			}
			return err
		},
	}
}
