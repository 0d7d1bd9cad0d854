package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/sim/scenario"
)

// checked is the result of "sim check" for one file.
type checked struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Protocol string    `json:"protocol,omitempty"`
	Nodes    int       `json:"nodes,omitempty"`
	Length   float64   `json:"virtual_s,omitempty"`
	Faults   int       `json:"faults"`
	Errors   []mistake `json:"errors"`
}

type mistake struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Why    string `json:"why"`
}

func checkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "check FILE",
		Short:   "Check a scenario without running it",
		Example: "  lnetsim check my.sim",
		Args:    cli.Args("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := parseFile(args[0])
			wrong, bad := errors.AsType[scenario.Errors](err)
			if err != nil && (!bad || !asJSON) {
				return err
			}
			if asJSON {
				if jerr := cli.JSON(c.OutOrStdout(), summarize(args[0], f, wrong)); jerr != nil {
					return jerr
				}
				if bad {
					return fmt.Errorf("%s has %d errors", args[0], len(wrong))
				}
				return nil
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s, %d nodes, %v of virtual time, statements that change something: %d\n",
				f.Name, f.Protocol.Name, f.Nodes, f.Length, f.Faults())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, the errors too")
	return c
}

func summarize(name string, f *scenario.File, wrong scenario.Errors) checked {
	r := checked{File: name, OK: f != nil, Errors: []mistake{}}
	for _, e := range wrong {
		r.Errors = append(r.Errors, mistake{e.Line, e.Column, e.Why})
	}
	if f != nil {
		r.Protocol, r.Nodes, r.Length, r.Faults = f.Protocol.Name, f.Nodes, f.Length.Seconds(), f.Faults()
	}
	return r
}

func fmtCommand() *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Print scenarios in their usual form",
		Example: `  lnetsim fmt my.sim
  lnetsim fmt -w *.sim`,
		Args: cli.AtLeastOne("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range args {
				f, err := parseFile(name)
				if err != nil {
					return err
				}
				if !write {
					_, err = c.OutOrStdout().Write(f.Format())
				} else {
					err = rewrite(name, f.Format())
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write them back to their files instead")
	return c
}

// rewrite replaces the contents of a file atomically if they differ.
func rewrite(name string, text []byte) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(name); err != nil || string(old) == string(text) {
		return err
	}
	temp := name + ".new"
	if err := os.WriteFile(temp, text, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(temp, name)
}
