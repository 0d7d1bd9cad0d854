package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/node"
)

func configCommand() *cobra.Command {
	var sources, export, man bool
	c := &cobra.Command{
		Use:   "config [--sources | --export | --man]",
		Short: "Print the reference configuration, or what a daemon would be told and by what",
		Long: `Prints the reference configuration: every key with its default. With --sources it
prints what a daemon with the same flags would be told, and by which line of which
file; nothing is started. With --export it prints the networks, peers, routes, rules and
settings in the form of 'lnetctl export --backup', which is also one of lnetd's file. Of several lines for a key the last one counts. The order:

  1. options of the modules lnet, ksocklnd and ko2iblnd in /etc/modprobe.d
  2. the file of --config
  3. flags
  4. /etc/lnet.conf, in the YAML of lnetctl, which the running node imports

Root's lnetd reads the first and the last where it has neither --config nor
--networks; --modprobe and --lnet-conf, or the keys modprobe and lnet_conf, name
them otherwise.`,
		Example: "  lnetd config > lnetd.yaml\n  lnetd config --sources --modprobe /etc/modprobe.d",
		Args:    cobra.NoArgs,
	}
	flags := config.AddFlags(c.Flags())
	c.Flags().BoolVar(&sources, "sources", false, "print where settings come from")
	c.Flags().BoolVar(&export, "export", false, "print networks, peers, routes, rules and settings in the YAML of lnetctl")
	c.Flags().BoolVar(&man, "man", false, "print the reference configuration as the manual page lnetd.yaml(5)")
	c.MarkFlagsMutuallyExclusive("sources", "export", "man")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if man {
			_, err := io.WriteString(c.OutOrStdout(), config.ManPage())
			return err
		}
		if !sources && !export {
			_, err := fmt.Fprint(c.OutOrStdout(), config.Reference())
			return err
		}
		loaded, err := flags.Load(os.Getuid() == 0)
		if err != nil {
			return err
		}
		for _, w := range loaded.Warnings {
			fmt.Fprintln(c.ErrOrStderr(), w)
		}
		if export {
			return printTree(c.OutOrStdout(), loaded.Config)
		}
		return printSources(c.OutOrStdout(), loaded)
	}
	return c
}

// printTree prints a configuration in the form of lnetctl's files.
func printTree(w io.Writer, cfg config.Config) error {
	if err := cfg.ResolveNetworks(node.LocalAddresses); err != nil {
		return err
	}
	t, err := cfg.Tree()
	if err != nil {
		return err
	}
	return tree.Write(w, t)
}

// printSources prints, for each key, the values that were given, where each was given, and which
// one counts.
func printSources(w io.Writer, l *config.Loaded) error {
	list, last := l.Sources, map[string]int{}
	for i, s := range list {
		last[s.Key] = i
	}
	var t cli.Table
	t.Row("KEY", "VALUE", "FROM")
	for i, s := range list {
		from := s.From
		if last[s.Key] != i {
			from += " (replaced)"
		}
		t.Row(s.Key, config.Shown(s.Value), from)
	}
	if l.LNetConf != "" {
		t.Row("lnet_conf", l.LNetConf, "imported last, see 'lnetctl import --help'")
	}
	return t.Print(w)
}
