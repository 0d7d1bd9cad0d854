package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

func keysCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Keys by which nodes sign what they say: show what they verify, and read them again",
		Args:  cli.Args(),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keysShow(g), keysReload(g))
	return c
}

func keysShow(g *globals) *cobra.Command {
	return cli.Question[[]node.KeysStatus]{
		Use: "show", Short: "Show which sections have keys, and how many messages each key has verified",
		Long: `Shows the sections of lnetd's configuration that have key_file, how many keys are in
force there, how many messages the first and the second one have verified since they
were read, and how many messages none of them did. An old key that stands second and
verifies nothing any more can be removed. The keys themselves are not shown.`,
		Example: "  lnetctl keys show",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) ([]node.KeysStatus, error) {
			return node.OpKeys.Call(ctx, g.client(), control.None{})
		},
		Print: printKeys,
	}.Command(&g.json)
}

func printKeys(w io.Writer, list []node.KeysStatus) error {
	var t cli.Table
	t.Row("SECTION", "KEYS", "FIRST", "SECOND", "REFUSED", "FILE")
	for _, k := range list {
		t.Row(k.Section, k.Keys, k.Verified[0], k.Verified[1], k.Refused, k.File)
	}
	return t.Print(w)
}

func keysReload(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Read the files of keys again",
		Long: `Has lnetd read the files again that key_file in its configuration names. What they
have is in force from then on, without a restart. If one can not be read nothing
changes. docs/keys.md says in which steps a cluster gets a new key.`,
		Example: "  lnetctl keys reload",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			return node.OpKeysReload.Call(c.Context(), g.client(), control.None{})
		},
	}
}
