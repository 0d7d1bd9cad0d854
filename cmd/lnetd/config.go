package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

func configCommand() *cobra.Command {
	var sources bool
	c := &cobra.Command{
		Use:   "config [--sources]",
		Short: "Print the reference configuration, or where the settings of a daemon come from",
		Long: `Prints the reference configuration: every key with its default. With --sources it
prints what a daemon with the same flags would be told, and by which line of which
file; nothing is started. Of several lines for a key the last one counts. The order:

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
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !sources {
			_, err := fmt.Fprint(c.OutOrStdout(), config.Reference)
			return err
		}
		cfg, err := flags.Config(os.Getuid() == 0)
		if err != nil {
			return err
		}
		for _, w := range flags.Warnings {
			fmt.Fprintln(c.ErrOrStderr(), w)
		}
		return printSources(c.OutOrStdout(), flags.Sources, cfg)
	}
	return c
}

// printSources prints for each key the values that were given, where each was given, and
// whether it counts.
func printSources(w io.Writer, list []config.Source, cfg config.Config) error {
	last := map[string]int{}
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
		t.Row(s.Key, s.Value, from)
	}
	if cfg.LNetConf != "" {
		t.Row("lnet_conf", cfg.LNetConf, "imported last, see 'lnetctl import --help'")
	}
	_, err := t.WriteTo(w)
	return err
}
