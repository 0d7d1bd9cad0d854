package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/lnet/nid"
)

// nidsHelp explains how to name participants.
const nidsHelp = `NIDS are NIDs or expressions for ranges of them, such as 10.0.0.[1-20]@tcp or
192.168.[1-2].[1-128/2]@o2ib0, quoted because of the shell; --nids-file reads a
file of them, with any number on a line and comments behind a #, and - is
standard input.`

// nidsFlag is the flag for a file from which NIDs are read in addition to the arguments.
type nidsFlag struct{ file string }

func addNIDsFlag(c *cobra.Command) *nidsFlag {
	f := new(nidsFlag)
	c.Flags().StringVar(&f.file, "nids-file", "", "read NIDs from `FILE`; -: from standard input")
	return f
}

// read returns the NIDs of the command line, and of the file, as text for the daemon. It checks
// them first.
func (f *nidsFlag) read(c *cobra.Command, args []string) (io.Reader, error) {
	switch {
	case len(args) == 0 && f.file == "":
		return nil, cli.Usagef("%s needs NIDS of all participants, or --nids-file", c.CommandPath())
	case len(args) > 0 && f.file != "":
		return nil, cli.Usagef("NIDS and --nids-file exclude each other")
	}
	var ids []nid.NID
	var err error
	switch f.file {
	case "":
		if ids, err = config.ParseNIDList(strings.Join(args, " ")); err != nil {
			return nil, cli.Usagef("NIDS: %w", err)
		}
	case "-":
		ids, err = config.ParseNIDs("standard input", c.InOrStdin())
	default:
		ids, err = config.LoadNIDs(f.file)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, cli.Hint(err, "--nids-file names a file of NIDs; without it they are arguments")
	}
	if err != nil {
		return nil, cli.Hint(err, "every participant is listed once, and all are on one network")
	}
	var text bytes.Buffer
	for _, id := range ids {
		text.Write(append(id.AppendTo(text.AvailableBuffer()), '\n'))
	}
	return &text, nil
}
