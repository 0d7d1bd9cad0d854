package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// openInput opens a file to send; "-" stands for standard input. The result size is -1 if it is
// unknown.
func openInput(c *cobra.Command, path string) (in io.Reader, size int64, closeInput func(), err error) {
	if path == "-" {
		return c.InOrStdin(), -1, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, nil, cli.Hint(err, "name a file, or - for standard input")
	}
	size = -1
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, func() { _ = f.Close() }, nil // an error does no harm: the file was only read
}
