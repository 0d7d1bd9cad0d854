package main

import (
	"io"
	"os"
	"slices"

	"ulnet/cmd/internal/cli"
)

// overwrites returns an error of the command line if a file that is to be written is one that is read
// as well: a plot would take the place of the capture, and a new capture would be read while it is
// written. It also does so if the capture that is read has the name which an older capture gets when a new one is
// written (see capturefile.Create): it would be lost.
func (o *options) overwrites(stdin io.Reader) error {
	read := o.regular(stdin)
	for _, out := range []struct{ option, path string }{{"write", o.write}, {"plot", o.analysis.plot}} {
		if isOne(read, out.path) {
			return cli.Usagef("--%s: %s is the capture that is read: name another file", out.option, out.path)
		}
	}
	older := o.write + ".1"
	if is, err := os.Lstat(o.write); err == nil && is.Mode().IsRegular() && isOne(read, older) {
		return cli.Usagef("--write: %s is the capture that is read, and %s would get its name: name another file", older, o.write)
	}
	return nil
}

// isOne reports whether the file at path is one of a list.
func isOne(list []os.FileInfo, path string) bool {
	is, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(list, func(one os.FileInfo) bool { return os.SameFile(is, one) })
}

// regular returns the files that are read, without those that are not regular, such as pipes.
func (o *options) regular(stdin io.Reader) (read []os.FileInfo) {
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
	return read
}
