package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// example is an embedded scenario in the list.
type example struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func examplesCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "examples [NAME]",
		Short:   "List the embedded scenarios, or print one",
		Example: "  lnetsim examples partition > my.sim",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				text, err := exampleText(args[0])
				if err == nil {
					_, err = c.OutOrStdout().Write(text)
				}
				return err
			}
			return listExamples(c, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func listExamples(c *cobra.Command, asJSON bool) error {
	var list []example
	for _, name := range exampleNames() {
		text, err := exampleText(name)
		if err != nil {
			return err
		}
		list = append(list, example{name, firstComment(text)})
	}
	return cli.Show(c.OutOrStdout(), asJSON, list, func(w io.Writer, list []example) error {
		var t cli.Table
		t.Row("NAME", "WHAT IT SHOWS")
		for _, e := range list {
			t.Row(e.Name, e.Summary)
		}
		return t.Print(w)
	})
}

// firstComment is the first comment line of a scenario.
func firstComment(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
			return strings.TrimSpace(comment)
		}
	}
	return ""
}
