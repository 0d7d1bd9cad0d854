package main

import (
	"io"
	"os"
	"slices"

	"ulnet/cmd/internal/cli"
)

// overwrites returns an error of the command line if a file that is to be written is one that is read
// as well: a plot would take the place of the capture, and a new capture would be read while it is
// written.
func (o *options) overwrites(stdin io.Reader) error {
	var read []os.FileInfo
	if f, ok := stdin.(*os.File); ok && (len(o.arguments) == 0 || slices.Contains(o.arguments, "-")) {
		if is, err := f.Stat(); err == nil && is.Mode().IsRegular() {
			read = append(read, is)
		}
	}
	for _, name := range o.arguments {
		if is, err := os.Stat(name); err == nil && is.Mode().IsRegular() {
			read = append(read, is)
		}
	}
	for _, out := range []struct{ option, path string }{{"write", o.write}, {"plot", o.analysis.plot}} {
		is, err := os.Stat(out.path)
		for _, r := range read {
			if err == nil && os.SameFile(is, r) {
				return cli.Usagef("--%s: %s is the capture that is read: name another file", out.option, out.path)
			}
		}
	}
	return nil
}
