//go:build !linux

// Package cputime measures how long a test computes, however busy the machine is.
package cputime

import "time"

// Of returns the time that f takes: here nothing tells what other threads took of it.
func Of(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}
