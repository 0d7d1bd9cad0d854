package main

import (
	"context"
	"io"
	"os"
	"time"
)

// lookAgain is the time after which the end of a file is read again.
const lookAgain = 200 * time.Millisecond

// followed returns the file or, with --follow, a reader of the file that waits at its end for more data.
func (o *options) followed(ctx context.Context, f *os.File) io.ReadCloser {
	if !o.follow {
		return f
	}
	return &growing{f, ctx, func() <-chan time.Time { return time.After(lookAgain) }}
}

// growing is a file that another program writes. At its end it waits for more, until ctx ends.
type growing struct {
	*os.File
	ctx  context.Context
	wait func() <-chan time.Time
}

// Read reads what there is. It returns io.EOF only after ctx has ended.
func (g *growing) Read(b []byte) (int, error) {
	for {
		n, err := g.File.Read(b)
		if n > 0 || err != io.EOF {
			return n, err
		}
		select {
		case <-g.wait():
		case <-g.ctx.Done():
			return 0, io.EOF
		}
	}
}

// WriteTo replaces the method WriteTo of the file, which would return at the end of the file.
func (g *growing) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{g})
}
