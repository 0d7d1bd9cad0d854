package cli

import (
	"bytes"
	"cmp"
	"io"
	"os"
)

// Save writes a result, such as a picture, to the file that the user has named with a flag. If write returns an error,
// the file stays as it is. If a regular file cannot be written to the end, Save removes it, so that no part is taken
// for the whole. Anything else stays: root could otherwise remove a device.
func Save(path, flag string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return Hint(err, "choose a file that can be written with %s", flag)
	}
	_, err = f.Write(text.Bytes())
	if err = cmp.Or(err, f.Close()); err == nil {
		return nil
	}
	if is, missing := os.Lstat(path); missing == nil && is.Mode().IsRegular() {
		_ = os.Remove(path) // an error of Remove is ignored: it would hide err
	}
	return Hint(err, "make room, or choose another file with %s", flag)
}
