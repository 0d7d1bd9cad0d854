package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// output writes the payload to a file, to standard output, or nowhere.
type output struct {
	command *cobra.Command
	stream  io.Writer // standard output; nil if the payload does not go there
	file    *os.File  // the file; nil if the payload does not go to a file
	emptied bool      // the earlier content of the file was removed
}

// createOutput opens an output by the value of --out: empty for none, "-" for standard output. The
// content of a file stays until there is data to replace it.
func createOutput(c *cobra.Command, path string) (*output, error) {
	o := &output{command: c}
	switch path {
	case "":
	case "-":
		o.stream = c.OutOrStdout()
	default:
		var err error
		if o.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return nil, cli.Hint(err, "choose a file that can be written with --out")
		}
	}
	return o, nil
}

// events returns the stream for events, which must not be the one for the payload.
func (o *output) events() io.Writer {
	if o.stream != nil {
		return o.command.ErrOrStderr()
	}
	return o.command.OutOrStdout()
}

// write writes the payload of a step: after what was written before or, with atOffset, at the
// offset in the event.
func (o *output) write(s node.Step, atOffset bool) (err error) {
	if len(s.Payload) > 0 {
		err = o.empty()
	}
	switch {
	case err != nil:
	case o.stream != nil:
		_, err = o.stream.Write(s.Payload)
	case o.file != nil && atOffset && s.Event != nil:
		_, err = o.file.WriteAt(s.Payload, int64(s.Event.Offset))
	case o.file != nil:
		_, err = o.file.Write(s.Payload)
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("write data: %w", err), "what came is not all there: make room, or choose another file with --out")
	}
	return nil
}

// empty removes the earlier content of a regular file, once.
func (o *output) empty() error {
	if o.file == nil || o.emptied {
		return nil
	}
	o.emptied = true
	if is, err := o.file.Stat(); err != nil || !is.Mode().IsRegular() {
		return err
	}
	return o.file.Truncate(0)
}

// closeAfter closes the file and joins its error with err, which is nil if all data have come.
func (o *output) closeAfter(err error) error {
	if o.file == nil {
		return err
	}
	if err == nil {
		err = o.empty()
	}
	return errors.Join(err, o.file.Close())
}
