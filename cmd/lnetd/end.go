package main

import (
	"context"
	"fmt"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/deadline"
)

const (
	// endTimeout is the time between the first signal and the end of the process at the latest. Each wait at
	// the end has a bound of its own, but together several waits could take longer than this. endTimeout is
	// shorter than TimeoutStopSec of the units, after which systemd kills the process.
	endTimeout = 20 * time.Second
	// stopWithin bounds the wait for one thing that no other node needs, such as the removal of the state files.
	stopWithin = time.Second
	// captureWithin bounds the wait for the disk of a capture, which may be busy with what was captured.
	captureWithin = 5 * time.Second
)

// endsWithin calls serve, and returns its error. If serve goes on for longer than limit after ctx has
// ended, endsWithin returns an error without waiting for it. That happens when a system call does not
// return, also during the start.
func endsWithin(ctx context.Context, limit time.Duration, serve func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	}
	return cli.Hint(fmt.Errorf("lnetd has not ended within %v, and ends without what it waits for", limit),
		"something does not answer, such as a disk: see the lines before this one, and the log of the kernel (dmesg)")
}

// waitBriefly calls f and returns when f has returned, or with an error after limit.
func waitBriefly(limit time.Duration, f func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return deadline.Wait(ctx, f)
}
