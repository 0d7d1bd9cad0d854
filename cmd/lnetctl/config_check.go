package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

// checkDoc is the result of a check.
type checkDoc struct {
	File     string       `json:"file"`     // path of the file
	OK       bool         `json:"ok"`       // lnetd would take the file in a reload
	Keys     int          `json:"keys"`     // number of keys that are set in the file and in the files that it names
	Errors   []problemDoc `json:"errors"`   // what lnetd would refuse
	Warnings []problemDoc `json:"warnings"` // lines without effect
}

// problemDoc is a problem at a line.
type problemDoc struct {
	File   string `json:"file"`             // path of the file with the line
	Line   int    `json:"line,omitempty"`   // number of the line, from 1 on; 0: the problem is the file as a whole
	Column int    `json:"column,omitempty"` // number of the column, from 1 on; 0: the problem is the whole line
	Text   string `json:"text"`             // what is wrong
}

func (p problemDoc) String() string {
	return (&config.Error{File: p.File, Line: p.Line, Column: p.Column, Err: errors.New(p.Text)}).Error()
}

func configCheck(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a configuration file of lnetd, without a daemon",
		Long: `Reads a configuration file as 'lnetctl reload' does, with the files that it names: modprobe,
lnet_conf, nids_file and files of keys. It prints every error with its line, such as an unknown
key, a value out of range, values that do not fit together, or a file that is empty or ends
in the middle of a line, and exits with 1 then. Whether interfaces and addresses exist shows
only when lnetd starts.`,
		Example: "  lnetctl config check /etc/ulnet/lnetd.yaml && lnetctl reload",
		Args:    cli.Args("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			doc := checkFile(args[0])
			print := func(w io.Writer, doc checkDoc) error { return printCheck(w, c.ErrOrStderr(), doc) }
			if err := cli.Show(c.OutOrStdout(), g.json, doc, print); err != nil {
				return err
			}
			if !doc.OK {
				return cli.Hint(fmt.Errorf("lnetd would refuse %s, errors: %d", doc.File, len(doc.Errors)), "'lnetd config' prints the reference configuration, which explains every key")
			}
			return nil
		},
	}
}

// checkFile reads a file as lnetd does in a reload.
func checkFile(path string) checkDoc {
	doc := checkDoc{File: path, Errors: []problemDoc{}, Warnings: []problemDoc{}}
	set := pflag.NewFlagSet("lnetd", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	err := set.Set("config", path)
	var l *config.Loaded
	if err == nil {
		l, err = flags.Reload(false)
	}
	doc.Errors = append(doc.Errors, problems(path, err)...)
	if l == nil {
		return doc
	}
	doc.Keys = len(l.Sources)
	for _, w := range l.Warnings {
		doc.Warnings = append(doc.Warnings, problemDoc{File: w.File, Line: w.Line, Text: w.Text})
	}
	doc.OK = len(doc.Errors) == 0
	return doc
}

// problems returns the errors that err joins.
func problems(path string, err error) (list []problemDoc) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			list = append(list, problems(path, e)...)
		}
		return list
	}
	if at, ok := errors.AsType[*config.Error](err); ok {
		return []problemDoc{{at.File, at.Line, at.Column, at.Err.Error()}}
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return []problemDoc{{File: failed.Path, Text: failed.Err.Error()}}
	}
	if err != nil {
		list = []problemDoc{{File: path, Text: err.Error()}}
	}
	return list
}

// printCheck prints a result for people: errors and warnings to stderr.
func printCheck(stdout, stderr io.Writer, doc checkDoc) error {
	for _, w := range doc.Warnings {
		fmt.Fprintf(stderr, "warning: %v\n", w)
	}
	for _, e := range doc.Errors {
		fmt.Fprintln(stderr, e)
	}
	if !doc.OK {
		return nil
	}
	_, err := fmt.Fprintf(stdout, "%s: ok, %d keys\n", doc.File, doc.Keys)
	return err
}
